"""Pieces shared by the models: weight specs, layer norm, attention.

Weight specs are `tuff.Seeded`: shapes with a range, whose values follow from their name.
"""
import math

import jax
import jax.numpy as jnp
from tuff import Seeded


def dense(n_in, n_out, dtype="float32"):
    """Spec of a matrix [n_in, n_out] that keeps the variance of what it multiplies."""
    return Seeded((n_in, n_out), math.sqrt(3 / n_in), dtype=dtype)


def linear(n_in, n_out):
    """Specs of a matrix with bias: {"w": [n_in, n_out], "b": [n_out]}."""
    return {"w": dense(n_in, n_out), "b": bias(n_out)}


def bias(n):
    """Spec of a bias [n]."""
    return Seeded((n,), 0.05)


def norm(n):
    """Specs of a layer norm over n features: {"scale": [n], "bias": [n]}."""
    return {"scale": Seeded((n,), 0.1, mean=1.0), "bias": bias(n)}


def embedding(count, d, dtype="float32"):
    """Spec of a table [count, d]."""
    return Seeded((count, d), 0.05, dtype=dtype)


def apply_linear(p, x):
    """x [..., n_in] -> [..., n_out]."""
    return x @ p["w"] + p["b"]


def layer_norm(x, scale, bias, eps=1e-5):
    """Normalises the last axis of x; scale and bias [d]."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + eps) * scale + bias


def attention(q, k, v, mask=None, scale=None):
    """Softmax attention. q [b, s, h, d]; k, v [b, t, h, d]; mask: bool, broadcast to [b, h, s, t] -> [b, s, h, d]."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = jnp.einsum("bshd,bthd->bhst", q, k) * scale
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.finfo(scores.dtype).min)
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores, axis=-1), v)


def split_heads(x, heads):
    """[b, s, heads*d] -> [b, s, heads, d]."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)


def merge_heads(x):
    """[b, s, heads, d] -> [b, s, heads*d]."""
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def cross_entropy(logits, labels):
    """Mean softmax cross-entropy. logits [..., classes], labels [...] int -> scalar."""
    logp = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.mean(jnp.take_along_axis(logp, labels[..., None], axis=-1))


def sgd_step(loss_fn, learning_rate):
    """A training step: (params, *batch) -> {"loss": scalar, "params": updated tree}."""
    def step(params, inputs, labels):
        loss, grads = jax.value_and_grad(loss_fn)(params, inputs, labels)
        return {"loss": loss, "params": jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)}
    return step


def adam_state(params):
    """Specs of what Adam carries: {"weights", "m", "v": trees like `params`, "steps": f32 scalar}, the last three zero."""
    zeros = jax.tree.map(lambda p: Seeded(p.shape, 0.0), params, is_leaf=lambda p: isinstance(p, Seeded))
    return {"weights": params, "m": zeros, "v": zeros, "steps": Seeded((), 0.0)}


def adam_step(loss_fn, learning_rate, b1=0.9, b2=0.999, eps=1e-8):
    """A training step: (state of `adam_state`, *batch) -> {"loss": scalar, "params": updated state}."""
    def step(params, inputs, labels):
        loss, grads = jax.value_and_grad(loss_fn)(params["weights"], inputs, labels)
        steps = params["steps"] + 1
        m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, params["m"], grads)
        v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, params["v"], grads)
        rate = learning_rate * jnp.sqrt(1 - b2 ** steps) / (1 - b1 ** steps)
        weights = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + eps), params["weights"], m, v)
        return {"loss": loss, "params": {"weights": weights, "m": m, "v": v, "steps": steps}}
    return step
