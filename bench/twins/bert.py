"""BERT-Base and MiniLM; weights as in the published checkpoints."""
import torch
import torch.nn.functional as F

from . import layers as L

EPS = 1e-12


def bert(heads):
    def forward(p, ids):
        return _encode(p, ids, None, heads)
    return forward


def minilm(heads):
    def forward(p, ids, attention_mask):
        hidden = _encode(p, ids, attention_mask[:, None, None, :] != 0, heads)
        weight = attention_mask.to(hidden.dtype)[:, :, None]
        pooled = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return F.normalize(pooled, dim=-1, eps=1e-12), hidden, pooled
    return forward


def _encode(p, ids, mask, heads):
    e = p["embeddings"]
    x = (F.embedding(ids, e["word_embeddings"]["weight"]) + e["position_embeddings"]["weight"][:ids.shape[1]]
         + e["token_type_embeddings"]["weight"][0])
    x = _norm(e["LayerNorm"], x)
    for layer in p["encoder"]["layer"]:
        at = layer["attention"]
        q, k, v = (L.split_heads(_linear(at["self"][n], x), heads) for n in ("query", "key", "value"))
        y = _linear(at["output"]["dense"], L.merge_heads(L.attention(q, k, v, attn_mask=mask)))
        x = _norm(at["output"]["LayerNorm"], x + y)
        y = _linear(layer["output"]["dense"], F.gelu(_linear(layer["intermediate"]["dense"], x)))
        x = _norm(layer["output"]["LayerNorm"], x + y)
    return x


def _linear(p, x):
    return F.linear(x, p["weight"], p["bias"])


def _norm(p, x):
    return F.layer_norm(x, x.shape[-1:], p["weight"], p["bias"], EPS)
