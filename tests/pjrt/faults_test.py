"""Injected faults are exceptions: `python faults_test.py PLUGIN`, the plugin with faulty_device. 77: skipped, no JAX.

Each case is a process of its own, since the fault is in its environment.
"""
import os
import subprocess
import sys
import unittest

PLUGIN = sys.argv[1] if len(sys.argv) > 1 else "libpjrt_tuff_faulty.so"

LOST = """
x = jax.device_put(np.ones(4, np.float32), jax.devices()[0])
double = jax.jit(lambda x: x * 2)
try:
    for i in range(5):
        y = double(x)
        y.block_until_ready()
    print("no exception")
except jax.errors.JaxRuntimeError as error:
    print(i, error)
try:
    print(np.asarray(double(y)))
except jax.errors.JaxRuntimeError as error:
    print("then", error)
z = jax.device_put(np.ones(4, np.float32), jax.devices()[1])
print(np.asarray(double(z)))
"""

DEPENDENT = """
x = jax.device_put(np.ones(4, np.float32), jax.devices()[0])
more = jax.jit(lambda x: x + 1)
more(x).block_until_ready()  # compiled and loaded while the device is well
y = jax.jit(lambda x: x * 2)(x)
z = more(y)  # of a result that is never there
try:
    np.asarray(z)
except jax.errors.JaxRuntimeError as error:
    print("of the argument:", error)
"""

MEMORY = """
x = jax.device_put(np.ones(1000, np.float32), jax.devices()[0])
double = jax.jit(lambda x: x * 2)
try:
    double(x).block_until_ready()
except jax.errors.JaxRuntimeError as error:
    print(error)
print(np.asarray(double(x))[:2])
"""

SPREAD = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("x",))
x = jax.device_put(np.ones((4, 2), np.float32), NamedSharding(mesh, P("x")))
total = jax.jit(lambda x: (x * 3).sum())
print(total(x))
y = total(x)
for shard in y.addressable_shards:
    try:
        print("no exception", np.asarray(shard.data))
    except jax.errors.JaxRuntimeError as error:
        print(error)
z = jax.device_put(np.ones(4, np.float32), jax.devices()[1])
print(np.asarray(z * 2))
"""


class FaultsTest(unittest.TestCase):
    def run_with(self, fault, program):
        environment = dict(os.environ, PJRT_NAMES_AND_LIBRARY_PATHS=f"tuff:{PLUGIN}", JAX_PLATFORMS="tuff",
                           TUFF_DEVICE="cpux2", TUFF_TEST_FAULT=fault)
        process = subprocess.run([sys.executable, "-c", "import jax, numpy as np" + program], env=environment,
                                 capture_output=True, text=True, timeout=120)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    def test_a_lost_device_is_named_and_another_goes_on(self):
        said = self.run_with("run:3:lost", LOST).splitlines()
        self.assertEqual(said[0], "2 UNAVAILABLE: vkQueueSubmit: The device is lost (injected).")
        self.assertEqual(said[1], "then UNAVAILABLE: vkQueueSubmit: The device is lost (injected).")
        self.assertEqual(said[2], "[2. 2. 2. 2.]")

    def test_an_error_reaches_what_depends_on_it(self):
        self.assertIn("of the argument: UNAVAILABLE", self.run_with("run:2:lost", DEPENDENT))

    def test_a_lost_device_fails_the_run_on_all(self):
        said = self.run_with("run:2:lost", SPREAD).splitlines()
        self.assertEqual(said[0], "24.0")
        self.assertEqual(said[1:3], ["UNAVAILABLE: vkQueueSubmit: The device is lost (injected)."] * 2)
        self.assertEqual(said[3], "[2. 2. 2. 2.]")

    def test_no_memory_on_one_device_fails_the_run_on_all(self):
        # The third allocation on the device: after its part of x and the device's number, the run's.
        said = self.run_with("allocate:3:memory", SPREAD.replace("print(total(x))", "print('first')"))
        self.assertIn("RESOURCE_EXHAUSTED: A buffer of (4) bytes does not fit (injected).", said)
        self.assertNotIn("no exception", said)

    def test_no_memory_is_one_exception(self):
        said = self.run_with("allocate:2:memory", MEMORY).splitlines()
        self.assertEqual(said[0], "RESOURCE_EXHAUSTED: A buffer of (4000) bytes does not fit (injected).")
        self.assertEqual(said[1], "[2. 2.]")


if __name__ == "__main__":
    try:
        import jax  # noqa: F401
    except ImportError:
        print("skipped: this Python has no JAX; set TUFF_JAX_PYTHON to one that has")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
