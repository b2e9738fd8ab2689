"""The programs of programs_test.py under other releases of JAX: `python versions_test.py PLUGIN [PYTHON...]`.

Each PYTHON is one that has a release of JAX, optax and flax; TUFF_JAX_PYTHONS names them too, between colons. Writes a
row of a table for each. 77: skipped, no such Python is named.
"""
import os
import pathlib
import subprocess
import sys

from programs_test import CASES

PROGRAMS = [name for name, (_, _, seconds) in CASES.items() if seconds <= 200]
TEST = pathlib.Path(__file__).with_name("programs_test.py")
VERSIONS = ("import sys, importlib.metadata as m;"
            "print(*(m.version(name) for name in ('jax', 'jaxlib', 'flax', 'optax')), sys.version.split()[0], sep=' | ')")


def run(*command):
    try:
        process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        return 1, str(error)
    return process.returncode, process.stdout.strip()


def main(plugin, *pythons):
    pythons = pythons or [python for python in os.environ.get("TUFF_JAX_PYTHONS", "").split(os.pathsep) if python]
    if not pythons:
        print("skipped: TUFF_JAX_PYTHONS names no Python with another release of JAX")
        return 77
    print("| JAX | jaxlib | flax | optax | Python | programs that agree with JAX's CPU backend |\n|---|---|---|---|---|---|")
    said = []
    for python in pythons:
        code, versions = run(python, "-c", VERSIONS)
        if code:
            said.append(f"{python}: {versions}")
            continue
        results = {name: run(python, TEST, plugin, name) for name in PROGRAMS}
        said += [f"{python}: {output}" for code, output in results.values() if code]
        failed = [name for name, (code, _) in results.items() if code]
        print(f"| {versions} | {len(PROGRAMS) - len(failed)} of {len(PROGRAMS)}"
              f"{', not ' + ', '.join(failed) if failed else ''} |", flush=True)
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
