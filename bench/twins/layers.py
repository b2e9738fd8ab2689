"""Pieces shared by the twins."""
import torch.nn.functional as F


def linear(p, x):
    """x [..., n_in] -> [..., n_out]; p["w"] is [n_in, n_out], as in JAX."""
    return F.linear(x, p["w"].T, p["b"])


def layer_norm(p, x, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], p["scale"], p["bias"], eps)


def split_heads(x, heads):
    """[b, s, heads*d] -> [b, heads, s, d]."""
    return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def merge_heads(x):
    """[b, heads, s, d] -> [b, s, heads*d]."""
    return x.transpose(1, 2).flatten(2)


def attention(q, k, v, **options):
    """[b, heads, s, d] each."""
    return F.scaled_dot_product_attention(q, k, v, **options)
