"""Single layers as workloads: matrix product, feed-forward layer, multi-head attention, a small MLP, an RNN."""
import jax
import jax.numpy as jnp
from jax import lax

from . import layers as L


def gemm_params(n):
    """{"w": [n, n]}."""
    return {"w": L.dense(n, n)}


def gemm(params, x):
    """x [rows, n] -> [rows, n]."""
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
    return jax.nn.softmax(_mlp_logits(params, x))


def mlp_train(step):
    """A training step of the MLP. step: of a loss, as `layers.sgd_step` with its rate; labels i32 [b]."""
    return step(lambda params, inputs, labels: L.cross_entropy(_mlp_logits(params, inputs), labels))


def _mlp_logits(params, x):
    *hidden, last = params["layers"]
    for p in hidden:
        x = jax.nn.relu(L.apply_linear(p, x))
    return L.apply_linear(last, x)


def rnn_params(d, hidden, classes):
    """An Elman cell's two matrices, and the output layer."""
    return {"in": L.linear(d, hidden), "state": L.dense(hidden, hidden), "out": L.linear(hidden, classes)}


def rnn(params, x):
    """x [b, s, d] -> {"logits": [b, classes], "states": [b, s, hidden]}; the steps are a `scan`."""
    def cell(state, x_t):
        state = jnp.tanh(L.apply_linear(params["in"], x_t) + state @ params["state"])
        return state, state
    last, states = lax.scan(cell, jnp.zeros((x.shape[0], params["state"].shape[0])), x.swapaxes(0, 1))
    return {"logits": L.apply_linear(params["out"], last), "states": states.swapaxes(0, 1)}


def rnn_train(step):
    """A training step of the RNN, its gradient a scan backwards. step, labels: as for `mlp_train`."""
    return step(lambda params, inputs, labels: L.cross_entropy(rnn(params, inputs)["logits"], labels))


def loops_params(n):
    """{"a": [n, n], "b": [n]}."""
    return {"a": L.dense(n, n), "b": L.bias(n)}


def loops(params, x, steps, branch):
    """Control flow of every kind. x [n], steps and branch i32 scalars -> a dict of results."""
    def power(state):
        count, v, norm = state
        v = params["a"] @ v
        return count + 1, v / jnp.max(jnp.abs(v)), jnp.max(jnp.abs(v))

    def table(i, rows):
        return rows.at[i].set(rows[(i + steps) % rows.shape[0]] * 0.5 + i)

    def nested(total, i):
        inner = lax.fori_loop(0, i, lambda j, v: v + params["b"] * j, total)
        return lax.cond(inner.sum() > 0, lambda v: v * 0.5, lambda v: params["a"] @ v, inner), inner[::-1]

    count, v, _ = lax.while_loop(lambda s: (s[0] < 40) & (s[2] > 0.05), power, (0, x, jnp.float32(1)))
    total, trace = lax.scan(nested, x, jnp.arange(5))
    return {
        "power": (count, v),
        "table": lax.fori_loop(0, steps, table, jnp.outer(x, x)),
        "nested": (total, trace),
        "scalar": lax.fori_loop(0, 10000, lambda i, s: s * 0.999 + i * 1e-3, x[0]),
        "switch": lax.switch(branch, [jnp.sort, lambda v: v @ params["a"], lambda v: jnp.cumsum(v)], x),
    }
