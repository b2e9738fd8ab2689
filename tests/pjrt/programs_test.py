"""Unmodified JAX programs on the plugin and on JAX's own CPU backend: `python programs_test.py PLUGIN NAME...`.

Each program of programs/ is run twice in processes that differ in their environment alone, and prints one JSON object:
its numbers must agree. 77: skipped, no JAX (or no optax, flax).
"""
import json
import math
import os
import pathlib
import subprocess
import sys

PROGRAMS = pathlib.Path(__file__).with_name("programs")
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "frontend" / "python"  # registers the plugin with JAX
# name: (program and arguments, relative tolerance of each number, seconds a run may take)
CASES = {
    "mlp_sgd": (["mlp_sgd.py"], 1e-3, 120),
    "mlp_adam": (["mlp_adam.py"], 1e-3, 120),
    "cnn_flax": (["cnn_flax.py"], 1e-3, 200),
    "gpt2_tiny": (["gpt2_train.py", "2", "64", "4", "331", "30"], 1e-3, 200),
    "gpt2_small": (["gpt2_train.py"], 1e-3, 1200),
    "vit_tiny": (["vit_train.py"], 1e-3, 200),
    "vit_b16": (["vit_train.py", "2", "768", "12", "224", "50"], 1e-3, 1800),
    "rnn_scan": (["rnn_scan.py"], 1e-3, 200),
    "random_numbers": (["random_numbers.py"], 2e-5, 200),
    "transformations": (["transformations.py"], 2e-4, 200),
    "loops": (["loops.py"], 1e-4, 200),
    "gpt_sample": (["gpt_sample.py"], 1e-3, 200),
}


def run(command, environment, seconds):
    process = subprocess.run([sys.executable, "-W", "ignore", str(PROGRAMS / command[0]), *command[1:]],
                             env=dict(os.environ, **environment), capture_output=True, text=True, timeout=seconds)
    if process.returncode != 0 and "ModuleNotFoundError" in process.stderr:
        print("skipped:", process.stderr.strip().splitlines()[-1])
        sys.exit(77)
    if process.returncode != 0:
        sys.exit(f"{command} ends with {process.returncode} on {environment['JAX_PLATFORMS']}:\n{process.stderr[-4000:]}")
    return json.loads(process.stdout.strip().splitlines()[-1])


def differences(ours, theirs, tolerance, where=""):
    """Yields a sentence for each number that differs; a list's numbers are small or large by its largest."""
    if isinstance(theirs, dict):
        for name in theirs:
            yield from differences(ours[name], theirs[name], tolerance, f"{where}.{name}")
    elif isinstance(theirs, list) and theirs and isinstance(theirs[0], float):
        scale = max(map(abs, theirs))
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


def main(plugin, *names):
    failures = 0
    for name in names or CASES:
        command, tolerance, seconds = CASES[name]
        ours = run(command, {"PYTHONPATH": str(PACKAGE), "TUFF_PJRT_PLUGIN": plugin, "JAX_PLATFORMS": "tuff",
                             "TUFF_DEVICE": os.environ.get("TUFF_DEVICE", "cpu")}, seconds)
        theirs = run(command, {"JAX_PLATFORMS": "cpu"}, seconds)
        wrong = list(differences(ours, theirs, tolerance))
        print(f"{name}: {'ok' if not wrong else '; '.join(wrong[:5])}", flush=True)
        failures += bool(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
