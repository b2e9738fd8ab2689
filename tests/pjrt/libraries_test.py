"""The tests of libraries that stand on JAX: of those that pass on JAX's own CPU backend 98 % pass on the plugin, none
crashes or hangs, and together they take no longer: `python libraries_test.py PLUGIN [LIBRARY...]`.

TUFF_LIBRARY_TESTS names the folder of the checkouts, FOLDER/optax and so on; this Python has the libraries at the same
releases. TUFF_LIBRARY_EVERY (default 50): only every Nth test is run, for all of them take hours. 77: skipped, no such
checkout.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SUITE = pathlib.Path(__file__).with_name("jax_suite")
sys.path.insert(0, str(SUITE))

from compare import compare, lines_of

# Where each keeps its tests.
FOLDERS = {"optax": "optax", "equinox": "tests", "diffrax": "test", "optimistix": "tests", "numpyro": "test",
           "blackjax": "tests", "flax": "tests", "distrax": "distrax"}
BAR = 0.98


def results_on(device, plugin, paths, every, folder):
    output = pathlib.Path(folder) / f"{device}.json"
    subprocess.run([sys.executable, SUITE / "libraries.py", plugin, *paths, "--device", device, "--together",
                    "--every", every, "--json", output], check=True)
    return json.loads(output.read_text())


def faults(theirs, ours):
    """A sentence for each library that does not hold what is asked."""
    libraries, _ = compare(theirs, ours)
    for name, counts in libraries.items():
        if not counts.good:
            yield f"{name}: none of its tests passes on JAX's own CPU backend"
        elif counts.share < BAR and counts.lost > 1:  # one of a small sample says little
            yield f"{name}: {100 * counts.share:.1f} % pass, not {100 * BAR:.0f} %"
        if counts.ended_badly:
            yield f"{name}: {counts.ended_badly} crash or hang"
    jax, tuff = (sum(counts.seconds[i] for counts in libraries.values()) for i in (0, 1))
    if tuff > jax:
        yield f"all together they take {tuff:.0f} s, on JAX's own CPU backend {jax:.0f} s"


def main(plugin, *libraries):
    checkouts = pathlib.Path(os.environ.get("TUFF_LIBRARY_TESTS", "/nowhere"))
    paths = []
    for library in libraries or FOLDERS:
        path = checkouts / library / FOLDERS[library]
        paths += [f"{library}={path}"] if path.is_dir() else []
        if not path.is_dir():
            print(f"skipped: TUFF_LIBRARY_TESTS names no folder with a checkout of {library}")
    if not paths:
        return 77
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = (results_on(device, plugin, paths, os.environ.get("TUFF_LIBRARY_EVERY", "50"), folder)
                        for device in ("jax", os.environ.get("TUFF_DEVICE", "cpu")))
    print("\n".join(lines_of(theirs, ours, by_file=False)))
    found = list(faults(theirs, ours))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
