"""Training that is saved by orbax and goes on from what was restored: its losses are those of a run in one piece."""
import json
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp

optimizer = optax.adamw(1e-2)
x = jnp.asarray(np.cos(np.arange(64 * 8) * 0.7).reshape(64, 8), jnp.float32)
y = jnp.sin(x.sum(axis=1, keepdims=True))


def start():
    keys = jax.random.split(jax.random.key(0), 2)
    params = {"first": jax.random.normal(keys[0], (8, 16)) * 0.3, "second": jax.random.normal(keys[1], (16, 1)) * 0.3}
    # Of other types too, as a checkpoint has them.
    return {"params": params, "optimizer": optimizer.init(params), "step": jnp.int32(0),
            "average": jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)}


def loss_of(params):
    return jnp.mean((jnp.tanh(x @ params["first"]) @ params["second"] - y) ** 2)


@jax.jit
def train(state):
    loss, grads = jax.value_and_grad(loss_of)(state["params"])
    updates, optimizer_state = optimizer.update(grads, state["optimizer"], state["params"])
    params = optax.apply_updates(state["params"], updates)
    average = jax.tree.map(lambda a, p: (0.9 * a + 0.1 * p).astype(a.dtype), state["average"], params)
    return {"params": params, "optimizer": optimizer_state, "step": state["step"] + 1, "average": average}, loss


def steps(state, count):
    losses = []
    for _ in range(count):
        state, loss = train(state)
        losses.append(float(loss))
    return state, losses


whole = steps(start(), 20)[1]
with tempfile.TemporaryDirectory() as folder, ocp.CheckpointManager(folder) as manager:
    state, first = steps(start(), 10)
    manager.save(int(state["step"]), args=ocp.args.StandardSave(state))
    manager.wait_until_finished()
    restored = manager.restore(manager.latest_step(), args=ocp.args.StandardRestore(jax.tree.map(jnp.zeros_like, state)))
same = jax.tree.map(lambda a, b: bool((a == b).all()) and a.dtype == b.dtype and a.devices() == b.devices(), state, restored)
second = steps(restored, 10)[1]
print(json.dumps({"losses": whole, "apart": max(abs(a - b) for a, b in zip(whole, first + second)),
                  "restored as it was": all(jax.tree.leaves(same)), "step": int(restored["step"])}))
