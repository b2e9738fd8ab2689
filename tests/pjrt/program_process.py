"""Runs a program of programs/ in a process of its own, on the plugin or on JAX's own CPU backend."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # tolerances
PACKAGE = HERE.parents[1] / "frontend" / "python"  # registers the plugin with JAX
JAX_CPU = {"JAX_PLATFORMS": "cpu"}
NOT_HERE = ("ModuleNotFoundError", "Unable to initialize backend 'tuff': FAILED_PRECONDITION")  # no JAX, no device


def on_plugin(plugin, device):
    """What a process needs in its environment to run JAX on the plugin; callbacks get their arguments on JAX's CPU."""
    return {"PYTHONPATH": str(PACKAGE), "TUFF_PJRT_PLUGIN": plugin, "JAX_PLATFORMS": "tuff,cpu", "TUFF_DEVICE": device}


def run_program(command, environment, seconds):
    """The ended process; leaves with 77 (skipped) where JAX or the device is missing, with what it said if it failed."""
    process = subprocess.run([sys.executable, "-W", "ignore", str(HERE / "programs" / command[0]), *command[1:]],
                             env=dict(os.environ, **environment), capture_output=True, text=True, timeout=seconds)
    if process.returncode == 0:
        return process
    said = (process.stderr.strip().splitlines() or [""])[-1]
    if any(words in said for words in NOT_HERE):
        print("skipped:", said)
        sys.exit(77)
    sys.exit(f"{command} ends with {process.returncode} on {environment['JAX_PLATFORMS']}:\n{process.stderr[-4000:]}")
