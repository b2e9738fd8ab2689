"""BERT encoders: BERT-Base and MiniLM (sentence embeddings).

Weights carry the names and the layout of the published checkpoints (matrices [out, in]), so that a downloaded
safetensors file can be used as it is.
"""
import math

import jax
import jax.numpy as jnp
from tuff import Seeded

from . import layers as L

EPS = 1e-12


def bert_params(layers, d, hidden, vocab, positions):
    """{checkpoint name: spec} of an encoder with `layers` layers of width d and feed-forward width `hidden`."""
    params = {"embeddings.word_embeddings.weight": L.embedding(vocab, d),
              "embeddings.position_embeddings.weight": L.embedding(positions, d),
              "embeddings.token_type_embeddings.weight": L.embedding(2, d),
              **_norm("embeddings.LayerNorm", d)}
    for i in range(layers):
        at = f"encoder.layer.{i}."
        for name in ("query", "key", "value"):
            params |= _dense(at + "attention.self." + name, d, d)
        params |= _dense(at + "attention.output.dense", d, d) | _norm(at + "attention.output.LayerNorm", d)
        params |= _dense(at + "intermediate.dense", d, hidden)
        params |= _dense(at + "output.dense", hidden, d) | _norm(at + "output.LayerNorm", d)
    return params


def bert(layers, heads):
    """Encoder: input_ids i32 [b, s] -> last hidden state [b, s, d]. All tokens count (no mask), token type 0."""
    def forward(params, input_ids):
        return encode(params, input_ids, None, layers, heads)
    return forward


def minilm(layers, heads):
    """Sentence embeddings, as sentence-transformers computes them.

    input_ids, attention_mask i32 [b, s] (mask 1 = token, 0 = padding) -> embedding [b, d] of length 1,
    last_hidden_state [b, s, d], pooled [b, d] (the mean over tokens that the embedding normalises).
    """
    def forward(params, input_ids, attention_mask):
        hidden = encode(params, input_ids, attention_mask, layers, heads)
        weight = attention_mask.astype(hidden.dtype)[:, :, None]
        pooled = jnp.sum(hidden * weight, axis=1) / jnp.maximum(jnp.sum(weight, axis=1), 1e-9)
        length = jnp.linalg.norm(pooled, axis=-1, keepdims=True)
        return {"embedding": pooled / jnp.maximum(length, 1e-12), "last_hidden_state": hidden, "pooled": pooled}
    return forward


def encode(params, input_ids, attention_mask, layers, heads):
    """The encoder itself; attention_mask may be None."""
    x = (params["embeddings.word_embeddings.weight"][input_ids]
         + params["embeddings.position_embeddings.weight"][:input_ids.shape[1]]
         + params["embeddings.token_type_embeddings.weight"][0])
    x = _layer_norm(params, "embeddings.LayerNorm", x)
    mask = None if attention_mask is None else attention_mask[:, None, None, :] != 0
    for i in range(layers):
        at = f"encoder.layer.{i}."
        y = _linear(params, at + "attention.output.dense", _attend(params, at + "attention.self.", x, mask, heads))
        x = _layer_norm(params, at + "attention.output.LayerNorm", x + y)
        y = jax.nn.gelu(_linear(params, at + "intermediate.dense", x), approximate=False)
        x = _layer_norm(params, at + "output.LayerNorm", x + _linear(params, at + "output.dense", y))
    return x


def _attend(params, at, x, mask, heads):
    b, s, d = x.shape
    q, k, v = (_linear(params, at + n, x).reshape(b, s, heads, d // heads).transpose(0, 2, 1, 3)
               for n in ("query", "key", "value"))
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(d // heads)
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.finfo(scores.dtype).min)
    return (jax.nn.softmax(scores, axis=-1) @ v).transpose(0, 2, 1, 3).reshape(b, s, d)


def _linear(params, at, x):
    return x @ params[at + ".weight"].T + params[at + ".bias"]


def _layer_norm(params, at, x):
    return L.layer_norm(x, params[at + ".weight"], params[at + ".bias"], EPS)


def _dense(at, n_in, n_out):
    return {at + ".weight": Seeded((n_out, n_in), math.sqrt(3 / n_in)), at + ".bias": L.bias(n_out)}


def _norm(at, d):
    return {at + ".weight": Seeded((d,), 0.1, mean=1.0), at + ".bias": L.bias(d)}
