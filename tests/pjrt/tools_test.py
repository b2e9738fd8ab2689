"""What JAX's tools say of programs on the plugin: costs, traces, the persistent cache, forks: `python tools_test.py PLUGIN`.
77: skipped, no JAX.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from program_process import on_plugin

try:
    import jax  # noqa: F401
except ImportError:
    print("skipped: this Python has no JAX; set TUFF_JAX_PYTHON to one that has")
    sys.exit(77)

PLUGIN = sys.argv[1] if len(sys.argv) > 1 else "libpjrt_tuff.so"
LIMIT_S = 280
PROGRAM = """
import os, sys, glob, jax, jax.numpy as jnp, numpy as np
x = jnp.ones((64, 64))
program = jax.jit(lambda x: jnp.sin(x @ x))
program(x).block_until_ready()
"""


def run(script, **settings):
    """What the program prints, and what it says."""
    env = {**os.environ, **on_plugin(PLUGIN, os.environ.get("TUFF_DEVICE", "cpu")), **settings}
    process = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM + script], env=env, capture_output=True, text=True,
                             timeout=LIMIT_S)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout, process.stderr


class ToolsTest(unittest.TestCase):
    def test_costs(self):
        said, _ = run("costs = program.lower(x).compile().cost_analysis(); print(costs['flops'], costs['bytes accessed'])")
        flops, accessed = map(float, said.split())
        self.assertGreaterEqual(flops, 2 * 64**3)
        self.assertLess(flops, 2.2 * 64**3)
        self.assertGreater(accessed, 2 * 4 * 64**2)

    def test_a_trace_has_the_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            said, _ = run("""
with jax.profiler.trace(os.environ["TRACES"]):
    for _ in range(3):
        program(x).block_until_ready()
from jax.profiler import ProfileData
path, = glob.glob(os.environ["TRACES"] + "/**/*.xplane.pb", recursive=True)
planes = {plane.name: plane for plane in ProfileData.from_file(path).planes}
ours, = (plane for name, plane in planes.items() if name.startswith("/device:CUSTOM:tuff:0 "))
host = min(event.start_ns for line in planes["/host:CPU"].lines for event in line.events)
for line in ours.lines:
    for event in line.events:
        assert event.start_ns > host and 0 <= event.duration_ns < 60e9, (event.start_ns, host, event.duration_ns)
        print(line.name, event.name)
""", TRACES=folder)
        self.assertEqual(said.count("programs main"), 3, said)
        self.assertGreaterEqual(said.count("kernels "), 3, said)
        self.assertIn("kernels library matmul", said)

    def test_a_trace_has_the_exchanges(self):
        with tempfile.TemporaryDirectory() as folder:
            said, _ = run("""
from jax.sharding import NamedSharding, PartitionSpec as P
from jax.profiler import ProfileData
rows = jax.device_put(np.ones((64, 64), np.float32), NamedSharding(jax.make_mesh((2,), ("x",)), P("x")))
program = jax.jit(lambda x: jnp.cos(jnp.sin(x).sum(0)))
program(rows).block_until_ready()
with jax.profiler.trace(os.environ["TRACES"]):
    program(rows).block_until_ready()
path, = glob.glob(os.environ["TRACES"] + "/**/*.xplane.pb", recursive=True)
for plane in ProfileData.from_file(path).planes:
    lines = {line.name: list(line.events) for line in plane.lines}
    if "exchanges" in lines:
        first, last = lines["programs"]
        for event in lines["exchanges"]:
            assert first.start_ns + first.duration_ns <= event.start_ns, (first, event)
            assert event.start_ns + event.duration_ns <= last.start_ns, (event, last)
            print("exchanges", event.name)
""", TRACES=folder, TUFF_DEVICE="cpux2")
        self.assertEqual(said.splitlines(), ["exchanges 1 all_reduce, 256 bytes"] * 2)

    def test_the_persistent_cache_is_used(self):
        with tempfile.TemporaryDirectory() as folder:
            settings = {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1", "JAX_DEBUG_LOG_MODULES": "jax._src.compiler",
                        "JAX_LOGGING_LEVEL": "DEBUG"}
            script = """
print(float(program(x)[0, 0]))
jax.jit(lambda x: jax.pure_callback(lambda x: np.asarray(x) + 1, x, x))(x).block_until_ready()
"""
            first, log = run(script, **settings)
            self.assertNotIn("cache hit for 'jit__lambda'", log)
            entries = {path.name for path in pathlib.Path(folder).iterdir()}
            self.assertTrue(entries)
            second, log = run(script, **settings)
            self.assertIn("cache hit for 'jit__lambda'", log)
            self.assertEqual(first, second)
            added = {path.name for path in pathlib.Path(folder).iterdir()} - entries
            self.assertEqual(added, set(), "programs that call back are kept in no cache")

    def test_a_fork_is_told_so(self):
        said, _ = run("""
import signal
signal.alarm(120)
child = os.fork()
if not child:
    signal.alarm(60)
    assert x.shape == (64, 64)
    for name, work in {"run": lambda: program(x).block_until_ready(), "eager": lambda: (x + 1).block_until_ready(),
                       "compile": lambda: jax.jit(lambda x: x * 3)(x), "take": lambda: jnp.asarray(np.ones(5)),
                       "give": lambda: np.asarray(x)}.items():
        try:
            work()
        except Exception as error:
            print(name, "This process was forked" in str(error), flush=True)
        else:
            print(name, "works", flush=True)
    del x, program
    sys.exit(7)
_, status = os.waitpid(child, 0)
print("child", os.waitstatus_to_exitcode(status))
print("parent", np.allclose(program(x), np.sin(64), atol=1e-5))
""")
        self.assertIn("child 7", said)
        for name in ("run", "eager", "compile", "take"):
            self.assertIn(f"{name} True", said)
        self.assertIn("parent True", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
