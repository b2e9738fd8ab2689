"""A regression by SGD with jax alone."""
import json

import jax
import jax.numpy as jnp


def init(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (m, n)) * (2 / m) ** 0.5, jnp.zeros(n)) for k, m, n in zip(keys, sizes, sizes[1:])]


def predict(params, x):
    for weight, bias in params[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = params[-1]
    return x @ weight + bias


def loss(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


@jax.jit
def step(params, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradient), value


key = jax.random.key(0)
params = init(key, [8, 64, 64, 1])
losses = []
for i in range(100):
    x = jax.random.uniform(jax.random.fold_in(key, i), (32, 8), minval=-1, maxval=1)
    params, value = step(params, x, jnp.sin(3 * x[:, :1]) * x[:, 1:2])
    losses.append(value)
print(json.dumps({"losses": [float(value) for value in losses]}))
