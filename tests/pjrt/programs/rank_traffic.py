"""Training steps of one large layer: `rank_traffic.py whole|spread STEPS`; run by ranks.py.

Weights of 8 MiB are on every device, or spread. Prints their bytes.
"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("x",))
weights_over, steps = P("x") if sys.argv[1] == "spread" else P(), int(sys.argv[2])


def put(array, spec):
    return jax.make_array_from_callback(array.shape, NamedSharding(mesh, spec), lambda index: array[index])


w, x = put(np.full((2048, 1024), 0.01, np.float32), weights_over), put(np.ones((8, 2048), np.float32), P("x"))
step = jax.jit(lambda w, x: w - 1e-4 * jax.grad(lambda w: ((x @ w) ** 2).mean())(w), donate_argnums=0)
for _ in range(steps):
    w = step(w, x)
w.block_until_ready()
print(w.nbytes, flush=True)
