"""A gated recurrent network as a scan learns to add marked numbers; its length is known to no one but the scan."""
import json

import jax
import jax.numpy as jnp

width, length, batch = 32, 20, 16


def init(key):
    keys = jax.random.split(key, 3)
    return {"in": jax.random.normal(keys[0], (2, 3 * width)) * 0.5, "bias": jnp.zeros(3 * width),
            "state": jax.random.normal(keys[1], (width, 3 * width)) * width ** -0.5,
            "out": jax.random.normal(keys[2], (width, 1)) * width ** -0.5}


def cell(params, state, x):
    ix, fx, cx = jnp.split(x @ params["in"] + params["bias"], 3, -1)
    ih, fh, ch = jnp.split(state @ params["state"], 3, -1)
    update, reset = jax.nn.sigmoid(ix + ih), jax.nn.sigmoid(fx + fh)
    state = update * state + (1 - update) * jnp.tanh(cx + reset * ch)
    return state, state.mean()


def loss(params, sequence, target):
    state, means = jax.lax.scan(lambda s, x: cell(params, s, x), jnp.zeros((batch, width)), sequence)
    return ((state @ params["out"] - target) ** 2).mean() + 0 * means.sum()


@jax.jit
def step(params, key):
    numbers = jax.random.uniform(key, (length, batch))
    marks = jnp.arange(length)[:, None] % 7 == jnp.arange(batch) % 7
    sequence = jnp.stack([numbers, marks.astype(jnp.float32)], -1)
    value, gradient = jax.value_and_grad(loss)(params, sequence, (numbers * marks).sum(0)[:, None])
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradient), value


key = jax.random.key(0)
params, losses = init(key), []
for i in range(30):
    params, value = step(params, jax.random.fold_in(key, i))
    losses.append(float(value))
print(json.dumps({"losses": losses}))
