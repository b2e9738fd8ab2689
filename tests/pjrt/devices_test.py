"""Several logical devices in one process: `python devices_test.py PLUGIN`. 77: skipped, no JAX."""
import os
import sys
import unittest

os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = "tuff:" + (sys.argv[1] if len(sys.argv) > 1 else "libpjrt_tuff.so")
os.environ["JAX_PLATFORMS"] = "tuff"
os.environ.setdefault("TUFF_DEVICE", "cpux3")
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    print("skipped: this Python has no JAX; set TUFF_JAX_PYTHON to one that has")
    sys.exit(77)


class DevicesTest(unittest.TestCase):
    def test_ids(self):
        self.assertEqual([device.id for device in jax.devices()], [0, 1, 2])

    def test_arrays_move_between_devices(self):
        values = np.arange(12, dtype=np.float32).reshape(3, 4)
        here = jax.device_put(values, jax.devices()[0]) * 2  # maybe still to be computed
        there = jax.device_put(here, jax.devices()[2])
        self.assertEqual(there.devices(), {jax.devices()[2]})
        np.testing.assert_array_equal(np.asarray(there), 2 * values)
        np.testing.assert_array_equal(np.asarray(jnp.sin(there)), np.asarray(jnp.sin(here)))

    def test_each_device_counts_its_own_memory(self):
        before = [device.memory_stats()["bytes_in_use"] for device in jax.devices()]
        x = jax.device_put(np.ones(1000, np.float32), jax.devices()[1])
        after = [device.memory_stats()["bytes_in_use"] for device in jax.devices()]
        self.assertEqual([b - a for a, b in zip(before, after)], [0, 4000, 0])
        del x


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
