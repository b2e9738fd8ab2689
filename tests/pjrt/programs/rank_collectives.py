"""What several processes see of each other, and every collective between them against NumPy; run by ranks.py."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

count = jax.device_count()
own = jax.local_device_count()
assert count == jax.process_count() * own, (count, own)
assert [d.process_index for d in jax.devices()] == [i // own for i in range(count)], jax.devices()
assert [d.id for d in jax.local_devices()] == [jax.process_index() * own + i for i in range(own)]
mesh = Mesh(np.array(jax.devices()), ("x",))
square = Mesh(np.array(jax.devices()).reshape(2, count // 2), ("a", "b"))
random = np.random.default_rng(1)


def put(array, spec, over=mesh):
    return jax.make_array_from_callback(array.shape, NamedSharding(over, spec), lambda index: array[index])


def check(name, body, array, in_spec, out_spec, wanted, over=mesh, rtol=1e-6):
    y = jax.jit(jax.shard_map(body, mesh=over, in_specs=in_spec, out_specs=out_spec, check_vma=False))(
        put(array, in_spec, over))
    assert y.shape == wanted.shape, (name, y.shape, wanted.shape)
    for shard in y.addressable_shards:
        np.testing.assert_allclose(np.asarray(shard.data).astype(np.float64), wanted[shard.index].astype(np.float64),
                                   rtol=rtol, atol=1e-6, err_msg=name)


x = random.normal(size=(2 * count, 3 * count)).astype(np.float32)
blocks = x.reshape(count, 2, 3 * count)
total = blocks.sum(0)
check("psum", lambda x: lax.psum(x, "x"), x, P("x"), P(), total)
check("pmax", lambda x: lax.pmax(x, "x"), x, P("x"), P(), blocks.max(0))
check("all_gather", lambda x: lax.all_gather(x, "x", tiled=True), x, P("x"), P(), x)
check("all_gather along columns", lambda x: lax.all_gather(x, "x", axis=1, tiled=True), x, P(None, "x"), P(), x)
check("psum_scatter", lambda x: lax.psum_scatter(x, "x", scatter_dimension=1, tiled=True), x, P("x"), P(None, "x"), total)
check("all_to_all", lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True), x, P("x"), P(None, "x"), x)
turn = [(i, (i + 1) % count) for i in range(count)]
check("ppermute", lambda x: lax.ppermute(x, "x", turn), x, P("x"), P("x"), np.roll(blocks, 1, 0).reshape(x.shape))
check("ppermute to some", lambda x: lax.ppermute(x, "x", turn[:1]), x, P("x"), P("x"),
      np.concatenate([0 * x[:2], x[:2], 0 * x[4:]]))
check("axis_index", lambda x: x[:1, :1] * 0 + lax.axis_index("x"), x, P("x"), P("x"), np.arange(count)[:, None])
check("one element", lambda x: lax.psum(x.sum(), "x")[None], x, P("x"), P(), x.sum(keepdims=True)[0], rtol=1e-4)
check("one after another", lambda x: lax.psum(jnp.tanh(lax.psum(x, "x")) * x, "x"), x, P("x"), P(),
      np.tanh(total) * total, rtol=1e-4)
for dtype in (np.int32, np.uint8, jnp.bfloat16, np.bool_):
    few = random.integers(0, 2, x.shape).astype(dtype)
    check(f"all_gather of {np.dtype(dtype)}", lambda x: lax.all_gather(x, "x", tiled=True), few, P("x"), P(), few)
few = random.integers(0, 9, x.shape).astype(np.int32)
check("psum of integers", lambda x: lax.psum(x, "x"), few, P("x"), P(), few.reshape(count, 2, -1).sum(0))
z = (x + 1j * x[::-1]).astype(np.complex64)
sums = jax.jit(jax.shard_map(lambda z: lax.psum(z, "x"), mesh=mesh, in_specs=P("x"), out_specs=P()))(put(z, P("x")))
np.testing.assert_allclose(np.asarray(sums), z.reshape(count, 2, -1).sum(0), rtol=1e-5, atol=1e-5)
cells = x.reshape(2, count, count // 2, 6)
check("psum over rows of a mesh", lambda x: lax.psum(x, "a"), x, P("a", "b"), P(None, "b"),
      x.reshape(2, count, 3 * count).sum(0), over=square)
check("psum over columns of a mesh", lambda x: lax.psum(x, "b"), x, P("a", "b"), P("a"),
      x.reshape(2 * count, count // 2, 6).sum(1), over=square)

# jit of sharded arrays, eager operations, and what JAX does with them
y = put(x, P("x"))
np.testing.assert_allclose(np.asarray(jax.jit(lambda y: (y.T @ y), out_shardings=NamedSharding(mesh, P()))(y)), x.T @ x,
                           rtol=1e-4, atol=1e-4)
np.testing.assert_allclose(float(jnp.sum(y * 2)), (x * 2).sum(), rtol=1e-4)
np.testing.assert_allclose(multihost_utils.process_allgather(y, tiled=True), x)
assert float(jax.jit(lambda a: a + 1)(jnp.float32(jax.process_index()))) == jax.process_index() + 1
multihost_utils.sync_global_devices("end")
print("all well")
