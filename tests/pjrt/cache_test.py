"""The disk cache of processes that come one after another: `python cache_test.py PLUGIN`.

A training program runs on a Vulkan device with a new cache directory: a process on a warm cache compiles no GLSL, and one
that is killed while it compiles leaves a cache that the next one can use. TUFF_LOG=compile tells how kernels came about.
77: skipped, no JAX or no Vulkan device.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from program_process import HERE, on_plugin, run_program

PROGRAM = ["gpt2_train.py", "1", "32", "2", "50", "2"]
LOADED = re.compile(r"^load .*?: (\d+) kernels, (\d+) compiled from GLSL, (\d+) from disk, (\d+) known;", re.MULTILINE)
LIMIT_S = 280


def environment(plugin, cache):
    return dict(on_plugin(plugin, "vulkan"), TUFF_CACHE_DIR=cache, TUFF_LOG="compile")


def run(plugin, cache):
    """What a whole process prints, and (kernels, compiled from GLSL, from disk, known) of all its programs."""
    process = run_program(PROGRAM, environment(plugin, cache), LIMIT_S)
    return process.stdout, [sum(map(int, column)) for column in zip(*LOADED.findall(process.stderr))]


def entries(cache):
    return sum(path.is_file() for path in pathlib.Path(cache).rglob("*"))


def run_and_kill(plugin, cache, wanted):
    """Kills the process as soon as it has put so many files into the cache."""
    process = subprocess.Popen([sys.executable, "-W", "ignore", HERE / "programs" / PROGRAM[0], *PROGRAM[1:]],
                               env=dict(os.environ, **environment(plugin, cache)),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin = time.monotonic()
    while entries(cache) < wanted and process.poll() is None and time.monotonic() - begin < LIMIT_S:
        time.sleep(0.001)
    process.kill()
    assert process.wait() < 0, f"the process ends before it has put {wanted} files into the cache"


def main(plugin):
    with tempfile.TemporaryDirectory() as cache:
        said, first = run(plugin, cache)
        files, (_, second) = entries(cache), run(plugin, cache)
    print(f"kernels, compiled from GLSL, from disk, known: {first}, then {second}")
    assert first[1] > 0 and first[2] == 0, "the first process finds nothing on disk"
    assert second[1] == 0, "the second process compiles nothing"
    assert second[2] == first[1], "the second process takes from disk what the first one compiled"
    assert second[0] == first[0], "both run the same programs"

    with tempfile.TemporaryDirectory() as cache:
        for wanted in (1, files // 3, 2 * files // 3):
            run_and_kill(plugin, cache, wanted)
        after, third = run(plugin, cache)
    print(f"after three that were killed: {third}")
    assert after == said, "the losses are the same"
    assert third[1] + third[2] == first[1] and third[2] > 0, "what the killed processes compiled is used"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
