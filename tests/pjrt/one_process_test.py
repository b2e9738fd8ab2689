"""torch, JAX and the plugin in one process, each with threads of its own.

    python one_process_test.py PLUGIN torch,jax|jax,torch     77: skipped, no torch or no JAX

torch brings an OpenMP that all of the process may find; oneDNN, which the plugin calls for convolutions and products
of narrow floats, asks OpenMP for its threads. OpenMP tells of each new team of its threads (OMP_DISPLAY_AFFINITY):
torch's work makes teams, before and after the plugin's, and the plugin's makes none.
"""
import os
import subprocess
import sys
import threading

plugin, order = sys.argv[1], sys.argv[2].split(",")
TEAM = "a team of OpenMP"


def run_again():
    """This script with what has to be set before OpenMP is loaded; its errors are on standard output."""
    environment = os.environ | {"OMP_DISPLAY_AFFINITY": "TRUE", "OMP_AFFINITY_FORMAT": TEAM, "OMP_NUM_THREADS": "2",
                                "PJRT_NAMES_AND_LIBRARY_PATHS": "tuff:" + plugin, "JAX_PLATFORMS": "tuff,cpu",
                                "TUFF_DEVICE": "cpu", "ONE_PROCESS_TEST": "1"}
    return subprocess.run([sys.executable, *sys.argv], env=environment).returncode


def run_on_new_thread(work):
    """What `work` returns, and whether OpenMP made a team for it: each thread has teams of its own."""
    sys.stderr.flush()
    screen, (reading, writing) = os.dup(2), os.pipe()
    os.set_blocking(reading, False)
    os.dup2(writing, 2)
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    os.dup2(screen, 2)
    os.close(writing)
    text = b""
    while part := os.read(reading, 1 << 16):
        text += part
    os.close(reading)
    os.close(screen)
    assert results, text.decode()
    return results[0], TEAM in text.decode()


def main():
    for package in order:
        __import__(package)
    import jax
    import numpy as np
    import torch

    random = np.random.default_rng(0)
    image = random.standard_normal((2, 32, 32, 16), dtype=np.float32)
    weights = random.standard_normal((5, 5, 16, 32), dtype=np.float32) / 20
    a, b = (random.standard_normal((300, 300), dtype=np.float32) for _ in range(2))

    def program(image, weights, a, b):
        windows = jax.lax.conv_general_dilated(image, weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        narrow = a.astype("bfloat16") @ b.astype("bfloat16")
        return windows, narrow.astype("float32"), a @ b

    def on(backend):
        return [np.asarray(x) for x in jax.jit(program, backend=backend)(image, weights, a, b)]

    def in_torch():
        windows = torch.nn.functional.conv2d(torch.from_numpy(image).permute(0, 3, 1, 2),
                                             torch.from_numpy(weights).permute(3, 2, 0, 1), padding=2)
        sums = torch.from_numpy(a).abs().log().sum(0)  # of torch's own threads, whatever its products are made by
        return windows.permute(0, 2, 3, 1).numpy(), (torch.from_numpy(a) @ torch.from_numpy(b)).numpy(), sums.numpy()

    def check_torch(when):
        (windows, product, sums), team = run_on_new_thread(in_torch)
        assert torch.get_num_threads() == 2, torch.get_num_threads()
        assert team, f"torch makes no team of OpenMP's {when}"
        np.testing.assert_allclose(product, a @ b, atol=1e-4)
        np.testing.assert_allclose(sums, np.log(np.abs(a)).sum(0), rtol=1e-4)
        return windows

    windows = check_torch("before")
    for _ in range(2):
        for backend in ("tuff", "cpu"):
            results, team = run_on_new_thread(lambda: on(backend))
            assert not team, f"{backend} uses OpenMP's threads"
            for result, reference, tolerance in zip(results, (windows, a @ b, a @ b), (1e-4, 0.5, 1e-3)):
                np.testing.assert_allclose(result, reference, atol=tolerance, err_msg=backend)
    check_torch("after")
    print(f"{order}: torch {torch.__version__}, JAX {jax.__version__}, tuff")


if "ONE_PROCESS_TEST" not in os.environ:
    missing = []
    for name in sorted(order):
        if subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode != 0:
            missing.append(name)
    if missing:
        print(f"skipped: this Python has no {' and no '.join(missing)}; set TUFF_JAX_PYTHON to one that has")
        sys.exit(77)
    sys.exit(run_again())
main()
