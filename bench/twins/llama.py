"""LLaMA 3.1 in bf16, with norms, softmax and rotation in f32."""
import torch
import torch.nn.functional as F
from workloads.llama import rope_frequencies

from . import layers as L


def llama(heads, kv_heads):
    def forward(p, tokens):
        s, head_dim = tokens.shape[1], p["blocks"][0]["q"].shape[1] // heads
        angles = torch.arange(s, dtype=torch.float32)[:, None] * torch.from_numpy(rope_frequencies(head_dim))
        cos, sin = angles.cos(), angles.sin()
        x = F.embedding(tokens, p["embed"])
        for block in p["blocks"]:
            y = _rms_norm(x, block["attn_norm"])
            q = _rotate(L.split_heads(y @ block["q"], heads), cos, sin)
            k = _rotate(L.split_heads(y @ block["k"], kv_heads), cos, sin)
            v = L.split_heads(y @ block["v"], kv_heads)
            x = x + L.merge_heads(L.attention(q, k, v, is_causal=True, enable_gqa=True)) @ block["out"]
            y = _rms_norm(x, block["mlp_norm"])
            x = x + (F.silu(y @ block["gate"]) * (y @ block["up"])) @ block["down"]
        return (_rms_norm(x, p["norm"]) @ p["lm_head"]).float()
    return forward


def _rms_norm(x, scale, eps=1e-5):
    y = x.float()
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * scale


def _rotate(x, cos, sin):
    """x [b, heads, s, d]; cos, sin [s, d/2]."""
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)
