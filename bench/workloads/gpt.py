"""Decoders with learned positions: GPT-2 (forward, one decode step, training step) and GPT-Neo (forward, training step)."""
import jax
import jax.numpy as jnp

from . import layers as L


def gpt2_params(layers, d, vocab, positions):
    """GPT-2's weights; the embedding `wte` is also the output matrix."""
    block = {"ln_1": L.norm(d), "attn": {"qkv": L.linear(d, 3 * d), "out": L.linear(d, d)},
             "ln_2": L.norm(d), "mlp": {"up": L.linear(d, 4 * d), "down": L.linear(4 * d, d)}}
    return {"wte": L.embedding(vocab, d), "wpe": L.embedding(positions, d),
            "blocks": [block for _ in range(layers)], "ln_f": L.norm(d)}


def gpt2(heads):
    """tokens i32 [b, s] -> logits [b, s, vocab]."""
    def forward(params, tokens):
        s = tokens.shape[1]
        mask = jnp.tril(jnp.ones((s, s), bool))
        x = params["wte"][tokens] + params["wpe"][:s]
        for p in params["blocks"]:
            q, k, v = _qkv(p, x, heads)
            x = x + L.apply_linear(p["attn"]["out"], L.merge_heads(L.attention(q, k, v, mask)))
            x = x + _mlp(p, x)
        return L.layer_norm(x, **params["ln_f"]) @ params["wte"].T
    return forward


def gpt2_cache(layers, batch, length, heads, head_dim):
    """Shapes of a KV cache: per layer {"k", "v"}, each [batch, length, heads, head_dim]."""
    shape = (batch, length, heads, head_dim)
    return [{"k": shape, "v": shape} for _ in range(layers)]


def gpt2_decode(heads):
    """One token further, with a cache of a fixed length.

    tokens i32 [b], position i32 scalar (tokens before it are in the cache) ->
    {"cache": the same shapes, one position filled in, "logits": [b, vocab]}.
    """
    def forward(params, tokens, position, cache):
        mask = jnp.arange(cache[0]["k"].shape[1]) <= position
        x = (params["wte"][tokens] + params["wpe"][position])[:, None, :]
        updated = []
        for p, past in zip(params["blocks"], cache):
            q, k, v = _qkv(p, x, heads)
            k = jax.lax.dynamic_update_slice_in_dim(past["k"], k, position, axis=1)
            v = jax.lax.dynamic_update_slice_in_dim(past["v"], v, position, axis=1)
            updated.append({"k": k, "v": v})
            x = x + L.apply_linear(p["attn"]["out"], L.merge_heads(L.attention(q, k, v, mask)))
            x = x + _mlp(p, x)
        return {"cache": updated, "logits": L.layer_norm(x[:, 0], **params["ln_f"]) @ params["wte"].T}
    return forward


def gpt2_train(heads, learning_rate=1e-3):
    """SGD step on next-token cross-entropy: (params, inputs i32 [b, s], labels i32 [b, s]) -> loss, params."""
    forward = gpt2(heads)
    return L.sgd_step(lambda params, inputs, labels: L.cross_entropy(forward(params, inputs), labels), learning_rate)


def _qkv(p, x, heads):
    qkv = L.apply_linear(p["attn"]["qkv"], L.layer_norm(x, **p["ln_1"]))
    return (L.split_heads(part, heads) for part in jnp.split(qkv, 3, axis=-1))


def _mlp(p, x):
    hidden = jax.nn.gelu(L.apply_linear(p["mlp"]["up"], L.layer_norm(x, **p["ln_2"])))
    return L.apply_linear(p["mlp"]["down"], hidden)


def gpt_neo_params(layers, d, vocab, positions):
    """GPT-Neo's weights: as GPT-2's, with separate q, k, v that have no bias."""
    block = {"ln_1": L.norm(d), "q": L.dense(d, d), "k": L.dense(d, d), "v": L.dense(d, d), "out": L.linear(d, d),
             "ln_2": L.norm(d), "mlp": {"up": L.linear(d, 4 * d), "down": L.linear(4 * d, d)}}
    return {"wte": L.embedding(vocab, d), "wpe": L.embedding(positions, d),
            "blocks": [block for _ in range(layers)], "ln_f": L.norm(d)}


def gpt_neo(heads, window):
    """tokens i32 [b, s] -> logits [b, s, vocab]. Odd layers see the last `window` tokens only; no score scaling."""
    def forward(params, tokens):
        s = tokens.shape[1]
        causal = jnp.tril(jnp.ones((s, s), bool))
        local = causal & ~jnp.tril(causal, -window)
        x = params["wte"][tokens] + params["wpe"][:s]
        for i, p in enumerate(params["blocks"]):
            y = L.layer_norm(x, **p["ln_1"])
            q, k, v = (L.split_heads(y @ p[n], heads) for n in ("q", "k", "v"))
            y = L.attention(q, k, v, local if i % 2 else causal, scale=1.0)
            x = x + L.apply_linear(p["out"], L.merge_heads(y))
            x = x + _mlp(p, x)
        return L.layer_norm(x, **params["ln_f"]) @ params["wte"].T
    return forward


def gpt_neo_train(heads, window, learning_rate=1e-3):
    """SGD step on next-token cross-entropy: (params, inputs i32 [b, s], labels i32 [b, s]) -> loss, params."""
    forward = gpt_neo(heads, window)
    return L.sgd_step(lambda params, inputs, labels: L.cross_entropy(forward(params, inputs), labels), learning_rate)
