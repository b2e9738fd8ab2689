"""Exports with symbolic sizes: run at several shapes on both devices against JAX; text and bytecode."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import export

import harness  # first: it knows where the next one is
from tolerances import bound


def values(*shape):
    return np.sin(np.arange(np.prod(shape, dtype=int), dtype=np.float32) * 0.7).reshape(shape)


def mlp(w, x):
    return jax.nn.softmax(jax.nn.relu(x @ w) + x.shape[0], axis=-1)


def movement(x):
    rows = x.shape[0]
    return (jnp.concatenate([x, x], 0), x.reshape(-1), jnp.arange(rows), x[1:], jnp.pad(x, ((1, 2), (0, 0))), x.mean(0),
            jnp.tile(x, (2, 1)), x[jnp.arange(rows) % 2], jnp.linspace(0.0, 1.0, rows), jnp.eye(rows),
            jax.lax.dynamic_slice_in_dim(x, 1, rows - 1), x.reshape(rows, -1, 1).transpose(2, 1, 0),
            jnp.sort(x, axis=0), jnp.argmax(x, axis=1), x[::2], jnp.flip(x, 0))


def attention(q, k):
    scores = jnp.einsum("bsd,btd->bst", q, k) / np.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool))
    return jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1) @ k


def convolution(x, w):
    y = jax.lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")


def loss_gradient(w, x):
    return jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2) / x.shape[0])(w)


def scan(x):
    return jax.lax.scan(lambda c, v: (c + v, c * v), jnp.zeros(x.shape[1:]), x)


# name: (function, symbolic shapes of its arguments, constraints, concrete shapes to run at)
CASES = {
    "mlp": (mlp, ["4, 5", "b, 4"], [], [[(4, 5), (1, 4)], [(4, 5), (7, 4)]]),
    "movement": (movement, ["b, s"], ["b>=2"], [[(2, 3)], [(5, 1)], [(67, 3)]]),
    "attention": (attention, ["b, s, 8", "b, s, 8"], [], [[(1, 3, 8)] * 2, [(2, 7, 8)] * 2]),
    "convolution": (convolution, ["b, h, h, 3", "3, 3, 3, 4"], ["h>=4"], [[(1, 5, 5, 3), (3, 3, 3, 4)],
                                                                         [(2, 8, 8, 3), (3, 3, 3, 4)]]),
    "loss_gradient": (loss_gradient, ["4, 3", "b, 4"], [], [[(4, 3), (5, 4)]]),
    "scan": (scan, ["b, s"], [], [[(3, 4)], [(7, 1)]]),
}


class Polymorphic(harness.ExportTest):
    def exported(self, name):
        function, symbolic, constraints, _ = CASES[name]
        scope = export.SymbolicScope(constraints)
        specs = [jax.ShapeDtypeStruct(export.symbolic_shape(text, scope=scope), jnp.float32) for text in symbolic]
        return export.export(jax.jit(function))(*specs)

    def write(self, name):
        module = self.exported(name)
        (self.folder / f"{name}.mlir").write_text(module.mlir_module())
        (self.folder / f"{name}.mlirbc").write_bytes(module.mlir_module_serialized)
        return self.folder / f"{name}.mlir", self.folder / f"{name}.mlirbc"

    def check(self, name):
        function, _, _, shapes = CASES[name]
        files = self.write(name)
        for concrete in shapes:
            arrays = [values(*shape) for shape in concrete]
            expected = jax.tree.leaves(jax.jit(function)(*arrays))
            for device in ["reference"] if name == "scan" else harness.DEVICES:
                got = self.run_model(files[1], arrays, device)
                self.assertEqual(len(got), len(expected))
                for i, (a, b) in enumerate(zip(got, expected)):
                    self.assert_close(a, b, bound("open_sizes"), f"{name} {concrete} on {device}: output {i}")
            options = [f"--shape={i}={'x'.join(map(str, shape))}" for i, shape in enumerate(concrete)]
            graphs = [self.tuff("explain", file, "--after", "import", "--device", "cpu", *options).stdout
                      for file in files]
            self.assertEqual(*graphs)

    def test_assertions_of_the_export(self):
        _, file = self.write("movement")
        result = self.tuff("explain", file, "--after", "import", "--shape", "0=1x3", code=10)
        self.assertIn("b - 2", result.stderr)

    def test_shapes_that_are_missing_or_do_not_fit(self):
        _, file = self.write("mlp")
        self.assertIn("--shape", self.tuff("explain", file, code=11).stderr)
        self.assertIn("(2x5)", self.tuff("explain", file, "--shape", "1=2x5", code=2).stderr)
        self.assertIn("no argument (y)", self.tuff("explain", file, "--shape", "y=2x4", code=2).stderr)


for case in CASES:
    setattr(Polymorphic, f"test_{case}", lambda self, name=case: self.check(name))

harness.main()
