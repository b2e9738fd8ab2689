"""What the host does on a card that is not here, from the first allocation to the last submission, under Vulkan's
validation layer. Nothing computes: submissions return at once.

    python3 tests/gpu/dry_run.py build/tuff --drivers build/gpu_drivers --models build/gpu_models [--target navi21]

walks every bundle of the folder once: staging, pipelines, arena, recording, submissions. On AMD's targets it profiles, so
timestamps are walked, too; on the other shims they never come, and the program runs on zeros. The device's self-test
cannot pass there, so its verdict in the cache is replaced first. Ends with 1 where a model fails or the layer speaks,
with 77 where there is no driver or no model.
"""
import argparse
import hashlib
import json
import math
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


TYPES = {"f32": "<f4", "i32": "<i4", "i64": "<i8", "f16": "<f2", "bf16": "<u2", "i1": "|b1"}  # of the bundles' inputs


def zeros(bundle, folder):
    """`--input NAME=FILE` for every input of the bundle, with the files in the folder."""
    words = []
    for argument in json.loads((bundle / "signature.json").read_text())["arguments"]:
        if argument["kind"] != "input":
            continue
        path, kind = folder / f"{bundle.name}.{argument['name']}.npy", TYPES[argument["dtype"]]
        header = str({"descr": kind, "fortran_order": False, "shape": tuple(argument["shape"])})
        header += " " * (63 - (10 + len(header)) % 64) + "\n"
        path.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() +
                         bytes(math.prod(argument["shape"]) * int(kind[2:])))
        words += ["--input", f"{argument['name']}={path}"]
    return words


def call(tuff, driver, *words, **variables):
    return subprocess.run([*driver.command, tuff, *words, "--device", "vulkan:0", "--json"],
                          env={**driver.environment, **variables}, capture_output=True, text=True)


def last_line(done):
    return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"


def walk(tuff, driver, bundle, inputs):
    """One line about the bundle, and whether all went well. It is profiled, or run where there are inputs' files."""
    start = time.time()
    how = ["run", "--require-gpu", bundle, *inputs] if inputs else ["profile", "--repeat", "2", bundle]
    done = call(tuff, driver, *how, TUFF_VALIDATION="1")
    spoken = [line for line in done.stderr.splitlines() if SPOKEN in line]
    if done.returncode != 0 or spoken:
        return "\n  ".join([f"{bundle.name}: {last_line(done)}", *spoken[:5]]), False
    result = json.loads(done.stdout)
    arena = result["arena_bytes"] if inputs else result["memory"]["arena_bytes"]
    return (f"{bundle.name}: {len(result['kernels']) if not inputs else result['kernels']} kernels, arena "
            f"{arena / 2**20:.0f} MiB, GLSL to SPIR-V {result['phases_ms']['glsl']:.0f} ms, "
            f"no message, {time.time() - start:.0f} s"), True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tuff", help="the command")
    parser.add_argument("--drivers", type=pathlib.Path, required=True, help="folder that drivers are unpacked into")
    parser.add_argument("--models", type=pathlib.Path, required=True, help="folder of bundles")
    parser.add_argument("--target", default="navi21", help="one of drivers.py")
    options = parser.parse_args()
    try:
        driver = drivers.Driver(options.drivers, options.target, layers=True)
    except drivers.Missing as why:
        print(f"skipped: no driver of {options.target}: {why}")
        return 77
    bundles = sorted(path for path in options.models.glob("*") if (path / "signature.json").exists())
    if not bundles:
        print(f"skipped: no bundles in {options.models}")
        return 77
    good = True
    with tempfile.TemporaryDirectory() as folder:
        driver.environment["TUFF_CACHE_DIR"] = folder
        small = pathlib.Path(folder, "small.mlir")
        small.write_text(SMALL)
        first = call(options.tuff, driver, "profile", small)  # refused, and the verdict kept
        if pass_self_tests(folder) == 0:
            print(f"dry_run.py: there is no verdict to replace: {last_line(first)}", file=sys.stderr)
            return 1
        timed = drivers.TARGETS[options.target][0] == "radeon"
        for bundle in bundles:
            line, well = walk(options.tuff, driver, bundle, [] if timed else zeros(bundle, pathlib.Path(folder)))
            print(line, flush=True)
            good &= well
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
