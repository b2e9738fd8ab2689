"""A small GPT writes: one token at a time with a KV cache that is donated, greedily and by drawing."""
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np

layers, width, heads, vocabulary, length = 2, 64, 4, 97, 32
generator = np.random.default_rng(3)


def weight(*shape):
    return (generator.standard_normal(shape) * shape[0] ** -0.5).astype(np.float32)


params = jax.device_put({
    "words": weight(vocabulary, width) * 3, "places": weight(length, width),
    "blocks": [{"qkv": weight(width, 3 * width), "out": weight(width, width), "up": weight(width, 4 * width),
                "down": weight(4 * width, width)} for _ in range(layers)]})


def norm(x):
    return (x - x.mean()) * jax.lax.rsqrt(x.var() + 1e-5)


@functools.partial(jax.jit, donate_argnums=1)
def next_logits(params, cache, token, position):
    x = params["words"][token] + params["places"][position]
    seen = jnp.arange(length) <= position
    keys, values = [], []
    for p, past_keys, past_values in zip(params["blocks"], *cache):
        q, k, v = (norm(x) @ p["qkv"]).reshape(3, heads, -1)
        past_keys = jax.lax.dynamic_update_index_in_dim(past_keys, k, position, 0)
        past_values = jax.lax.dynamic_update_index_in_dim(past_values, v, position, 0)
        scores = jnp.where(seen, jnp.einsum("hd,thd->ht", q, past_keys) * q.shape[-1] ** -0.5, -jnp.inf)
        x = x + jnp.einsum("ht,thd->hd", jax.nn.softmax(scores), past_values).ravel() @ p["out"]
        x = x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]
        keys.append(past_keys)
        values.append(past_values)
    return norm(x) @ params["words"].T, (keys, values)


def write(choose):
    empty = [jnp.zeros((length, heads, width // heads)) for _ in range(2 * layers)]
    cache, tokens = (empty[:layers], empty[layers:]), [11]
    for position in range(length - 1):
        logits, cache = next_logits(params, cache, tokens[-1], position)
        tokens.append(int(choose(logits, position)))
    return tokens, logits


key = jax.random.key(0)
greedy, logits = write(lambda logits, position: jnp.argmax(logits))
drawn, _ = write(lambda logits, position: jax.random.categorical(jax.random.fold_in(key, position), logits / 0.8))
top = jax.lax.top_k(logits, 5)
print(json.dumps({"greedy": greedy, "drawn": drawn, "top": np.asarray(top[1]).tolist(),
                  "values": np.asarray(top[0]).tolist()}))
