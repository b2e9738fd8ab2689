"""GPT-2 training steps on a repeating text: `python gpt2_train.py [LAYERS WIDTH HEADS VOCABULARY STEPS]`.

Without arguments it is GPT-2 Small with 2 x 64 tokens.
"""
import functools
import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

layers, width, heads, vocabulary, steps = map(int, sys.argv[1:] or (12, 768, 12, 50257, 4))
generator = np.random.default_rng(0)


def weight(*shape):
    return (0.02 * generator.standard_normal(shape, np.float32)).astype(np.float32)


def norm_params():
    return {"scale": np.ones(width, np.float32), "shift": np.zeros(width, np.float32)}


def linear_params(m, n):
    return {"w": weight(m, n), "b": np.zeros(n, np.float32)}


params = {
    "words": weight(vocabulary, width), "places": weight(1024, width), "norm": norm_params(),
    "blocks": [{"norm1": norm_params(), "qkv": linear_params(width, 3 * width), "out": linear_params(width, width),
                "norm2": norm_params(), "up": linear_params(width, 4 * width), "down": linear_params(4 * width, width)}
               for _ in range(layers)]}


def norm(p, x):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["shift"]


def linear(p, x):
    return x @ p["w"] + p["b"]


def attention(p, x):
    q, k, v = jnp.split(linear(p["qkv"], x).reshape(*x.shape[:2], heads, -1), 3, axis=-1)
    return linear(p["out"], jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape))


def logits_of(params, tokens):
    x = params["words"][tokens] + params["places"][:tokens.shape[1]]
    for p in params["blocks"]:
        x = x + attention(p, norm(p["norm1"], x))
        x = x + linear(p["down"], jax.nn.gelu(linear(p["up"], norm(p["norm2"], x))))
    return norm(params["norm"], x) @ params["words"].T


def loss(params, tokens):
    logits = logits_of(params, tokens[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


optimizer = optax.adamw(1e-3)


@functools.partial(jax.jit, donate_argnums=(0, 1))
def step(params, state, tokens):
    value, gradient = jax.value_and_grad(loss)(params, tokens)
    updates, state = optimizer.update(gradient, state, params)
    return optax.apply_updates(params, updates), state, value


text = np.resize(generator.integers(0, vocabulary, 40), 65 * 2).reshape(2, 65).astype(np.int32)
params = jax.device_put(params)
state = optimizer.init(params)
losses, begin = [], time.perf_counter()
for _ in range(steps):
    params, state, value = step(params, state, text)
    losses.append(float(value))
    print(f"{time.perf_counter() - begin:.2f} s: loss {losses[-1]:.4f}", file=sys.stderr)
print(json.dumps({"losses": losses}))
