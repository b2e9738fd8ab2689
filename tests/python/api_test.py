"""tuff.load, devices and buffers from Python. TUFF_LIBRARY names libtuff; PYTHONPATH has the package."""
import gc
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    print(f"skipped: this Python has no {error.name}")
    sys.exit(77)
import tuff

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
from onnx_file import INT64, onnx_model  # noqa: E402

MODELS = TESTS / "models"
NON_ZERO = onnx_model("NonZero", ["x"], types={"y": (INT64, (1, "n"))})
ZEROS = onnx_model("ConstantOfShape", ["shape"], types={"shape": (INT64, (1,)), "y": (1, ("n",))})
TWO_RESULTS = b"""
func.func @main(%x: tensor<3xf32>, %s: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<3xf32>
  %2 = stablehlo.subtract %x, %0 : tensor<3xf32>
  return %1, %2 : tensor<3xf32>, tensor<3xf32>
}
"""
STEP = b"""
func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
OPEN = b"""
func.func @main(%x: tensor<?xbf16>) -> tensor<?xbf16> {
  %0 = stablehlo.add %x, %x : tensor<?xbf16>
  return %0 : tensor<?xbf16>
}
"""
CONJUGATE = b"""
func.func @main(%z: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %0 = chlo.conj %z : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %1 = stablehlo.negate %0 : tensor<3xcomplex<f32>>
  return %1 : tensor<3xcomplex<f32>>
}
"""


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cpu = tuff.Device("cpu")

    def test_devices_end_with_the_cpu(self):
        listed = tuff.devices()
        self.assertEqual(listed[-1].id, "cpu")
        self.assertTrue(listed[-1].usable)
        self.assertEqual(listed[-1].pci_address, "")
        self.assertEqual(self.cpu.info.kind, "cpu")

    def test_a_bundle_runs_as_its_exporter_says(self):
        folder = MODELS / "mlp"
        program = tuff.load(folder, device="cpu")
        inputs = {argument.name: np.load(folder / "inputs" / f"{argument.name}.npy")
                  for argument in program.arguments if not argument.is_bound}
        expected = np.load(folder / "expected/out0.npy")
        np.testing.assert_allclose(program(**inputs), expected, rtol=1e-4, atol=1e-5)

    def test_a_saved_program_is_loaded_with_its_weights(self):
        folder = MODELS / "mlp"
        x = np.load(folder / "inputs/x.npy")
        program = tuff.load(folder, device="cpu")
        with tempfile.TemporaryDirectory() as temporary:
            path = pathlib.Path(temporary) / "mlp.tuff"
            program.save(path)
            saved = self.cpu.load(path)
            np.testing.assert_array_equal(saved(x), program(x))
            np.testing.assert_array_equal(self.cpu.load(path.read_bytes())(x), program(x))
            saved.save(path, weights=False)
            self.assertEqual(sum(argument.is_bound for argument in self.cpu.load(path).arguments), 0)
            with self.assertRaises(tuff.Error):
                program.save(temporary)

    def test_a_context_has_its_log_and_its_cache(self):
        lines = []
        context = tuff.Context(log=lambda level, line: lines.append((level, line)), cache_directory="")
        self.assertEqual(context.cache["directory"], "")
        context.clear_cache()
        program = tuff.Device("cpu", context).load(STEP)
        del context
        self.assertEqual(program([1, 2, 3, 4]).shape, (4,))
        self.assertTrue(any(level == "info" and "device cpu" in line for level, line in lines), lines)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(tuff.Context(cache_directory=folder, cache_max_bytes=5).cache["max_bytes"], 5)
        with self.assertRaises(tuff.Error):
            tuff.Context(cache_max_bytes=-1)

    def test_vulkan_buffers_are_for_vulkan_devices(self):
        self.assertEqual(self.cpu.buffer(np.ones(4, np.float32)).vulkan[0], 0)
        with self.assertRaisesRegex(tuff.Error, "no Vulkan device"):
            self.cpu.wrap_vulkan(1, (4,), np.float32)
        with self.assertRaisesRegex(tuff.Error, "VkInstance"):
            tuff.Context().adopt_vulkan(instance=0, physical_device=0, device=0, queue=0, queue_family=0, api_version=0,
                                        create_info=0)

    def test_results_come_one_or_several(self):
        program = self.cpu.load(TWO_RESULTS)
        product, difference = program(np.float32([1, 2, 3]), np.float32(2))
        np.testing.assert_array_equal(product, [2, 4, 6])
        np.testing.assert_array_equal(difference, [-1, 0, 1])
        np.testing.assert_array_equal(program([1, 2, 3], s=2.0)[0], [2, 4, 6])
        self.assertEqual(self.cpu.load(STEP)([1, 2, 3, 4]).shape, (4,))

    def test_buffers_stay_on_the_device_and_follow_on(self):
        program, x = self.cpu.load(STEP), self.cpu.buffer(np.ones(4, np.float32))
        for _ in range(5):
            x, = program.run(x, donate=["x"])
        np.testing.assert_array_equal(np.asarray(x), np.full(4, 32))
        used = program.run(x, donate=["x"])
        with self.assertRaises(tuff.Error):
            x.numpy()
        self.assertEqual(used[0].dtype, np.float32)

    def test_dlpack_shares_memory_both_ways(self):
        buffer = self.cpu.buffer(np.arange(6, dtype=np.int32).reshape(2, 3))
        shared = np.from_dlpack(buffer)
        del buffer
        gc.collect()
        np.testing.assert_array_equal(shared, [[0, 1, 2], [3, 4, 5]])
        capsule = self.cpu.buffer(np.ones(3)).__dlpack__()  # nobody takes it
        del capsule

        class Foreign:
            def __dlpack__(self, **_):
                return np.float32([1, 2, 3, 4]).__dlpack__()

            def __dlpack_device__(self):
                return (1, 0)
        np.testing.assert_array_equal(self.cpu.load(STEP)(Foreign()), [2, 4, 6, 8])

    def test_open_sizes_and_bfloat16(self):
        with self.assertRaisesRegex(tuff.Error, r"shape \(x=2x64\)"):  # and no option of the command
            self.cpu.load(OPEN)
        program = self.cpu.load(OPEN, shapes={"x": (5,)})
        result = program(np.arange(5).astype(ml_dtypes.bfloat16))
        self.assertEqual(result.dtype, ml_dtypes.bfloat16)
        np.testing.assert_array_equal(result.astype(np.float32), [0, 2, 4, 6, 8])

    def test_sizes_that_a_model_has_are_not_given(self):
        with self.assertRaisesRegex(tuff.Error, "shapes are fixed"):
            self.cpu.load(STEP, shapes={"x": (4,)})

    def test_complex_numbers(self):
        z = np.array([1 + 2j, -3j, 0.5], np.complex64)
        result = self.cpu.load(CONJUGATE)(z)
        self.assertEqual(result.dtype, np.complex64)
        np.testing.assert_array_equal(result, -z.conj())

    def test_small_types(self):
        module = b"""
func.func @main(%x: tensor<3xf8E4M3FN>, %n: tensor<3xi4>) -> (tensor<3xf8E4M3FN>, tensor<3xi4>) {
  %0 = stablehlo.add %x, %x : tensor<3xf8E4M3FN>
  %1 = stablehlo.add %n, %n : tensor<3xi4>
  return %0, %1 : tensor<3xf8E4M3FN>, tensor<3xi4>
}"""
        x, n = np.array([1, -1.5, 400], ml_dtypes.float8_e4m3fn), np.array([-1, 3, 7], ml_dtypes.int4)
        doubled, wrapped = self.cpu.load(module)(x, n)
        self.assertEqual((doubled.dtype, wrapped.dtype), (ml_dtypes.float8_e4m3fn, ml_dtypes.int4))
        np.testing.assert_array_equal(doubled.astype(np.float32), [2, -3, np.nan])
        np.testing.assert_array_equal(wrapped.astype(np.int32), [-2, 6, -2])

    def test_views_are_copied_in_order(self):
        x = np.arange(8, dtype=np.float32)[::-2]
        np.testing.assert_array_equal(self.cpu.load(STEP)(x), [14, 10, 6, 2])

    def test_lengths_that_the_data_says(self):
        program = self.cpu.load(NON_ZERO)
        self.assertEqual([(result.name, result.count_result, result.count_dimension) for result in program.results],
                         [("y", 1, 1), ("y.count", 0, 0)])
        np.testing.assert_array_equal(program(np.array([0, 5, 7], np.float32)), [[1, 2]])
        self.assertEqual(program(np.zeros(3, np.float32)).shape, (1, 0))
        self.assertEqual(program.run(np.zeros(3, np.float32))[0].shape, (1, 3))

    def test_a_value_that_a_shape_follows_from_stays(self):
        with self.assertRaises(tuff.Error):
            self.cpu.load(ZEROS)
        program = self.cpu.load(ZEROS, values={"shape": np.array([4])})
        self.assertEqual([argument.is_bound for argument in program.arguments], [True])
        np.testing.assert_array_equal(program(), np.zeros(4, np.float32))
        with self.assertRaisesRegex(tuff.Error, "shape follows from the argument 0 .shape."):
            program(shape=np.array([9]))
        with tempfile.TemporaryDirectory() as temporary:
            path = pathlib.Path(temporary) / "zeros.tuff"
            program.save(path, weights=False)
            saved = self.cpu.load(path)
            np.testing.assert_array_equal(saved(), np.zeros(4, np.float32))
            with self.assertRaisesRegex(tuff.Error, "shape follows from"):
                saved(shape=np.array([9]))

    def test_other_byte_orders_are_turned(self):
        np.testing.assert_array_equal(self.cpu.buffer(np.array([1, 2], ">f4")).numpy(), [1, 2])
        np.testing.assert_array_equal(self.cpu.load(STEP)(np.array([1, 2, 3, 4], ">f4")), [2, 4, 6, 8])

    def test_mistakes_are_named(self):
        program = self.cpu.load(TWO_RESULTS)
        for wrong, words in ((lambda: program(np.ones(4, np.float32), 1.0), "'x' must be float32\\[3\\]"),
                             (lambda: program(np.ones(3, np.float64), 1.0), "not float64"),
                             (lambda: program(1, 2, 3), "takes 2 arguments"),
                             (lambda: program(z=1), "no argument 'z'; it has x, s"),
                             (lambda: program([1, 2, 3], 1.0, x=2), "given twice"),
                             (lambda: program.run([1, 2, 3], 1.0, donate=["z"]), "no argument 'z'; it has x, s"),
                             (lambda: self.cpu.buffer(np.array(["a"])), "no tensors of <U1"),
                             (lambda: self.cpu.wrap_vulkan(0, (1,), "U1"), "no tensors of U1"),
                             (lambda: program([1, 2, 3]), "has no buffer")):
            with self.assertRaisesRegex((TypeError, tuff.Error), words):
                wrong()
        with self.assertRaisesRegex(tuff.Error, "no_such_model") as caught:
            tuff.load("no_such_model", device="cpu")
        self.assertEqual(caught.exception.status, 10)

    def test_the_command_weights(self):
        def weights(*words):
            return subprocess.run([sys.executable, "-m", "tuff", "weights", *words], capture_output=True, text=True)

        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            for signature, words in ((None, r"No such file or directory: '.*signature\.json'"),
                                     ("{", r"signature\.json does not say how to compute the weights: JSONDecodeError"),
                                     ("[]", r"signature\.json does not say how .* TypeError"),
                                     ('{"arguments": [{"name": "w", "kind": "weight"}]}', "The weight 'w' has no init")):
                if signature:
                    (folder / "signature.json").write_text(signature)
                told = weights(folder)
                self.assertEqual(told.returncode, 10, told.stderr)
                self.assertRegex(told.stderr, r"\Atuff weights: .*" + words)
                self.assertEqual(told.stderr.count("\n"), 1, told.stderr)
                self.assertFalse((folder / "weights.safetensors").exists())
            shutil.copy(MODELS / "mlp/signature.json", folder)
            self.assertEqual(weights(folder).returncode, 0)
            self.assertTrue((folder / "weights.safetensors").exists())
        self.assertEqual(weights().returncode, 2)

    def test_progress_may_end_the_compilation(self):
        phases = []
        self.cpu.load(STEP, progress=lambda phase, done, total: phases.append(phase))
        self.assertEqual(phases[0], "import")
        with self.assertRaises(tuff.Error) as caught:
            self.cpu.load(STEP, progress=lambda *_: False)
        self.assertEqual(caught.exception.status, 130)

    def test_threads_share_a_program(self):
        program, wrong = self.cpu.load(STEP), []

        def work(k):
            for _ in range(100):
                if (program(np.full(4, k, np.float32)) != 2 * k).any():
                    wrong.append(k)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
