"""ONNX's own model tests: networks whose weights are made inside the model, with what they give.

    onnx_models_test.py TUFF

The package onnx has them (backend/test/data/light); their input is made as ONNX's runner makes it. On the CPU, and on
Vulkan where there is a device. Needs the packages onnx and numpy; skipped without.
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TUFF = sys.argv.pop(1)
PACKAGES = [name for name in ("onnx", "numpy") if not importlib.util.find_spec(name)]


@unittest.skipIf(PACKAGES, "this Python has no " + ", ".join(PACKAGES))
class OnnxModels(unittest.TestCase):
    def check(self, *options):
        import onnx
        models = sorted((pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))
        self.assertGreater(len(models), 0)
        for path in models:
            with self.subTest(path.stem):
                self.check_model(path, *options)

    def check_model(self, path, *options):
        import numpy as np
        import onnx
        graph = onnx.load(path).graph
        initialized = {t.name for t in graph.initializer}
        with tempfile.TemporaryDirectory() as folder:
            arguments = []
            for value in graph.input:
                if value.name in initialized:
                    continue
                shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
                count = int(np.prod(shape))
                file = pathlib.Path(folder) / f"in{len(arguments)}.npy"
                np.save(file, (np.arange(count).reshape(shape) / count).astype(np.float32))
                arguments += ["--input", f"{value.name}={file}"]
            run = subprocess.run([TUFF, "run", path, *options, *arguments, "--output-dir", folder], capture_output=True,
                                 text=True, timeout=600)
            self.assertEqual(run.returncode, 0, run.stderr)
            for i in range(len(graph.output)):
                data = path.with_name(f"{path.stem}_output_{i}.pb").read_bytes()
                want = onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))
                np.testing.assert_allclose(np.load(pathlib.Path(folder) / f"out{i}.npy"), want, rtol=1e-3, atol=1e-7)

    def test_cpu(self):
        self.check("--device", "cpu")

    def test_vulkan(self):
        found = subprocess.run([TUFF, "devices", "--json"], capture_output=True, text=True).stdout
        if not any(d["id"].startswith("vulkan") and d["usable"] for d in json.loads(found)["devices"]):
            self.skipTest("no usable Vulkan device")
        self.check("--device", "vulkan", "--require-gpu")


unittest.main(verbosity=2)
