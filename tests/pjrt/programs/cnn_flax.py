"""A convolutional network in flax on generated pictures of bars."""
import json

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        for features in (8, 16):
            x = nn.Conv(features, (3, 3))(x)
            x = nn.GroupNorm(num_groups=4)(x)
            x = nn.max_pool(nn.relu(x), (2, 2), strides=(2, 2))
        x = nn.relu(nn.Dense(32)(x.reshape(x.shape[0], -1)))
        x = nn.Dropout(0.1, deterministic=not train)(x)
        return nn.Dense(4)(x)


def pictures(generator, count):
    """Horizontal, vertical and both kinds of diagonal bars, with noise."""
    rows, columns = np.mgrid[0:16, 0:16]
    lines = np.stack([rows, columns, rows + columns, rows - columns])
    labels = generator.integers(0, 4, count)
    phases = generator.integers(0, 4, (count, 1, 1))
    bars = ((lines[labels] + phases) // 2 % 2).astype(np.float32)
    return (bars + generator.normal(size=bars.shape) * 0.3).astype(np.float32)[..., None], labels.astype(np.int32)


net = Net()
images, labels = pictures(np.random.default_rng(0), 40 * 16)
variables = net.init(jax.random.key(1), images[:1], train=False)
state = train_state.TrainState.create(apply_fn=net.apply, params=variables["params"], tx=optax.sgd(0.03, momentum=0.9))


@jax.jit
def step(state, x, y, key):
    def loss(params):
        logits = state.apply_fn({"params": params}, x, train=True, rngs={"dropout": key})
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    value, gradient = jax.value_and_grad(loss)(state.params)
    return state.apply_gradients(grads=gradient), value


losses = []
for i in range(40):
    batch = slice(16 * i, 16 * (i + 1))
    state, value = step(state, images[batch], labels[batch], jax.random.fold_in(jax.random.key(2), i))
    losses.append(float(value))
test_images, test_labels = pictures(np.random.default_rng(1), 128)
accuracy = jnp.mean(net.apply({"params": state.params}, test_images, train=False).argmax(-1) == test_labels)
print(json.dumps({"losses": losses, "parameters": sum(x.size for x in jax.tree.leaves(state.params)),
                  "learned": bool(accuracy > 0.8)}))
