"""A second process on a warm cache compiles no GLSL: `python cache_test.py PLUGIN`.

A training program runs in two processes on a Vulkan device, with one new cache directory, and TUFF_LOG=compile tells
how their kernels came about. 77: skipped, no JAX or no Vulkan device.
"""
import re
import sys
import tempfile

from program_process import on_plugin, run_program

PROGRAM = ["gpt2_train.py", "1", "32", "2", "50", "2"]
LOADED = re.compile(r"^load .*?: (\d+) kernels, (\d+) compiled from GLSL, (\d+) from disk, (\d+) known;", re.MULTILINE)


def kernels(plugin, cache):
    """(kernels, compiled from GLSL, from disk, known) of all programs of one process."""
    environment = dict(on_plugin(plugin, "vulkan"), TUFF_CACHE_DIR=cache, TUFF_LOG="compile")
    said = run_program(PROGRAM, environment, 280).stderr
    return [sum(map(int, column)) for column in zip(*LOADED.findall(said))]


def main(plugin):
    with tempfile.TemporaryDirectory() as cache:
        first, second = kernels(plugin, cache), kernels(plugin, cache)
    print(f"kernels, compiled from GLSL, from disk, known: {first}, then {second}")
    assert first[1] > 0 and first[2] == 0, "the first process finds nothing on disk"
    assert second[1] == 0, "the second process compiles nothing"
    assert second[2] == first[1], "the second process takes from disk what the first one compiled"
    assert second[0] == first[0], "both run the same programs"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
