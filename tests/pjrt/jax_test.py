"""JAX on the plugin against JAX on its own CPU backend: `python jax_test.py PLUGIN`. 77: skipped, no JAX."""
import os
import pathlib
import sys
import threading
import unittest

os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = "tuff:" + (sys.argv[1] if len(sys.argv) > 1 else "libpjrt_tuff.so")
os.environ["JAX_PLATFORMS"] = "tuff,cpu"
# As if the wheel were installed too: JAX must be told of the plugin once.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "frontend" / "python"))
os.environ.setdefault("TUFF_DEVICE", "cpu")
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    print("skipped: this Python has no JAX; set TUFF_JAX_PYTHON to one that has")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tolerances import bound  # noqa: E402

RANDOM = np.random.default_rng(0)


def normal(*shape):
    return (RANDOM.standard_normal(shape) * 0.3).astype(np.float32)


def mlp_params():
    return [(normal(20, 32), normal(32)), (normal(32, 32), normal(32)), (normal(32, 5), normal(5))]


def mlp(params, x):
    for weight, bias in params[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = params[-1]
    return x @ weight + bias


def loss(params, x, y):
    return ((mlp(params, x) - y) ** 2).mean()


def step(params, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradient), value


def gpt_params(width=64, words=100, places=32, layers=2):
    def norm():
        return 1 + normal(width), normal(width)

    def layer():
        return {"norm1": norm(), "norm2": norm(), "qkv": normal(width, 3 * width), "out": normal(width, width),
                "up": normal(width, 4 * width), "down": normal(4 * width, width)}
    return {"words": normal(words, width), "places": normal(places, width), "norm": norm(),
            "layers": [layer() for _ in range(layers)]}


def gpt(params, tokens, heads=4):
    def norm(x, scale, shift):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * scale + shift

    x = params["words"][tokens] + params["places"][:tokens.shape[1]]
    batch, length, width = x.shape
    for layer in params["layers"]:
        q, k, v = (part.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)
                   for part in jnp.split(norm(x, *layer["norm1"]) @ layer["qkv"], 3, -1))
        scores = q @ k.transpose(0, 1, 3, 2) * (width // heads) ** -0.5
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        mixed = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        x = x + mixed @ layer["out"]
        x = x + jax.nn.gelu(norm(x, *layer["norm2"]) @ layer["up"]) @ layer["down"]
    return norm(x, *params["norm"]) @ params["words"].T


class JaxTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tuff, cls.cpu = jax.devices()[0], jax.devices("cpu")[0]

    def on(self, device, function, *arguments):
        with jax.default_device(device):
            arguments = jax.tree.map(lambda x: jax.device_put(x, device), arguments)
            return jax.tree.map(np.asarray, jax.jit(function)(*arguments))

    def same(self, function, *arguments, tolerance=bound("jax")):
        ours, theirs = (self.on(device, function, *arguments) for device in (self.tuff, self.cpu))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance), ours, theirs)

    def test_device(self):
        self.assertEqual(self.tuff.platform, "tuff")
        self.assertEqual(len(jax.devices("tuff")), 1)
        self.assertIn("bytes_in_use", self.tuff.memory_stats())

    def test_arrays_come_back(self):
        for dtype in ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32"):
            values = (np.arange(24).reshape(2, 3, 4) % 7).astype(jnp.dtype(dtype))
            for view in (values, values.transpose(2, 0, 1), values[::-1, :, ::2], values[:0], values[0, 0, 0]):
                np.testing.assert_array_equal(np.asarray(jax.device_put(view, self.tuff)), view)

    def test_elementwise(self):
        self.same(lambda x, y: jnp.tanh(x) * y + jnp.exp(-x * x), normal(64, 33), normal(64, 33))

    def test_matmul(self):
        self.same(lambda x, y: x @ y, normal(37, 65), normal(65, 19))

    def test_softmax_and_gelu(self):
        self.same(lambda x: (jax.nn.softmax(x), jax.nn.gelu(x), jax.nn.gelu(x, approximate=False)), normal(8, 100))

    def test_random_bits_are_the_same(self):
        def draw(key):
            return jax.random.bits(key, (100,)), jax.random.uniform(key, (100,))
        self.same(draw, np.array([0, 42], np.uint32), tolerance=0)
        self.same(lambda key: jax.random.normal(key, (100,)), np.array([0, 42], np.uint32))

    def test_convolution_and_its_gradients(self):
        def convolution(x, w):
            return jax.lax.conv_general_dilated(x, w, (2, 2), "SAME")
        x, w = normal(2, 3, 16, 16), normal(4, 3, 3, 3)
        self.same(convolution, x, w)
        self.same(jax.grad(lambda x, w: (convolution(x, w) ** 2).sum(), argnums=(0, 1)), x, w, tolerance=bound("jax_gradient"))

    def test_mlp_trains(self):
        params, x, y = mlp_params(), normal(16, 20), normal(16, 5)
        self.same(step, params, x, y)
        losses = {}
        for device in (self.tuff, self.cpu):
            now, jitted = jax.device_put(params, device), jax.jit(step)
            for _ in range(40):
                now, value = jitted(now, jax.device_put(x, device), jax.device_put(y, device))
            losses[device] = float(value)
        np.testing.assert_allclose(losses[self.tuff], losses[self.cpu], rtol=bound("jax_gradient"))

    def test_gpt_and_its_gradients(self):
        params, tokens = gpt_params(), RANDOM.integers(0, 100, (2, 32)).astype(np.int32)
        self.same(gpt, params, tokens, tolerance=bound("jax_network"))

        def surprise(params, tokens):
            likely = jax.nn.log_softmax(gpt(params, tokens)[:, :-1])
            return -jnp.take_along_axis(likely, tokens[:, 1:, None], -1).mean()
        self.same(jax.grad(surprise), params, tokens, tolerance=bound("jax_network"))

    def test_sort_and_indexing(self):
        self.same(lambda x: (jnp.sort(x), jnp.argsort(x), jax.lax.top_k(x, 5)), normal(7, 50))
        self.same(lambda x: (jax.lax.approx_max_k(x, 5), jax.lax.approx_min_k(x, 3, reduction_dimension=0)), normal(7, 50))
        self.same(jax.grad(lambda table, i: (table[i] ** 2).sum()), normal(50, 8), np.array([3, 4, 3], np.int32))

    def test_eager(self):
        x = jnp.arange(6.0).reshape(2, 3)
        self.assertEqual(float((x * 2 + x[0]).sum()), 36.0)
        self.assertEqual((x > 2).tolist(), [[False, False, False], [True, True, True]])

    def test_errors_are_exceptions(self):
        x = jax.device_put(normal(3), self.tuff)
        call = jax.ffi.ffi_call("nobodys_target", jax.ShapeDtypeStruct((3,), np.float32))
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "UNIMPLEMENTED.*nobodys_target"):
            jax.jit(call)(x)
        x.delete()
        with self.assertRaisesRegex(RuntimeError, "deleted"):
            np.asarray(x)

    def test_numpy_arrays_may_be_written_to_after_a_call(self):
        x = np.ones((256, 256), np.float32)
        y = jax.jit(lambda x: x @ x)(jax.device_put(x, self.tuff))
        x[:] = 0
        self.assertEqual(float(y[0, 0]), 256.0)

    def test_results_are_read_in_place(self):
        y = jax.jit(lambda x: x + 1)(jax.device_put(normal(64, 64), self.tuff))
        self.assertEqual(np.asarray(y).ctypes.data, y.unsafe_buffer_pointer())
        self.assertFalse(np.asarray(y).flags.writeable)

    def test_aot_serialization(self):
        from jax.experimental import serialize_executable
        compiled = jax.jit(lambda x: x * 2 + 1).lower(jnp.arange(4.0)).compile()
        again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
        np.testing.assert_array_equal(np.asarray(again(jnp.arange(4.0))), [1, 3, 5, 7])

    def test_threads(self):
        function = jax.jit(lambda x: jnp.tanh(x) @ x.T)
        inputs = [jax.device_put(normal(16, 16), self.tuff) for _ in range(4)]
        expected = [np.asarray(function(x)) for x in inputs]
        wrong = []

        def work(i):
            for _ in range(50):
                if not np.array_equal(np.asarray(function(inputs[i])), expected[i]):
                    wrong.append(i)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(inputs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_who_waits_for_a_run_does_it_itself(self):
        function = jax.jit(lambda x: jax.lax.fori_loop(0, 2000, lambda i, y: y * 1.0001 + i, x))
        x = function(jax.device_put(normal(3000), self.tuff)).block_until_ready()
        ready = []  # when the call is over
        for _ in range(50):
            x = function(x)
            ready.append(x.is_ready())
            x.block_until_ready()
        self.assertTrue(any(ready), "each of 50 runs was another thread's")
        ready = []
        for _ in range(50):
            x = function(x)
            ready.append(x)
        self.assertFalse(all(y.is_ready() for y in ready), "each of 50 runs was the caller's, who did not wait")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
