"""Times of the compiler over graphs of 1,000 to 100,000 operations, and how they grow.

    python -m scaling [--tuff TUFF] [--device cpu] [--shapes chain,wide] [--sizes 1000,10000] [--vs-jax] [--phases]

One line a graph: seconds to read and compile it, seconds of processor that the whole command took (which others on the
machine change less), the slowest phases; one line a shape: the slopes of their logarithms over that of the size, 1 for
time that grows as the graph does.
"""
import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

from .shapes import SHAPES

SIZES = (1000, 3000, 10000, 30000, 100000)


def slope(sizes, seconds):
    """Of the line through the points' logarithms, by least squares."""
    xs, ys = [math.log(n) for n in sizes], [math.log(s) for s in seconds]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    over = sum((a - x) ** 2 for a in xs)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys)) / over if over else float("nan")


def arguments_of(module, folder):
    """Zeros for each argument, as the command takes them."""
    import numpy as np
    head = module[module.index("@main(") + 6:module.index(") ->")]
    flags = []
    for argument in head.split(", "):
        name, kind = argument.split(": ")
        sizes = [int(n) for n in kind[len("tensor<"):-1].split("x")[:-1]]
        path = os.path.join(folder, name[1:] + ".npy")
        np.save(path, np.zeros(sizes, np.float32))
        flags += ["--input", f"{name[1:]}={path}"]
    return flags


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure_tuff(module, options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.mlir")
        with open(path, "w") as file:
            file.write(module)
        command = [options.tuff, "run", path, "--device", options.device, "--json", *arguments_of(module, folder)]
        environment = dict(os.environ, TUFF_CACHE_DIR=os.path.join(folder, "cache"))
        before = processor_seconds()
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        used = processor_seconds() - before
    if done.returncode != 0:
        return None, None, {}, done.stderr.strip().splitlines()[-1] if done.stderr else f"exit {done.returncode}"
    report = json.loads(done.stdout)
    phases = {"import": report["load_ms"], **report["phases_ms"]}
    phases.pop("execute", None)
    return (report["load_ms"] + report["compile_ms"]) / 1000, used, phases, f"{report['dispatches']} dispatches"


JAX = """
import sys, time
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir
import jax
backend = jax.local_devices(backend="cpu")[0].client
text = open(sys.argv[1]).read()
start = time.perf_counter()
with mlir.make_ir_context():
    module = ir.Module.parse(text)
    code = mlir.module_to_bytecode(module)
options = xla_client.CompileOptions()
try:
    backend.compile_and_load(code, xla_client.DeviceList((jax.local_devices()[0],)), options)
except AttributeError:
    backend.compile(code, options)
print(time.perf_counter() - start)
"""


def measure_jax(module, limit_s):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(module)
        file.flush()
        try:
            done = subprocess.run([sys.executable, "-c", JAX, file.name], capture_output=True, text=True,
                                  timeout=limit_s)
        except subprocess.TimeoutExpired:
            return None
    return float(done.stdout) if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(prog="python -m scaling", description=__doc__.splitlines()[0])
    parser.add_argument("--tuff", default="../build/tuff", help="the command to measure")
    parser.add_argument("--device", default="cpu", help="cpu or vulkan")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="which of " + ", ".join(SHAPES))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="operations of the graphs")
    parser.add_argument("--vs-jax", action="store_true", help="JAX's compile times of the same modules, too")
    parser.add_argument("--phases", type=int, default=3, help="how many of the slowest phases are told")
    parser.add_argument("--write", metavar="FOLDER", help="write the modules there instead")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    for shape in options.shapes.split(","):
        times = []
        for size in sizes:
            module = SHAPES[shape](size)
            if options.write:
                with open(os.path.join(options.write, f"{shape}_{size}.mlir"), "w") as file:
                    file.write(module)
                continue
            seconds, used, phases, note = measure_tuff(module, options)
            line = f"{shape:12} {size:7}  "
            line += f"{seconds:8.3f} s, processor {used:8.3f} s" if seconds is not None else "  failed  "
            if seconds is not None:
                times.append((size, seconds, used))
                slowest = sorted(phases.items(), key=lambda phase: -phase[1])[:options.phases]
                note += "; " + ", ".join(f"{name} {ms / 1000:.3f}" for name, ms in slowest)
            if options.vs_jax:
                jax = measure_jax(module, 600)
                line += f"  jax {jax:8.3f} s" if jax is not None else "  jax fails or takes above 600 s"
            print(line + "  " + note, flush=True)
        if len(times) > 1:
            ns, seconds, used = zip(*times)
            print(f"{shape:12}   slope  {slope(ns, seconds):8.2f}, processor {slope(ns, used):8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
