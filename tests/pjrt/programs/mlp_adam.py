"""A classifier by optax's Adam; the parameters and the optimizer's state are donated."""
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import optax

generator = np.random.default_rng(0)
centres = generator.normal(size=(10, 32)).astype(np.float32)
labels = generator.integers(0, 10, 4096)
points = (centres[labels] + generator.normal(size=(4096, 32)) * 0.7).astype(np.float32)
params = {"hidden": {"w": generator.normal(size=(32, 64)).astype(np.float32) * 0.2, "b": np.zeros(64, np.float32)},
          "out": {"w": generator.normal(size=(64, 10)).astype(np.float32) * 0.2, "b": np.zeros(10, np.float32)}}
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-2, 60)))


def loss(params, x, y):
    hidden = jax.nn.gelu(x @ params["hidden"]["w"] + params["hidden"]["b"])
    logits = hidden @ params["out"]["w"] + params["out"]["b"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), (logits.argmax(-1) == y).mean()


@functools.partial(jax.jit, donate_argnums=(0, 1))
def step(params, state, x, y):
    (value, accuracy), gradient = jax.value_and_grad(loss, has_aux=True)(params, x, y)
    updates, state = optimizer.update(gradient, state, params)
    return optax.apply_updates(params, updates), state, value, accuracy


params = jax.tree.map(jnp.asarray, params)
state = optimizer.init(params)
losses, accuracies = [], []
for i in range(60):
    batch = slice(64 * i, 64 * (i + 1))
    params, state, value, accuracy = step(params, state, points[batch], labels[batch].astype(np.int32))
    losses.append(float(value))
    accuracies.append(float(accuracy))
print(json.dumps({"losses": losses, "last_accuracy": np.mean(accuracies[-10:])}))
