"""A GPT of letters learns from the text of Python's own manual, on tuff, in less than a minute.

pip install ./frontend/python jax, then `python quickstart.py [SECONDS]`. Nothing here knows of tuff: JAX finds it.
"""
import functools
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from pydoc_data.topics import topics

LAYERS, WIDTH, HEADS, LENGTH, BATCH = 2, 128, 4, 64, 16
text = "\n".join(topics.values())
letters = sorted(set(text))
data = np.array([letters.index(c) for c in text], np.int32)


def init(key):
    def weight(*shape):
        nonlocal key
        key, used = jax.random.split(key)
        return jax.random.normal(used, shape) * shape[0] ** -0.5
    return {"letters": weight(len(letters), WIDTH), "places": weight(LENGTH, WIDTH) * 0.3,
            "blocks": [{"qkv": weight(WIDTH, 3 * WIDTH), "out": weight(WIDTH, WIDTH) * 0.3,
                        "up": weight(WIDTH, 4 * WIDTH), "down": weight(4 * WIDTH, WIDTH) * 0.3} for _ in range(LAYERS)],
            "head": weight(WIDTH, len(letters)) * 0.1}


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def logits_of(params, tokens):
    x = params["letters"][tokens] + params["places"][:tokens.shape[-1]]
    for p in params["blocks"]:
        q, k, v = jnp.split((norm(x) @ p["qkv"]).reshape(*x.shape[:-1], HEADS, -1), 3, -1)
        x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ p["out"]
        x = x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]
    return norm(x) @ params["head"]


def loss(params, tokens):
    likely = jax.nn.log_softmax(logits_of(params, tokens[:, :-1]))
    return -jnp.take_along_axis(likely, tokens[:, 1:, None], -1).mean()


@functools.partial(jax.jit, donate_argnums=(0, 1))
def step(params, moments, tokens, i):
    """One step of Adam."""
    value, gradient = jax.value_and_grad(loss)(params, tokens)
    moments = (jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient),
               jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, moments[1], gradient))
    rate = 1e-3 * jnp.minimum(i / 50, 1)

    def move(p, m, v):
        return p - rate * (m / (1 - 0.9 ** i)) / (jnp.sqrt(v / (1 - 0.99 ** i)) + 1e-8)
    return jax.tree.map(move, params, *moments), moments, value


@jax.jit
def write(params, tokens, key):
    letter = jax.random.categorical(key, logits_of(params, tokens[None])[0, -1] / 0.7)
    return jnp.concatenate([tokens[1:], letter[None]]), letter


def main(seconds):
    print(f"{jax.devices()[0].device_kind}; {len(data)} letters of text")
    generator = np.random.default_rng(0)
    params = init(jax.random.key(0))
    moments = jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
    begin, i = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        i += 1
        places = generator.integers(0, len(data) - LENGTH - 1, BATCH)
        tokens = np.stack([data[p:p + LENGTH + 1] for p in places])
        params, moments, value = step(params, moments, tokens, float(i))
        if i == 1 or i % 50 == 0:
            print(f"{time.perf_counter() - begin:5.1f} s, step {i}: loss {float(value):.3f}")
    tokens = jnp.asarray(data[:LENGTH])
    written = []
    for key in jax.random.split(jax.random.key(1), 120):
        tokens, letter = write(params, tokens, key)
        written.append(letters[int(letter)])
    print("it writes:", "".join(written))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 40)
