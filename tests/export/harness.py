"""What the tests of this folder share: running tuff on what JAX exports. `python PART_test.py TUFF [TEST...]`"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "frontend" / "python"), str(ROOT / "tests")]
TUFF = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else sys.exit(__doc__)
DEVICES = os.environ.get("EXPORT_TEST_DEVICES", "cpu,vulkan").split(",")


class ExportTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def tuff(self, *arguments, code=0):
        """Runs tuff and checks its exit code; the result has .stdout and .stderr."""
        result = subprocess.run([TUFF, *map(str, arguments)], capture_output=True, text=True, timeout=900)
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}")
        return result

    def run_model(self, model, inputs, device, *more):
        """Outputs of `model` for the arrays `inputs`, in order, as a list of arrays."""
        arguments = []
        for i, array in enumerate(inputs):
            np.save(self.folder / f"in{i}.npy", array)
            arguments += ["--input", self.folder / f"in{i}.npy"]
        out = self.folder / "out"
        self.tuff("run", model, "--device", device, "--output-dir", out, *arguments, *more)
        files = sorted(out.glob("out[0-9]*.npy"), key=lambda path: (len(path.name), path.name))
        arrays = [np.load(path) for path in files]
        for path in files:
            path.unlink()
        return arrays

    def assert_close(self, got, expected, tolerance, note):
        """Same type; max |got - expected| within tolerance * max |expected|; integers equal."""
        expected = np.asarray(expected)
        self.assertEqual((got.shape, got.dtype), (expected.shape, expected.dtype), note)
        if not np.issubdtype(expected.dtype, np.floating):
            np.testing.assert_array_equal(got, expected, note)
        elif expected.size:
            error = np.max(np.abs(got - expected))
            self.assertLessEqual(error, tolerance * max(np.max(np.abs(expected)), 1e-30), note)


def main():
    unittest.main(verbosity=2)
