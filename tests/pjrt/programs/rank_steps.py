"""Steps that never end by themselves: `rank_steps.py [RANK STEP fails|differs|stops]`; run by ranks.py.

In that step that rank fails, or runs another program than the others, or stops while they wait for it in a barrier of JAX's.
"""
import os
import signal
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.distributed import global_state
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("x",))
x = jax.make_array_from_callback((jax.device_count(), 8), NamedSharding(mesh, P("x")),
                                 lambda index: np.ones((jax.device_count(), 8), np.float32)[index])
step = jax.jit(lambda x: jnp.tanh(x + x.sum(0)))


@jax.jit
def other(x, y):
    return jnp.cos(x + x.sum(0)) * y


for i in range(100_000):
    special = sys.argv[1:3] == [str(jax.process_index()), str(i)]
    if special and sys.argv[3] == "fails":
        raise ValueError("the data of this rank is bad")
    if sys.argv[2:4] == [str(i), "stops"]:
        if special:
            os.kill(os.getpid(), signal.SIGSTOP)
        global_state.client.wait_at_barrier("together", 600_000)
    x = (other(x, np.float32(2)) if special else step(x)).block_until_ready()
    print("step", i, flush=True)
    time.sleep(0.02)
