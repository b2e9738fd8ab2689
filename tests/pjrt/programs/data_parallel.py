"""Data-parallel training: `python data_parallel.py mlp|vit|gpt2 DEVICES [spread]`, one device the first of those there are.

Each step's batch is spread. Parameters and Adam's moments are on every device, or spread as well. Prints the losses, the
bytes of each device of this process and the exchanges of a step.
"""
import functools
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

kind, count, spread_weights = sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["spread"]
mesh = Mesh(np.array(jax.devices()[:count]), ("batch",))
generator = np.random.default_rng(0)
width, heads, size, patch, classes, batch, steps = 32, 4, 16, 4, 10, 16, 12
vocabulary, tokens = 128, 16


def linear_params(m, n):
    return {"w": generator.normal(size=(m, n), scale=m ** -0.5).astype(np.float32), "b": np.zeros(n, np.float32)}


def normal(scale, *shape):
    return generator.normal(size=shape, scale=scale).astype(np.float32)


def norm_params():
    return {"scale": np.ones(width, np.float32), "shift": np.zeros(width, np.float32)}


def linear(p, x):
    return x @ p["w"] + p["b"]


def norm(p, x):
    return jax.nn.standardize(x, epsilon=1e-6) * p["scale"] + p["shift"]


def attention(p, x, causal):
    q, k, v = jnp.moveaxis(linear(p["qkv"], x).reshape(*x.shape[:2], 3, heads, -1), 2, 0)
    return linear(p["out"], jax.nn.dot_product_attention(q, k, v, is_causal=causal).reshape(x.shape))


def transformer(params, x, causal):
    for p in params["blocks"]:
        x = x + attention(p, norm(p["norm1"], x), causal)
        x = x + linear(p["down"], jax.nn.gelu(linear(p["up"], norm(p["norm2"], x)), approximate=causal))
    return norm(params["norm"], x)


def mlp(params, images):
    x = images.reshape(images.shape[0], -1)
    for layer in params[:-1]:
        x = jax.nn.relu(linear(layer, x))
    return linear(params[-1], x)


def vit(params, images):
    x = jax.lax.conv_general_dilated(images, params["patches"]["w"], (patch, patch), "VALID",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = (x + params["patches"]["b"]).reshape(images.shape[0], -1, width)
    x = jnp.concatenate([jnp.broadcast_to(params["class"], (x.shape[0], 1, width)), x], 1) + params["places"]
    return linear(params["head"], transformer(params, x, False)[:, 0])


def gpt2(params, texts):
    x = params["words"][texts] + params["places"][0]
    return transformer(params, x, True) @ params["words"].T


def init(kind):
    if kind == "mlp":
        return [linear_params(m, n) for m, n in ((size * size * 3, 64), (64, 64), (64, classes))]
    blocks = {
        "blocks": [{"norm1": norm_params(), "qkv": linear_params(width, 3 * width), "out": linear_params(width, width),
                    "norm2": norm_params(), "up": linear_params(width, 4 * width), "down": linear_params(4 * width, width)}
                   for _ in range(2)],
        "norm": norm_params()}
    if kind == "gpt2":
        return blocks | {"words": normal(0.02, vocabulary, width), "places": normal(0.02, 1, tokens, width)}
    return blocks | {
        "patches": {"w": normal(0.1, patch, patch, 3, width), "b": np.zeros(width, np.float32)},
        "class": np.zeros((1, 1, width), np.float32), "places": normal(0.02, 1, (size // patch) ** 2 + 1, width),
        "head": linear_params(width, classes)}


def loss(params, inputs, labels):
    logits = {"mlp": mlp, "vit": vit, "gpt2": gpt2}[kind](params, inputs)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()


optimizer = optax.adam(1e-3) if kind == "gpt2" else optax.sgd(0.05)


@functools.partial(jax.jit, donate_argnums=(0, 1))
def step(params, state, inputs, labels):
    value, gradient = jax.value_and_grad(loss)(params, inputs, labels)
    updates, state = optimizer.update(gradient, state)
    return optax.apply_updates(params, updates), state, value


def place(array):
    """Spread along the first dimension that is a multiple of the devices."""
    if not spread_weights:
        return P()
    for dimension, extent in enumerate(array.shape):
        if extent % count == 0:
            return P(*[None] * dimension, "batch")
    return P()


def batches():
    means = generator.normal(size=(classes, 1, 1, 3))
    for _ in range(steps):
        if kind == "gpt2":
            texts = (generator.integers(0, vocabulary, (batch, 1)) + 3 * np.arange(tokens + 1)) % vocabulary
            yield texts[:, :-1].astype(np.int32), texts[:, 1:].astype(np.int32)
        else:
            labels = generator.integers(0, classes, batch).astype(np.int32)
            yield (means[labels] + generator.normal(size=(batch, size, size, 3))).astype(np.float32), labels


params = init(kind)
state = optimizer.init(params)
params, state = jax.device_put((params, state), jax.tree.map(lambda a: NamedSharding(mesh, place(a)), (params, state)))
losses = []
for inputs, labels in batches():
    inputs, labels = jax.device_put((inputs, labels), NamedSharding(mesh, P("batch")))
    params, state, value = step(params, state, inputs, labels)
    losses.append(float(value))
costs = step.lower(params, state, inputs, labels).compile().cost_analysis() or {}
held = jax.tree.leaves((params, state))
print(json.dumps({
    "losses": losses, "shard": list(inputs.addressable_shards[0].data.shape),
    "bytes": [(device.memory_stats() or {}).get("bytes_in_use", 0) for device in mesh.local_devices],
    "parameters": sum(p.nbytes for p in jax.tree.leaves(params)),
    "held": sum(p.addressable_shards[0].data.nbytes for p in held), "collectives": int(costs.get("collectives", 0)),
    "exchanged": int(costs.get("bytes exchanged", 0))}))
