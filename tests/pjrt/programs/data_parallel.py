"""Data-parallel training: `python data_parallel.py mlp|vit DEVICES`, one device the first of those there are.

Parameters are on every device, each step's batch is spread; prints the losses, the bytes of each device of this process
and the exchanges of a step.
"""
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

kind, count = sys.argv[1], int(sys.argv[2])
mesh = Mesh(np.array(jax.devices()[:count]), ("batch",))
generator = np.random.default_rng(0)
width, heads, size, patch, classes, batch, steps = 32, 4, 16, 4, 10, 16, 12


def linear_params(m, n):
    return {"w": generator.normal(size=(m, n), scale=m ** -0.5).astype(np.float32), "b": np.zeros(n, np.float32)}


def norm_params():
    return {"scale": np.ones(width, np.float32), "shift": np.zeros(width, np.float32)}


def linear(p, x):
    return x @ p["w"] + p["b"]


def norm(p, x):
    return jax.nn.standardize(x, epsilon=1e-6) * p["scale"] + p["shift"]


def attention(p, x):
    q, k, v = jnp.moveaxis(linear(p["qkv"], x).reshape(*x.shape[:2], 3, heads, -1), 2, 0)
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // heads) ** -0.5)
    return linear(p["out"], jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape))


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
    for p in params["blocks"]:
        x = x + attention(p, norm(p["norm1"], x))
        x = x + linear(p["down"], jax.nn.gelu(linear(p["up"], norm(p["norm2"], x)), approximate=False))
    return linear(params["head"], norm(params["norm"], x)[:, 0])


def init(kind):
    if kind == "mlp":
        return [linear_params(m, n) for m, n in ((size * size * 3, 64), (64, 64), (64, classes))]
    return {
        "patches": {"w": generator.normal(size=(patch, patch, 3, width), scale=0.1).astype(np.float32),
                    "b": np.zeros(width, np.float32)},
        "class": np.zeros((1, 1, width), np.float32),
        "places": generator.normal(size=(1, (size // patch) ** 2 + 1, width), scale=0.02).astype(np.float32),
        "blocks": [{"norm1": norm_params(), "qkv": linear_params(width, 3 * width), "out": linear_params(width, width),
                    "norm2": norm_params(), "up": linear_params(width, 4 * width), "down": linear_params(4 * width, width)}
                   for _ in range(2)],
        "norm": norm_params(), "head": linear_params(width, classes)}


def loss(params, images, labels):
    logits = {"mlp": mlp, "vit": vit}[kind](params, images)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1).mean()


@jax.jit
def step(params, images, labels):
    value, gradient = jax.value_and_grad(loss)(params, images, labels)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradient), value


everywhere, spread = NamedSharding(mesh, P()), NamedSharding(mesh, P("batch"))
params = jax.device_put(init(kind), everywhere)
means = generator.normal(size=(classes, 1, 1, 3))
losses = []
for _ in range(steps):
    labels = generator.integers(0, classes, batch).astype(np.int32)
    images = (means[labels] + generator.normal(size=(batch, size, size, 3))).astype(np.float32)
    images, labels = jax.device_put((images, labels), spread)
    params, value = step(params, images, labels)
    losses.append(float(value))
costs = step.lower(params, images, labels).compile().cost_analysis() or {}
print(json.dumps({
    "losses": losses, "shard": list(images.addressable_shards[0].data.shape),
    "bytes": [(device.memory_stats() or {}).get("bytes_in_use", 0) for device in mesh.local_devices],
    "parameters": sum(p.nbytes for p in jax.tree.leaves(params)), "collectives": int(costs.get("collectives", 0)),
    "exchanged": int(costs.get("bytes exchanged", 0))}))
