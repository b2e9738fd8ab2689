"""LLaMA 3.1: grouped-query attention, rotary positions, RMS norm, SwiGLU, bf16 weights."""
import math

import jax
import jax.numpy as jnp
import numpy as np
from tuff import Seeded

from . import layers as L

BF16 = "bfloat16"


def llama_params(layers, d, heads, kv_heads, hidden, vocab):
    """LLaMA's weights, all bf16."""
    head_dim = d // heads
    block = {"attn_norm": _scale(d), "q": L.dense(d, heads * head_dim, BF16), "k": L.dense(d, kv_heads * head_dim, BF16),
             "v": L.dense(d, kv_heads * head_dim, BF16), "out": L.dense(heads * head_dim, d, BF16),
             "mlp_norm": _scale(d), "gate": L.dense(d, hidden, BF16), "up": L.dense(d, hidden, BF16),
             "down": L.dense(hidden, d, BF16)}
    return {"embed": L.embedding(vocab, d, BF16), "blocks": [block for _ in range(layers)],
            "norm": _scale(d), "lm_head": L.dense(d, vocab, BF16)}


def llama(heads, kv_heads, head_dim, activations=BF16):
    """tokens i32 [b, s] -> logits f32 [b, s, vocab]; norms, softmax and rotation in f32. With f32 activations, products
    promote the weights."""
    def forward(params, tokens):
        s = tokens.shape[1]
        angles = jnp.arange(s, dtype=jnp.float32)[:, None] * rope_frequencies(head_dim)
        cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
        mask = jnp.tril(jnp.ones((s, s), bool))
        x = params["embed"][tokens].astype(activations)
        for p in params["blocks"]:
            y = rms_norm(x, p["attn_norm"])
            q = rotate(L.split_heads(y @ p["q"], heads), cos, sin)
            k = rotate(L.split_heads(y @ p["k"], kv_heads), cos, sin)
            v = L.split_heads(y @ p["v"], kv_heads)
            x = x + L.merge_heads(grouped_attention(q, k, v, mask)) @ p["out"]
            y = rms_norm(x, p["mlp_norm"])
            x = x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]
        return (rms_norm(x, params["norm"]) @ params["lm_head"]).astype(jnp.float32)
    return forward


def llama_train(heads, kv_heads, head_dim, learning_rate=1e-3, activations=BF16):
    """SGD step on next-token cross-entropy: (params, inputs i32 [b, s], labels i32 [b, s]) -> loss, params."""
    forward = llama(heads, kv_heads, head_dim, activations)
    return L.sgd_step(lambda params, inputs, labels: L.cross_entropy(forward(params, inputs), labels), learning_rate)


def grouped_attention(q, k, v, mask):
    """q [b, s, h, d]; k, v [b, t, g, d] with h a multiple of g: h/g query heads share one key head."""
    b, s, h, d = q.shape
    q = q.reshape(b, s, k.shape[2], h // k.shape[2], d)
    scores = jnp.einsum("bsgrd,btgd->bgrst", q, k).astype(jnp.float32) / math.sqrt(d)
    probs = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1).astype(v.dtype)
    return jnp.einsum("bgrst,btgd->bsgrd", probs, v).reshape(b, s, h, d)


def rms_norm(x, scale, eps=1e-5):
    """Divides x [..., d] by its root mean square, in f32."""
    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + eps)
    return y.astype(x.dtype) * scale


def rotate(x, cos, sin):
    """Rotary positions on x [b, s, heads, d]: halves (a, b) turn by an angle; cos, sin [s, 1, d/2]."""
    a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1).astype(x.dtype)


def rope_frequencies(head_dim, theta=500000.0, factor=8.0, low=1.0, high=4.0, original=8192):
    """LLaMA 3.1's rotation frequencies [head_dim/2]: long wavelengths slowed down by `factor`, with a ramp."""
    frequency = theta ** -(np.arange(0, head_dim, 2) / head_dim)
    turns = original * frequency / (2 * math.pi)
    ramp = np.clip((turns - low) / (high - low), 0, 1)
    return (frequency * (ramp + (1 - ramp) / factor)).astype(np.float32)


def _scale(d):
    return Seeded((d,), 0.1, mean=1.0, dtype=BF16)
