"""Steps that never end by themselves: `rank_steps.py [RANK STEP]`, where that rank fails in that step; run by ranks.py."""
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("x",))
x = jax.make_array_from_callback((jax.device_count(), 8), NamedSharding(mesh, P("x")),
                                 lambda index: np.ones((jax.device_count(), 8), np.float32)[index])
step = jax.jit(lambda x: jnp.tanh(x + x.sum(0)))
for i in range(100_000):
    if sys.argv[1:] == [str(jax.process_index()), str(i)]:
        raise ValueError("the data of this rank is bad")
    x = step(x).block_until_ready()
    print("step", i, flush=True)
    time.sleep(0.02)
