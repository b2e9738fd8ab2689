"""Training of spread weights that goes on from its checkpoint: `rank_checkpoint.py FOLDER [RANK STEP [kill|stop|cut]]`;
run by ranks.py.

That rank ends in that step without a word, or is killed or stopped, or waits until its link is cut. Prints the loss of
each step.
"""
import os
import pathlib
import signal
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

folder, steps = pathlib.Path(sys.argv[1]), 8
mesh = Mesh(np.array(jax.devices()), ("x",))
generator = np.random.default_rng(2)
arrays = [generator.normal(size=shape).astype(np.float32) for shape in ((16, 8), (8, 32), (32, 4), (16, 4))]


def put(array, spec):
    return jax.make_array_from_callback(array.shape, NamedSharding(mesh, spec), lambda index: array[index])


x, y = put(arrays[0], P("x")), put(arrays[3], P("x"))
weights = [put(arrays[1], P(None, "x")), put(arrays[2], P("x"))]


@jax.jit
def train(weights, x, y):
    def loss(weights):
        return ((jnp.tanh(x @ weights[0]) @ weights[1] - y) ** 2).mean()
    value, gradient = jax.value_and_grad(loss)(weights)
    return [w - 0.1 * g for w, g in zip(weights, gradient)], value


def end(how="exit"):
    print(how, "now", flush=True)
    if how == "exit":
        os._exit(9)
    if how == "cut":
        time.sleep(3)
    else:
        os.kill(os.getpid(), {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[how])


with ocp.CheckpointManager(folder) as manager:
    step = 0
    if manager.latest_step() is not None:
        step = manager.latest_step()
        weights = manager.restore(step, args=ocp.args.StandardRestore(weights))
    while step < steps:
        if sys.argv[2:4] == [str(jax.process_index()), str(step)]:
            end(*sys.argv[4:])
        weights, value = train(weights, x, y)
        step += 1
        print("loss", step, float(value), flush=True)
        if step % 2 == 0:
            manager.save(step, args=ocp.args.StandardSave(weights))
            manager.wait_until_finished()
