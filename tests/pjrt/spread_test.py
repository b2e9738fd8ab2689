"""Programs over several devices, against JAX's CPU backend: `python spread_test.py PLUGIN [DEVICES]`. 77: skipped, no JAX.

DEVICES is a TUFF_DEVICE of several logical devices (cpux4); the CPU backend is given as many.
"""
import concurrent.futures
import functools
import os
import pathlib
import sys
import unittest

NUM_DEVICES = int((sys.argv[2] if len(sys.argv) > 2 else "cpux4").rpartition("x")[2])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tolerances import bound  # noqa: E402

# The package registers the plugin, since JAX donates only to platforms that it is told of.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "frontend" / "python"))
os.environ["TUFF_PJRT_PLUGIN"] = sys.argv[1] if len(sys.argv) > 1 else "libpjrt_tuff.so"
os.environ["JAX_PLATFORMS"] = "tuff,cpu"
os.environ["TUFF_DEVICE"] = sys.argv[2] if len(sys.argv) > 2 else "cpux4"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={NUM_DEVICES}"
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax, shard_map
    from jax.sharding import AxisType, Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P
except ImportError:
    print("skipped: this Python has no JAX, or one without jax.shard_map; set TUFF_JAX_PYTHON to one that has")
    sys.exit(77)

N = NUM_DEVICES
random = np.random.default_rng(0)


def normal(*shape):
    return random.normal(size=shape).astype(np.float32)


def meshes(sizes=(N,), names=("x",), axis_type=AxisType.Auto):
    """The same mesh on tuff and on JAX's CPU backend."""
    return [Mesh(np.array(jax.devices(platform)).reshape(sizes), names, axis_types=(axis_type,) * len(names))
            for platform in ("tuff", "cpu")]


def beside_one(sizes=(N,), names=("x",)):
    """Beside one device of JAX's: over parts XLA is wrong for windows that overlap (cummax, a max pool's gradient)."""
    one = np.array(jax.devices("cpu")[:1]).reshape((1,) * len(names))
    return [meshes(sizes, names)[0], Mesh(one, names)]


def put(mesh, spec, array):
    return jax.device_put(array, NamedSharding(mesh, spec))


def collectives(compiled):
    return int(compiled.cost_analysis()["collectives"])


class SpreadTest(unittest.TestCase):
    def agree(self, program, two=None, rtol=bound("devices")):
        """program(mesh) on both meshes: the same arrays, spread alike. Tuff's."""
        ours, theirs = (program(mesh) for mesh in two or meshes())
        for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            self.assertEqual(a.shape, b.shape)
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=rtol)
        return ours

    def mapped(self, body, arrays, in_specs, out_specs, two=None):
        """shard_map(body) of arrays."""
        def program(mesh):
            run = jax.jit(shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False))
            return run(*(put(mesh, spec, array) for spec, array in zip(in_specs, arrays)))
        return self.agree(program, two)

    # shard_map and pmap: collectives by hand

    def test_reductions(self):
        x = normal(2 * N, 5)
        for reduce in (lax.psum, lax.pmean, lax.pmax, lax.pmin):
            with self.subTest(reduce.__name__):
                self.mapped(lambda x: reduce(jnp.sin(x), "x"), [x], (P("x"),), P())
                self.mapped(lambda x: x + reduce(x, "x"), [x], (P("x"),), P("x"))

    def test_reductions_of_other_types(self):
        for dtype in (np.int8, np.int32, np.uint16, jnp.bfloat16, np.float16, bool):
            with self.subTest(np.dtype(dtype).name):
                x = (random.integers(-20, 20, size=(N, 7)) > 0 if dtype is bool
                     else random.integers(0, 9, size=(N, 7)).astype(dtype))
                reduce = lax.pmax if dtype is bool else lax.psum
                self.mapped(lambda x: reduce(x, "x").astype(np.float32), [x], (P("x"),), P())

    def test_gather_scatter_permute(self):
        x = normal(2 * N, 3 * N)
        step = [(i, (i + 1) % N) for i in range(N)]
        self.mapped(lambda x: lax.all_gather(x, "x", tiled=True), [x], (P("x"),), P())
        self.mapped(lambda x: lax.all_gather(x, "x", axis=1, tiled=True), [x], (P(None, "x"),), P())
        self.mapped(lambda x: lax.all_gather(x, "x"), [x], (P("x"),), P(None, "x"))
        self.mapped(lambda x: lax.psum_scatter(x, "x", scatter_dimension=1, tiled=True), [x], (P("x"),), P("x"))
        self.mapped(lambda x: lax.ppermute(x, "x", step), [x], (P("x"),), P("x"))
        self.mapped(lambda x: lax.ppermute(x, "x", step[:1]), [x], (P("x"),), P("x"))  # the others get zeros
        self.mapped(lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True), [x], (P("x"),), P("x"))

    def test_complex_numbers(self):
        z = normal(2 * N, 4 * N) + 1j * normal(2 * N, 4 * N)
        step = [(i, (i + 1) % N) for i in range(N)]
        self.mapped(lambda z: lax.psum(z.sum(0, keepdims=True), "x"), [z], (P("x"),), P())
        self.mapped(lambda z: lax.psum_scatter(z, "x", scatter_dimension=1, tiled=True), [z], (P("x"),), P("x"))
        self.mapped(lambda z: lax.all_gather(z, "x", tiled=True), [z], (P("x"),), P())
        self.mapped(lambda z: lax.ppermute(z, "x", step), [z], (P("x"),), P("x"))

        def program(mesh):
            spread = put(mesh, P("x"), z)
            return (jax.jit(lambda z: jnp.tanh(z) * 1j)(spread), jax.jit(lambda z: jnp.sum(z * z, 0))(spread),
                    jax.jit(jax.grad(lambda z: jnp.sum(jnp.abs(z @ z.conj().T)) / 9))(spread))
        self.agree(program)

    def test_axis_index(self):
        self.mapped(lambda x: x * lax.axis_index("x"), [normal(N, 4)], (P("x"),), P("x"))

    def test_two_axes(self):
        two = meshes((2, N // 2), ("a", "b"))
        x = normal(4, N)
        self.mapped(lambda x: lax.psum(x, "a") + lax.axis_index("b"), [x], (P("a", "b"),), P(None, "b"), two)
        self.mapped(lambda x: lax.psum(x, ("a", "b")), [x], (P("a", "b"),), P(), two)
        self.mapped(lambda x: lax.all_gather(x, ("b", "a"), tiled=True), [normal(2 * N)], (P(("b", "a")),), P(), two)

    def test_exchanges_that_depend_on_each_other(self):
        def body(x, w):
            h = lax.psum(jnp.tanh(x @ w), "x")
            g = lax.all_gather(h * lax.axis_index("x"), "x")
            return lax.psum(g.sum(0) @ w.T, "x") + x
        self.mapped(body, [normal(2 * N, 4), normal(4, 6)], (P("x"), P()), P("x"))

    def test_gradient_through_shard_map(self):
        x, w = normal(2 * N, 4), normal(4, 3)

        def program(mesh):
            loss = shard_map(lambda w, x: lax.pmean(jnp.mean((x @ w) ** 2), "x"), mesh=mesh,
                             in_specs=(P(), P("x")), out_specs=P())
            return jax.jit(jax.value_and_grad(loss))(put(mesh, P(), w), put(mesh, P("x"), x))
        self.agree(program)

    def test_pmap(self):
        x = normal(N, 6)

        def run(platform):
            step = jax.pmap(lambda x: x / lax.psum(jnp.sum(x ** 2), "i"), axis_name="i", devices=jax.devices(platform))
            return step(x)
        np.testing.assert_allclose(np.asarray(run("tuff")), np.asarray(run("cpu")), rtol=bound("devices"))

    def test_collectives_in_counted_loops(self):
        x = normal(N, 4)

        def nested(x):
            step = lambda h, a: lax.fori_loop(0, 2, lambda i, h: lax.pmean(h, "x") + a + i, h)
            return lax.scan(lambda h, a: (step(h, a), lax.psum(h, "x")), x, jnp.arange(3.0))
        self.mapped(lambda x: lax.fori_loop(0, 3, lambda i, x: lax.pmean(x, "x") * i + lax.axis_index("x"), x), [x],
                    (P("x"),), P("x"))
        self.mapped(nested, [x], (P("x"),), (P("x"), P(None, "x")))

    def test_training_of_a_pipeline(self):
        weights, batches = normal(N, 16, 16) / np.float32(4), normal(6, 2, 16)

        def stages(w, batches):
            stage, last = lax.axis_index("x"), len(batches) - 1

            def body(t, carry):
                state, done = carry
                y = jnp.tanh(jnp.where(stage == 0, batches[jnp.minimum(t, last)], state) @ w[0])
                ends = (stage == N - 1) & (t >= N - 1)
                done = jnp.where(ends, done.at[jnp.maximum(t - (N - 1), 0)].set(y), done)
                return lax.ppermute(y, "x", [(i, (i + 1) % N) for i in range(N)]), done
            begin = (jnp.zeros_like(batches[0]), jnp.zeros_like(batches))
            done = lax.fori_loop(0, len(batches) + N - 1, body, begin)[1]
            return lax.psum(jnp.where(stage == N - 1, done, 0), "x")

        def gradient(mesh):
            piped = shard_map(stages, mesh=mesh, in_specs=(P("x"), P()), out_specs=P(), check_vma=False)
            return jax.jit(jax.value_and_grad(lambda w, b: (piped(w, b) ** 2).sum()))(
                put(mesh, P("x"), weights), put(mesh, P(), batches))
        self.agree(gradient)

    def test_maps_over_some_axes(self):
        """The other axes are spread over as outside, and a loop's rounds are written out."""
        two = [Mesh(np.array(jax.devices(platform)).reshape(2, N // 2), ("x", "y")) for platform in ("tuff", "cpu")]
        a, b = normal(4 * N, 8), normal(8, 2 * N)

        def body(a, b):
            moved = lax.fori_loop(0, 2, lambda _, a: lax.ppermute(jnp.tanh(a), "x", [(0, 1), (1, 0)]), a)
            parts = lax.all_gather(moved * (1 + lax.axis_index("x")), "x", axis=1, tiled=True)
            return lax.psum(moved @ b, "x"), parts, lax.psum_scatter(a @ b, "x", scatter_dimension=1, tiled=True)

        def program(mesh):
            some = shard_map(body, mesh=mesh, in_specs=(P(None, "x"), P("x")), out_specs=(P(), P(), P(None, "x")),
                             axis_names={"x"}, check_vma=False)
            arrays = put(mesh, P("y", "x"), a), put(mesh, P(None, "y"), b)
            loss = jax.grad(lambda a, b: sum((y ** 2).sum() for y in some(a, b)), (0, 1))
            return jax.jit(some)(*arrays), jax.jit(loss)(*arrays)
        (product, *_), _ = self.agree(program, two, rtol=bound("devices_gradient"))
        self.assertEqual(product.sharding.shard_shape(product.shape)[0], 4 * N // (N // 2))

    def test_collectives_in_other_loops_are_refused(self):
        mesh = meshes()[0]
        body = shard_map(lambda x: lax.while_loop(lambda x: x.sum() < 100, lambda x: lax.psum(x, "x"), x), mesh=mesh,
                         in_specs=P("x"), out_specs=P("x"), check_vma=False)
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "loop of unknown"):
            jax.jit(body)(put(mesh, P("x"), normal(N, 2) ** 2))

    # jit over arrays with a NamedSharding: collectives by propagation

    def spread(self, function, arrays, specs, out=None, two=None):
        """jit(function) of arrays put by their specs; out: the results' sharding, or as it comes."""
        def program(mesh):
            out_shardings = None if out is None else jax.tree.map(lambda spec: NamedSharding(mesh, spec), out)
            return jax.jit(function, out_shardings=out_shardings)(*(put(mesh, s, a) for s, a in zip(specs, arrays)))
        return self.agree(program, two)

    def test_results_are_where_they_come(self):
        x = normal(2 * N, 3)
        y, total = self.spread(lambda x: (jnp.sin(x), x.sum()), [x], [P("x")])
        self.assertTrue(y.sharding.is_equivalent_to(NamedSharding(meshes()[0], P("x")), 2), y.sharding)
        self.assertEqual({s.data.shape for s in y.addressable_shards}, {(2, 3)})
        self.assertTrue(total.sharding.is_fully_replicated)

    def test_results_are_where_they_are_wanted(self):
        x = normal(2 * N, N)
        self.spread(lambda x: (x + 1, x * 2, x - 3), [x], [P("x")], (P(), P(None, "x"), P("x")))
        self.spread(lambda x: (x + 1, x * 2), [x], [P()], (P("x"), P(None, "x")))

    def test_constraints(self):
        def program(mesh):
            @jax.jit
            def run(x, w):
                h = lax.with_sharding_constraint(jnp.tanh(x @ w), NamedSharding(mesh, P("x")))
                g = lax.with_sharding_constraint(h @ w.T, NamedSharding(mesh, P(None, P.UNCONSTRAINED)))
                return g.sum(1), lax.with_sharding_constraint(h.T @ h, NamedSharding(mesh, P("x")))
            return run(normal(2 * N, 4) * 0 + 1, put(mesh, P(None, "x"), np.ones((4, 2 * N), np.float32)))
        self.agree(program)

    def test_explicit_meshes(self):
        def program(mesh):
            with jax.set_mesh(mesh):
                x, w = put(mesh, P("x"), np.arange(6.0 * N, dtype=np.float32).reshape(2 * N, 3)), jnp.ones((3, 5))
                return jax.jit(lambda x, w: jax.nn.softmax(x @ w).sum(0, keepdims=True) + x.mean())(x, w)
        self.agree(program, meshes(axis_type=AxisType.Explicit))

    def test_sums_that_are_left_to_be_made(self):
        mesh = jax.make_mesh((N,), ("x",), devices=jax.devices("tuff"), axis_types=(AxisType.Explicit,))
        x, w = normal(2 * N, 4), normal(2 * N, 3)
        with jax.set_mesh(mesh):
            a, b = (jax.device_put(array, P("x")) for array in (x, w))
            product = jax.jit(lambda a, b: jnp.dot(a.T, b, out_sharding=P(None, None, unreduced={"x"})))
            shares = product(a, b)
            self.assertEqual(collectives(product.lower(a, b).compile()), 0)
            np.testing.assert_allclose(sum(np.asarray(s.data) for s in shares.addressable_shards), x.T @ w,
                                       rtol=bound("devices"), atol=bound("devices"))
            whole = jax.jit(lambda s: jax.sharding.reshard(s, P()) * 2)(shares)
        np.testing.assert_allclose(np.asarray(whole), 2 * x.T @ w, rtol=bound("devices"), atol=bound("devices"))

    def test_layers_of_networks(self):
        x, labels = normal(2 * N, 6, 8), random.integers(0, 8, size=(2 * N, 6)).astype(np.int32)
        table = normal(11, 8)

        def norm(x):
            return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        for name, function, arrays in (
                ("layer norm", norm, [x]),
                ("softmax", lambda x: jax.nn.log_softmax(x), [x]),
                ("batch statistics", lambda x: (x - x.mean(0)) / x.std(0), [x]),
                ("attention", lambda x: jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(x @ x.swapaxes(1, 2)), x), [x]),
                ("labels", lambda x, i: -jnp.take_along_axis(jax.nn.log_softmax(x), i[..., None], -1).mean(), [x, labels]),
                ("one hot", lambda i: jax.nn.one_hot(i, 9), [labels]),
                ("cumulative sum", lambda x: jnp.cumsum(x, 1), [x]),
                ("largest", lambda x: (x.argmax(-1), jnp.sort(x, 1), lax.top_k(x, 2)), [x])):
            with self.subTest(name):
                self.spread(function, arrays, [P("x")] * len(arrays))
        with self.subTest("embedding and its gradient"):
            self.spread(lambda t, i: jax.value_and_grad(lambda t: (t[i] ** 2).sum())(t), [table, labels], [P(), P("x")])

    def test_convolutions_and_their_gradients(self):
        x, k = normal(2 * N, 8, 8, 3), normal(3, 3, 3, 4)

        def loss(k, x):
            y = lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            y = lax.reduce_window(jax.nn.relu(y), -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
            return (y ** 2).mean()
        self.agree(
            lambda mesh: jax.jit(jax.value_and_grad(loss, (0, 1)))(put(mesh, P(), k), put(mesh, P("x"), x)), rtol=bound("devices_gradient"))

    def test_what_is_computed_along_spread_dimensions(self):
        x, matrices = normal(2 * N, 8 * N), normal(2 * N, N, N)
        ties = np.round(x)
        for name, function, arrays, spec in (
                ("sort", lambda x: (jnp.sort(x, 1), jnp.argsort(x, 1)), [ties], P(None, "x")),
                ("sort of a vector", jnp.sort, [x[0]], P("x")),
                ("largest", lambda x: (x.argmax(1), x.argmin(1), x.argmax()), [ties], P(None, "x")),
                ("largest of few", lambda x: x.argmax(), [ties[0]], P("x")),
                ("top_k", lambda x: lax.top_k(x, 2), [ties], P(None, "x")),
                ("top_k of a vector", lambda x: lax.top_k(x, 3), [ties[0]], P("x")),
                ("top_k of many", lambda x: lax.top_k(x, 7 * N), [ties], P(None, "x")),
                ("scans", lambda x: (jnp.cumsum(x, 0), lax.cummax(x, 0), jnp.cumsum(x, 0) @ x.T), [x], P("x")),
                ("fft", lambda x: jnp.abs(jnp.fft.fft(x, axis=1)), [x], P(None, "x")),
                ("cholesky", lambda m: jnp.linalg.cholesky(m @ m.mT + N * jnp.eye(N)), [matrices], P("x")),
                ("columns of a cholesky", lambda m: jnp.linalg.cholesky(m @ m.mT + N * jnp.eye(N)), [matrices],
                 P(None, "x")),
                ("triangular_solve", lambda m, b: lax.linalg.triangular_solve(
                    jnp.tril(m) + 3 * jnp.eye(N), b, left_side=True, lower=True), [matrices, matrices], P(None, None, "x"))):
            with self.subTest(name):
                self.spread(function, arrays, [spec] * len(arrays), two=beside_one())
        mesh = meshes()[0]
        logits = put(mesh, P(None, "x"), normal(2, 1024 * N))
        for pick, most in ((lambda x: x.argmax(1), 2 * 8 * N), (lambda x: lax.top_k(x, 4), 2 * 4 * 8 * N)):
            self.assertLessEqual(jax.jit(pick).lower(logits).compile().cost_analysis()["bytes exchanged"], most)

    def test_training_of_a_network_whose_images_are_spread(self):
        def convolve(x, k, stride=1):
            return lax.conv_general_dilated(x, k, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

        def loss(kernels, x):
            first, left, right, short = kernels
            y = jax.nn.relu(convolve(x, first, 2))
            y = (y - y.mean((0, 1, 2))) * lax.rsqrt(y.var((0, 1, 2)) + 1e-5)
            y = lax.reduce_window(y, -np.inf, lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
            y = convolve(y, short, 2) + convolve(jax.nn.relu(convolve(y, left)), right, 2)
            return (lax.reduce_window(y, 0., lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2).mean()
        kernels = [normal(5, 5, 3, 4) / 5, normal(3, 3, 4, 4) / 4, normal(3, 3, 4, 8) / 4, normal(1, 1, 4, 8)]
        x = normal(2, 16 * N, 16 * N, 3)
        for spec, sizes, names in ((P(None, "x"), (N,), ("x",)), (P(None, "y", "x"), (2, N // 2), ("x", "y"))):
            with self.subTest(spec=spec):
                _, (_, of_images) = self.agree(
                    lambda mesh: jax.jit(jax.value_and_grad(loss, (0, 1)))(put(mesh, P(), kernels), put(mesh, spec, x)),
                    beside_one(sizes, names), rtol=bound("devices_gradient"))
                self.assertEqual(of_images.sharding.shard_shape(x.shape)[1], 16 if len(sizes) == 1 else 32)

    def test_random_numbers_and_loops_are_those_of_one_device(self):
        x = normal(2 * N, N)
        self.spread(lambda x: x + jax.random.normal(jax.random.key(3), x.shape), [x], [P("x")])
        self.spread(lambda x: lax.scan(lambda h, a: (jnp.tanh(h + a), h.sum()), x[0], x), [x], [P(None, "x")])

    def test_a_whole_argument_beside_spread_ones(self):
        self.spread(lambda x, s: x * s, [normal(2 * N, 3), np.float32(2)], [P("x"), P()])

    def test_eager_operations(self):
        x = normal(2 * N, 3)
        mesh = meshes()[0]
        spread = put(mesh, P("x"), x)
        np.testing.assert_allclose(np.asarray(jnp.sum(spread * 2, 0)), (x * 2).sum(0), rtol=bound("devices"))
        np.testing.assert_allclose(np.asarray(spread[1:3]), x[1:3])

    # what a program costs and where it is

    def test_collectives_and_bytes_are_counted(self):
        mesh = meshes()[0]
        w, x = put(mesh, P(), normal(4, 3)), put(mesh, P("x"), normal(2 * N, 4))
        gradient = jax.jit(jax.grad(lambda w, x: ((x @ w) ** 2).sum())).lower(w, x).compile()
        self.assertEqual(collectives(gradient), 1)
        self.assertEqual(gradient.cost_analysis()["bytes exchanged"], 2 * (4 * 3 * 4 * (N - 1) // N))
        self.assertEqual(gradient.memory_analysis().argument_size_in_bytes, (4 * 3 + 2 * 4) * 4)
        forward = jax.jit(lambda x: jnp.tanh(x) * 2).lower(x).compile()
        self.assertEqual(collectives(forward), 0)

    def test_each_device_holds_its_shard_only(self):
        mesh = meshes()[0]
        before = [d.memory_stats()["bytes_in_use"] for d in mesh.devices]
        x = put(mesh, P("x"), np.ones((8 * N, 16), np.float32))
        y = jax.jit(jnp.exp)(x).block_until_ready()
        after = [d.memory_stats()["bytes_in_use"] for d in mesh.devices]
        # Besides the two shards a few scalars: each program on a device has the device's number.
        for a, b in zip(before, after):
            self.assertLess(b - a - 2 * 8 * 16 * 4, 64)
        del x, y

    def test_donation(self):
        mesh = meshes()[0]
        step = jax.jit(lambda w, x: w - x.T @ (x @ w), donate_argnums=0)
        w, x = put(mesh, P(), normal(4, 3)), put(mesh, P("x"), normal(2 * N, 4))
        wanted = np.asarray(w) - np.asarray(x).T @ (np.asarray(x) @ np.asarray(w))
        new = step(w, x)
        self.assertTrue(w.is_deleted())
        np.testing.assert_allclose(np.asarray(new), wanted, rtol=bound("devices_gradient"), atol=bound("devices"))

    def test_training_whose_exchanges_go_in_batches(self):
        layers, width = 4, 768  # each layer's weights are more than a batch
        weights = [normal(width, width) / np.float32(width) ** 0.5 for _ in range(layers)]
        x = normal(4 * N, width)

        @functools.partial(jax.jit, donate_argnums=0)
        def step(weights, x):
            def loss(weights):
                y = x
                for w in weights:
                    y = jnp.tanh(y @ w)
                return (y * y).mean()
            value, gradients = jax.value_and_grad(loss)(weights)
            return [w - g for w, g in zip(weights, gradients)], value

        def train(mesh, spec):
            trained, rows, losses = [put(mesh, spec, w) for w in weights], put(mesh, P("x"), x), []
            for _ in range(3):
                trained, value = step(trained, rows)
                losses.append(value)
            return trained, losses
        for spec in P(), P("x"):
            self.agree(functools.partial(train, spec=spec))

    def test_ahead_of_time(self):
        mesh = meshes()[0]
        x = put(mesh, P("x"), normal(2 * N, 4))
        compiled = jax.jit(lambda x: x.sum(0)).lower(x).compile()
        np.testing.assert_allclose(np.asarray(compiled(x)), np.asarray(x).sum(0), rtol=bound("devices"))
        self.assertIn("tuff", compiled.as_text())

    def test_runs_from_several_threads(self):
        mesh = meshes()[0]
        x = put(mesh, P("x"), normal(2 * N, 4))
        programs = [jax.jit(functools.partial(lambda k, x: (x * k).sum(0), k)) for k in range(4)]
        wanted = np.asarray(x).sum(0)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for k, totals in enumerate(pool.map(lambda program: [program(x) for _ in range(20)], programs)):
                for total in totals:
                    np.testing.assert_allclose(np.asarray(total), k * wanted, rtol=bound("devices"), atol=bound("devices"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
