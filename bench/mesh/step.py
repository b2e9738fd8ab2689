"""Training steps of a GPT-2 whose batch is spread over all processes: `step.py COORDINATOR COUNT RANK whole|spread STEPS [FILE]`.

Its weights are on every device, or spread. Each device has the same share of the batch, whatever the number of devices.
Process 0 prints the times of the steps in seconds and the loss, and writes the program that JAX lowers to FILE.
"""
import functools
import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

coordinator, count, rank, weights_over, steps = *sys.argv[1:2], *map(int, sys.argv[2:4]), sys.argv[4], int(sys.argv[5])
if count > 1:
    jax.distributed.initialize(coordinator, count, rank, cluster_detection_method="deactivate")
layers, width, heads, vocabulary, tokens, texts_each = 4, 256, 4, 2048, 64, 8
mesh = Mesh(np.array(jax.devices()), ("batch",))
generator = np.random.default_rng(0)


def weight(*shape):
    return (0.02 * generator.standard_normal(shape)).astype(np.float32)


def init():
    norms = {name: np.ones(width, np.float32) for name in ("norm1", "norm2")}
    blocks = [{"qkv": weight(width, 3 * width), "out": weight(width, width), "up": weight(width, 4 * width),
               "down": weight(4 * width, width), **norms} for _ in range(layers)]
    return {"words": weight(vocabulary, width), "places": weight(tokens, width), "blocks": blocks}


def norm(scale, x):
    return jax.nn.standardize(x, epsilon=1e-5) * scale


def loss(params, texts):
    x = params["words"][texts[:, :-1]] + params["places"]
    for p in params["blocks"]:
        q, k, v = jnp.split((norm(p["norm1"], x) @ p["qkv"]).reshape(*x.shape[:2], heads, -1), 3, axis=-1)
        x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ p["out"]
        x = x + jax.nn.gelu(norm(p["norm2"], x) @ p["up"]) @ p["down"]
    logits = jax.nn.log_softmax(x @ params["words"].T)
    return -jnp.take_along_axis(logits, texts[:, 1:, None], -1).mean()


@functools.partial(jax.jit, donate_argnums=0)
def step(params, texts):
    value, gradient = jax.value_and_grad(loss)(params, texts)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradient), value


def place(array):
    return P("batch") if weights_over == "spread" and array.shape[0] % count == 0 else P()


def put(array, spec):
    return jax.make_array_from_callback(array.shape, NamedSharding(mesh, spec), lambda index: array[index])


params = jax.tree.map(lambda a: put(a, place(a)), init())
texts = put(generator.integers(0, vocabulary, (texts_each * count, tokens + 1)).astype(np.int32), P("batch"))
if rank == 0 and sys.argv[6:]:
    with open(sys.argv[6], "w") as file:
        file.write(step.lower(params, texts).as_text())
times = []
for _ in range(steps):
    begin = time.perf_counter()
    params, value = step(params, texts)
    value.block_until_ready()
    jax.block_until_ready(params)
    times.append(time.perf_counter() - begin)
if rank == 0:
    print(json.dumps({"times": times, "loss": float(value)}))
