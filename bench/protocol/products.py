"""Matrix products of other systems on a GPU, for `tuff check-device`: python products.py 1024x1024x1024_f32,...

Prints one object: {"peers": {"jax": {"device": ..., "gflops": {NAME: number}} or {"skipped": why}, ...}}. A product is
C = A B^T, rows x columns x steps, with sums in f32. llama.cpp has sizes of its own; those of its sizes that are asked for
are matched by name.
"""
import json
import re
import shutil
import subprocess
import sys
import time

ROUNDS = 5
LEAST_SECONDS = 0.2  # of a burst


class Skipped(Exception):
    """Why a peer says nothing."""


def parse(name):
    m, n, k, dtype = re.fullmatch(r"(\d+)x(\d+)x(\d+)_(f32|f16)", name).groups()
    return int(m), int(n), int(k), dtype


def rate(run, finish, flops):
    """10^9 operations a second of the best of some bursts; `run` starts one product, `finish` waits for all."""
    run()
    finish()
    count, best = 1, 0.0
    for _ in range(ROUNDS):
        while True:
            start = time.perf_counter()
            for _ in range(count):
                run()
            finish()
            taken = time.perf_counter() - start
            if taken >= LEAST_SECONDS:
                break
            count *= 2
        best = max(best, count * flops / taken / 1e9)
    return best


def measure(names, prepare):
    rates = {}
    for name in names:
        m, n, k, dtype = parse(name)
        run, finish = prepare(m, n, k, dtype)
        rates[name] = rate(run, finish, 2 * m * n * k)
    return rates


def of_jax(names):
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        raise Skipped("this Python has no JAX") from None
    try:
        device = jax.devices("gpu")[0]
    except RuntimeError:
        raise Skipped("JAX has no GPU backend here") from None

    def prepare(m, n, k, dtype):
        of = {"f32": jnp.float32, "f16": jnp.float16}[dtype]
        a, b = (jax.device_put(jnp.ones(shape, of), device) for shape in ((m, k), (n, k)))
        product = jax.jit(lambda a, b: jax.lax.dot_general(
            a, b, (((1,), (1,)), ((), ())), precision="highest", preferred_element_type=jnp.float32))
        last = []

        def run():
            last[:] = [product(a, b)]
        return run, lambda: last[0].block_until_ready()
    return {"device": str(device.device_kind), "gflops": measure(names, prepare)}


def of_torch(names):
    try:
        import torch
    except ImportError:
        raise Skipped("this Python has no torch") from None
    if not torch.cuda.is_available():
        raise Skipped("torch has no CUDA device here")
    torch.backends.cuda.matmul.allow_tf32 = False

    def prepare(m, n, k, dtype):
        of = {"f32": torch.float32, "f16": torch.float16}[dtype]
        a, b = (torch.ones(shape, dtype=of, device="cuda") for shape in ((m, k), (n, k)))
        return lambda: torch.matmul(a, b.T), torch.cuda.synchronize
    return {"device": torch.cuda.get_device_name(), "gflops": measure(names, prepare)}


# "  MUL_MAT(type_a=f16,type_b=f32,m=4096,n=8,k=14336,...):  852 runs -  1175.00 us/run - 117.44 MFLOP/run -  99.95 GFLOPS"
LLAMA_LINE = re.compile(r"MUL_MAT\(type_a=(f16|f32),type_b=f32,m=(\d+),n=(\d+),k=(\d+),.*?([\d.]+) *([GT])FLOPS")


def read_llama(text, names):
    """{NAME: GFLOP/s} of the lines of `test-backend-ops perf`, whose m are our columns and n our rows."""
    rates = {}
    for dtype, columns, rows, steps, number, unit in LLAMA_LINE.findall(text):
        name = f"{rows}x{columns}x{steps}_{dtype}"
        if name in names:
            rates[name] = max(rates.get(name, 0.0), float(number) * {"G": 1, "T": 1000}[unit])
    return rates


def of_llama(names):
    program = shutil.which("test-backend-ops")
    if not program:
        raise Skipped("llama.cpp's test-backend-ops is not in PATH")
    done = subprocess.run([program, "perf", "-o", "MUL_MAT", "-b", "Vulkan0"], capture_output=True, text=True, timeout=90)
    rates = read_llama(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout), names)
    if not rates:
        raise Skipped(f"its benchmark names no product of ours (exit code {done.returncode})")
    return {"device": "Vulkan0", "gflops": rates}


PEERS = {"llama.cpp": of_llama, "jax": of_jax, "torch": of_torch}


def main(names):
    answers = {}
    for peer, measured in PEERS.items():
        try:
            answers[peer] = measured(names)
        except Skipped as why:
            answers[peer] = {"skipped": str(why)}
        except Exception as error:  # a peer's own trouble is an answer, too
            answers[peer] = {"skipped": f"{type(error).__name__}: {error}"}
    print(json.dumps({"peers": answers}))


if __name__ == "__main__":
    main(sys.argv[1].split(","))
