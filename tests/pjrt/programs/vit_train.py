"""A vision transformer learns to classify: `python vit_train.py [DEPTH WIDTH HEADS SIZE STEPS]`.

ViT-B/16 is 12 768 12 224; the batch is 4, SGD with 1e-3, softmax cross-entropy.
"""
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

depth, width, heads, size, steps = map(int, sys.argv[1:] or (2, 96, 4, 64, 50))
patch, classes, batch = 16, 10, 4
places = (size // patch) ** 2 + 1
generator = np.random.default_rng(0)


def linear_params(m, n):
    return {"w": generator.normal(size=(m, n), scale=m ** -0.5).astype(np.float32), "b": np.zeros(n, np.float32)}


def norm_params():
    return {"scale": np.ones(width, np.float32), "shift": np.zeros(width, np.float32)}


params = {
    "patches": {"w": generator.normal(size=(patch, patch, 3, width), scale=0.03).astype(np.float32),
                "b": np.zeros(width, np.float32)},
    "class": np.zeros((1, 1, width), np.float32),
    "places": generator.normal(size=(1, places, width), scale=0.02).astype(np.float32),
    "blocks": [{"norm1": norm_params(), "qkv": linear_params(width, 3 * width), "out": linear_params(width, width),
                "norm2": norm_params(), "up": linear_params(width, 4 * width), "down": linear_params(4 * width, width)}
               for _ in range(depth)],
    "norm": norm_params(), "head": linear_params(width, classes)}


def norm(p, x):
    return jax.nn.standardize(x, epsilon=1e-6) * p["scale"] + p["shift"]


def linear(p, x):
    return x @ p["w"] + p["b"]


def attention(p, x):
    q, k, v = jnp.moveaxis(linear(p["qkv"], x).reshape(*x.shape[:2], 3, heads, -1), 2, 0)
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // heads) ** -0.5)
    return linear(p["out"], jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape))


def logits_of(params, images):
    p = params["patches"]
    x = jax.lax.conv_general_dilated(images, p["w"], (patch, patch), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = (x + p["b"]).reshape(images.shape[0], -1, width)
    x = jnp.concatenate([jnp.broadcast_to(params["class"], (x.shape[0], 1, width)), x], 1) + params["places"]
    for p in params["blocks"]:
        x = x + attention(p, norm(p["norm1"], x))
        x = x + linear(p["down"], jax.nn.gelu(linear(p["up"], norm(p["norm2"], x)), approximate=False))
    return linear(params["head"], norm(params["norm"], x)[:, 0])


def loss(params, images, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits_of(params, images)), labels[:, None], -1).mean()


@jax.jit
def step(params, images, labels):
    value, gradient = jax.value_and_grad(loss)(params, images, labels)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradient), value


means = generator.normal(size=(classes, 1, 1, 3))
losses = []
for _ in range(steps):
    labels = generator.integers(0, classes, batch)
    images = (means[labels] + generator.normal(size=(batch, size, size, 3))).astype(np.float32)
    params, value = step(params, images, labels.astype(np.int32))
    losses.append(float(value))
print(json.dumps({"losses": losses}))
