"""Single layers."""
import torch
import torch.nn.functional as F

from . import layers as L


def gemm(p, x):
    return x @ p["w"]


def ffn(p, x):
    return L.linear(p["down"], F.gelu(L.linear(p["up"], x), approximate="tanh"))


def mha(heads):
    def forward(p, x):
        q, k, v = (L.split_heads(L.linear(p[n], x), heads) for n in ("q", "k", "v"))
        return L.linear(p["out"], L.merge_heads(L.attention(q, k, v)))
    return forward


def mlp(p, x):
    *hidden, last = p["layers"]
    for layer in hidden:
        x = torch.relu(L.linear(layer, x))
    return torch.softmax(L.linear(last, x), -1)
