"""Unmodified JAX programs on the plugin and on JAX's own CPU backend: `python programs_test.py PLUGIN NAME...`.

Each program of programs/ is run twice in processes that differ in their environment alone, and prints one JSON object:
its numbers must agree. TUFF_DEVICE chooses the plugin's device, else it is the CPU. 77: skipped, no JAX (or no optax,
flax), or no such device.
"""
import json
import math
import os
import sys

from program_process import JAX_CPU, on_plugin, run_program
from tolerances import bound

# name: (program and arguments, relative tolerance of each number, seconds a run may take)
CASES = {
    "mlp_sgd": (["mlp_sgd.py"], bound("training"), 120),
    "mlp_adam": (["mlp_adam.py"], bound("training"), 120),
    "cnn_flax": (["cnn_flax.py"], bound("training"), 200),
    "gpt2_tiny": (["gpt2_train.py", "2", "64", "4", "331", "30"], bound("training"), 200),
    "gpt2_small": (["gpt2_train.py"], bound("training"), 1200),
    "vit_tiny": (["vit_train.py"], bound("training"), 200),
    "vit_b16": (["vit_train.py", "2", "768", "12", "224", "50"], bound("training"), 1800),
    "rnn_scan": (["rnn_scan.py"], bound("training"), 200),
    "random_numbers": (["random_numbers.py"], bound("jax"), 200),
    "transformations": (["transformations.py"], bound("jax_network"), 200),
    "fourier": (["fourier.py"], bound("jax_gradient"), 200),
    "complex_numbers": (["complex_numbers.py"], bound("jax_gradient"), 200),
    "small_types": (["small_types.py"], bound("jax"), 200),
    "loops": (["loops.py"], bound("iteration"), 200),
    "callbacks": (["callbacks.py"], bound("jax"), 200),
    "linear_algebra": (["linear_algebra.py"], bound("jax_gradient"), 200),
    "eigenvalues": (["eigenvalues.py", "32"], bound("jax_network"), 200),
    "eigenvalues_f64": (["eigenvalues.py", "64"], bound("jax_gradient", "f64"), 200),
    "sparse_solver": (["sparse_solver.py"], bound("jax_gradient"), 200),
    "checkpoint": (["checkpoint.py"], bound("training"), 200),
    "dlpack": (["dlpack.py"], bound("jax"), 200),
    "gpt_sample": (["gpt_sample.py"], bound("training"), 200),
}


def differences(ours, theirs, tolerance, where=""):
    """Yields a sentence for each number that differs.

    Losses have to agree each by itself, however far they fell; in other lists a number is small or large by the
    list's largest.
    """
    if isinstance(theirs, dict):
        for name in theirs:
            yield from differences(ours[name], theirs[name], tolerance, f"{where}.{name}")
    elif isinstance(theirs, list) and theirs and all(isinstance(x, float) for x in theirs):
        scale = 0.0 if where.endswith(".losses") else max(map(abs, theirs))
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if not math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * scale):
                yield f"{where}[{i}] is {a}, not {b}"
    elif isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield f"{where} has {len(ours)} entries, not {len(theirs)}"
        for i, (a, b) in enumerate(zip(ours, theirs)):
            yield from differences(a, b, tolerance, f"{where}[{i}]")
    elif isinstance(theirs, float):
        if not math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance):
            yield f"{where} is {ours}, not {theirs}"
    elif ours != theirs:
        yield f"{where} is {ours}, not {theirs}"


def said_of_losses(ours, theirs):
    if not theirs.get("losses"):
        return ""
    apart = max(abs(a - b) / abs(b) for a, b in zip(ours["losses"], theirs["losses"]))
    return f", {len(theirs['losses'])} losses from {theirs['losses'][0]:.4g} to {theirs['losses'][-1]:.4g}, {apart:.1e} apart"


def numbers(process):
    return json.loads(process.stdout.strip().splitlines()[-1])


def main(plugin, *names):
    failures = 0
    for name in names or CASES:
        command, tolerance, seconds = CASES[name]
        ours = numbers(run_program(command, on_plugin(plugin, os.environ.get("TUFF_DEVICE", "cpu")), seconds))
        theirs = numbers(run_program(command, JAX_CPU, seconds))
        wrong = list(differences(ours, theirs, tolerance))
        print(f"{name}: {'; '.join(wrong[:5]) or 'ok'}{said_of_losses(ours, theirs)}", flush=True)
        failures += bool(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
