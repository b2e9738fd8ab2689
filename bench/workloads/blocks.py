"""Single layers as workloads: matrix product, feed-forward layer, multi-head attention, a small MLP."""
import jax

from . import layers as L


def gemm_params(n):
    """{"w": [n, n]}."""
    return {"w": L.dense(n, n)}


def gemm(params, x):
    """x [n, n] -> [n, n]."""
    return x @ params["w"]


def ffn_params(d, hidden):
    """A transformer's feed-forward layer: d -> hidden -> d."""
    return {"up": L.linear(d, hidden), "down": L.linear(hidden, d)}


def ffn(params, x):
    """x [b, s, d] -> [b, s, d]."""
    return L.apply_linear(params["down"], jax.nn.gelu(L.apply_linear(params["up"], x)))


def mha_params(d):
    """Four matrices d x d with biases: q, k, v, out."""
    return {name: L.linear(d, d) for name in ("q", "k", "v", "out")}


def mha(heads):
    """Self-attention: x [b, s, d] -> [b, s, d]."""
    def forward(params, x):
        q, k, v = (L.split_heads(L.apply_linear(params[n], x), heads) for n in ("q", "k", "v"))
        return L.apply_linear(params["out"], L.merge_heads(L.attention(q, k, v)))
    return forward


def mlp_params(sizes):
    """A list of layers sizes[0] -> sizes[1] -> ..."""
    return {"layers": [L.linear(a, b) for a, b in zip(sizes, sizes[1:])]}


def mlp(params, x):
    """x [b, sizes[0]] -> class probabilities [b, sizes[-1]]."""
    *hidden, last = params["layers"]
    for p in hidden:
        x = jax.nn.relu(L.apply_linear(p, x))
    return jax.nn.softmax(L.apply_linear(last, x))
