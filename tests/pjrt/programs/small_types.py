"""Floats of 8 and 4 bits and integers of 4 and 2 bits as storage: arrays in and out, casts, what moves elements, matmuls
of fp8 with scales, a cache of fp8 in a scan, arithmetic."""
import json

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

random = np.random.RandomState(3)
FLOATS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float8_e4m3",
          "float8_e3m4", "float8_e4m3b11fnuz", "float4_e2m1fn")
INTEGERS = ("int4", "uint4", "int2", "uint2")
found = {}


def keep(name, value):
    """The array's sum and a sum that knows its order, in f64."""
    values = np.nan_to_num(np.asarray(value).astype(np.float64), nan=3, posinf=5, neginf=-5).ravel()
    found[name] = [float(values.sum()), float((values * np.cos(np.arange(values.size))).sum())]


def moved(x):
    x = jnp.concatenate([x[::-1], jnp.roll(x, 3)]).reshape(4, -1).T
    return jax.lax.optimization_barrier(x)[jnp.array([1, 0, 2])]


values = (random.randn(64) * np.exp(random.randn(64))).astype(np.float32)
for name in FLOATS:
    dtype = getattr(jnp, name)
    x = jnp.asarray(np.abs(values) if name == "float8_e8m0fnu" else values)
    small = jax.jit(lambda v: v.astype(dtype))(x)
    assert small.dtype == getattr(ml_dtypes, name), small.dtype
    keep(f"{name} cast", small)
    keep(f"{name} wide", jax.jit(lambda v: v.astype(jnp.float32))(small))
    keep(f"{name} moved", jax.jit(moved)(jax.device_put(np.asarray(small))))
    keep(f"{name} compared", jax.jit(lambda v: (v < v[::-1], jnp.where(v > v[3], v, v[::-1])))(small)[1])
for name in INTEGERS:
    dtype = getattr(jnp, name)
    small = jnp.asarray((values * 2).astype(np.int32).astype(getattr(ml_dtypes, name)))
    keep(f"{name} in and out", small)
    keep(f"{name} wide", jax.jit(lambda v: v.astype(jnp.int32) * 2)(small))
    keep(f"{name} cast", jax.jit(lambda v: v.astype(dtype))(jnp.arange(40) - 20))
    keep(f"{name} moved", jax.jit(moved)(small))
    keep(f"{name} sum", jax.jit(lambda v: v + v * 3)(small))

# A matmul of fp8 with scales, as inference has it.
a, b = random.randn(32, 48).astype(np.float32), random.randn(48, 40).astype(np.float32)


@jax.jit
def scaled(x):
    scale = jnp.max(jnp.abs(x), axis=-1, keepdims=True) / 448
    return (x / scale).astype(jnp.float8_e4m3fn), scale


@jax.jit
def product(a, b, scale_a, scale_b):
    sums = jax.lax.dot_general(a, b, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
    return sums * scale_a * scale_b.T


(qa, sa), (qb, sb) = scaled(a), scaled(b.T)
keep("fp8 matmul", product(qa, qb, sa, sb))
keep("int4 weights", jax.jit(lambda x, w: x @ (w.astype(jnp.float32) * 0.1))(
    a, jnp.asarray(np.clip(b * 3, -8, 7).astype(np.int32).astype(ml_dtypes.int4))))


# A cache of fp8 that a scan fills.
@jax.jit
def fill(cache, rows):
    def step(cache, row):
        i, x = row
        cache = jax.lax.dynamic_update_slice(cache, x.astype(cache.dtype)[None], (i, 0))
        return cache, jnp.max(cache.astype(jnp.float32), axis=0)
    return jax.lax.scan(step, cache, (jnp.arange(len(rows)), rows))


cache, largest = fill(jnp.zeros((32, 48), jnp.float8_e5m2), a)
keep("cache", cache)
keep("cache's largest", largest)
keep("gradient", jax.jit(jax.grad(lambda x: jnp.sum(x.astype(jnp.float8_e4m3fn).astype(jnp.float32) ** 2)))(a))
keep("max", jax.jit(lambda x: jnp.max(x, axis=0))(qa))
keep("sorted", jax.jit(lambda x: jnp.sort(x.ravel()))(qa))
keep("order", jax.jit(lambda x: jnp.argsort(x.ravel(), descending=True))(jnp.arange(16).astype(jnp.int4)))
keep("top", jax.jit(lambda x: jax.lax.top_k(x, 3)[0])(qa))
keep("argmax", jax.jit(lambda x: jnp.argmax(x, axis=1))(qa))
keep("scattered", jax.jit(lambda x: jnp.zeros(9, x.dtype).at[jnp.array([1, 4, 1, 7])].add(x[0, :4]))(qa))
keep("cumulated", jax.jit(lambda x: jax.lax.cummax(x, axis=1))(qa))
keep("bits", jax.jit(lambda x: jax.lax.bitcast_convert_type(x, jnp.uint8))(qa))
for value in qa, jnp.array([-1, 3, -8, 7], jnp.int4):
    keep(f"callback of {value.dtype}", jax.jit(lambda x: jax.pure_callback(
        lambda v: v[::-1], jax.ShapeDtypeStruct(x.shape, x.dtype), x).astype(jnp.float32) + x.astype(jnp.float32))(value))
print(json.dumps(found))
