"""What the host does on a card that is not here, from the first allocation to the last submission, under Vulkan's
validation layer. Nothing computes: submissions return at once.

    python3 tests/gpu/dry_run.py build/tuff --drivers build/gpu_drivers --models build/gpu_models [--target navi21]

profiles every bundle of the folder once: staging, pipelines, arena, recording, submissions, timestamps. The device's
self-test cannot pass there, so its verdict in the cache is replaced first. Ends with 1 where a model fails or the layer
speaks, with 77 where there is no driver. AMD's targets only: on the other shims timestamps never come.
"""
import argparse
import hashlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import drivers

HEADER = struct.Struct("<8sIIQ32s32s")  # backend/cache_entry.cpp
SPOKEN = "Vulkan validation"
SMALL = """func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.add %a, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}
"""


def pass_self_tests(cache):
    """Gives each verdict of a self-test in the cache folder the text of one that passed; returns their number."""
    count = 0
    for path in pathlib.Path(cache).rglob("selftest*"):
        magic, version, zero, _, key, _ = HEADER.unpack(path.read_bytes()[:HEADER.size])
        value = b"end\n"
        path.write_bytes(HEADER.pack(magic, version, zero, len(value), key, hashlib.sha256(value).digest()) + value)
        count += 1
    return count


def profile(tuff, driver, path, **variables):
    return subprocess.run([*driver.command, tuff, "profile", path, "--device", "vulkan:0", "--repeat", "2", "--json"],
                          env={**driver.environment, **variables}, capture_output=True, text=True)


def last_line(done):
    return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"


def walk(tuff, driver, bundle):
    """One line about the bundle, and whether all went well."""
    start = time.time()
    done = profile(tuff, driver, bundle, TUFF_VALIDATION="1")
    spoken = [line for line in done.stderr.splitlines() if SPOKEN in line]
    if done.returncode != 0 or spoken:
        return "\n  ".join([f"{bundle.name}: {last_line(done)}", *spoken[:5]]), False
    result = json.loads(done.stdout)
    return (f"{bundle.name}: {len(result['kernels'])} kernels, {len(result['steps'])} steps, arena "
            f"{result['memory']['arena_bytes'] / 2**20:.0f} MiB, GLSL to SPIR-V {result['phases_ms']['glsl']:.0f} ms, "
            f"no message, {time.time() - start:.0f} s"), True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tuff", help="the command")
    parser.add_argument("--drivers", type=pathlib.Path, required=True, help="folder that drivers are unpacked into")
    parser.add_argument("--models", type=pathlib.Path, required=True, help="folder of bundles")
    parser.add_argument("--target", default="navi21", help="one of AMD's in drivers.py")
    options = parser.parse_args()
    try:
        driver = drivers.Driver(options.drivers, options.target, layers=True)
    except drivers.Missing as why:
        print(f"skipped: no driver of {options.target}: {why}")
        return 77
    good = True
    with tempfile.TemporaryDirectory() as folder:
        driver.environment["TUFF_CACHE_DIR"] = folder
        small = pathlib.Path(folder, "small.mlir")
        small.write_text(SMALL)
        first = profile(options.tuff, driver, small)  # refused, and the verdict kept
        if pass_self_tests(folder) == 0:
            print(f"dry_run.py: there is no verdict to replace: {last_line(first)}", file=sys.stderr)
            return 1
        for bundle in sorted(path for path in options.models.iterdir() if path.is_dir()):
            line, well = walk(options.tuff, driver, bundle)
            print(line, flush=True)
            good &= well
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
