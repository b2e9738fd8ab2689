"""ResNet (v1.5) and vision transformers, forward and training steps. Images are NHWC."""
import math

import jax
import jax.numpy as jnp
from jax import lax
from tuff import Seeded

from . import layers as L


def resnet_params(blocks, width, classes):
    """A bottleneck ResNet: blocks[i] blocks in stage i, whose inner width is width * 2**i. Kernels are HWIO."""
    params = {"stem": _conv_bn(7, 3, width), "stages": []}
    channels = width
    for i, count in enumerate(blocks):
        inner, stage = width * 2 ** i, []
        for j in range(count):
            block = {"a": _conv_bn(1, channels, inner), "b": _conv_bn(3, inner, inner),
                     "c": _conv_bn(1, inner, 4 * inner, gain=0.3)}
            if j == 0:
                block["project"] = _conv_bn(1, channels, 4 * inner)
            stage.append(block)
            channels = 4 * inner
        params["stages"].append(stage)
    return params | {"head": L.linear(channels, classes)}


def resnet(params, images, norm=None):
    """images [b, h, w, 3] -> logits [b, classes]. norm: of a unit's parameters and its values; None: `stored_norm`."""
    def conv_bn(p, x, stride=1):
        return (norm or stored_norm)(p, conv(p["kernel"], x, stride))

    x = jax.nn.relu(conv_bn(params["stem"], images, stride=2))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)])
    for i, stage in enumerate(params["stages"]):
        for j, p in enumerate(stage):
            stride = 2 if i > 0 and j == 0 else 1
            shortcut = conv_bn(p["project"], x, stride) if "project" in p else x
            y = jax.nn.relu(conv_bn(p["a"], x))
            y = jax.nn.relu(conv_bn(p["b"], y, stride))
            x = jax.nn.relu(conv_bn(p["c"], y) + shortcut)
    return L.apply_linear(params["head"], jnp.mean(x, axis=(1, 2)))


def resnet_train(learning_rate, momentum=0.9):
    """SGD step on softmax cross-entropy, batch norm by the batch's statistics: (params, inputs, labels) -> loss, params."""
    def batch_norm(p, x):
        mean, var = jnp.mean(x, axis=(0, 1, 2)), jnp.var(x, axis=(0, 1, 2))
        out = (x - mean) * lax.rsqrt(var + 1e-5) * p["scale"] + p["bias"]
        p["mean"] = momentum * p["mean"] + (1 - momentum) * mean
        p["var"] = momentum * p["var"] + (1 - momentum) * var
        return out

    def loss_fn(params, inputs, labels):
        updated = jax.tree.map(lambda leaf: leaf, params)  # own dicts, where batch_norm puts the new statistics
        return L.cross_entropy(resnet(updated, inputs, batch_norm), labels), updated

    def step(params, inputs, labels):
        (loss, updated), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, inputs, labels)
        return {"loss": loss, "params": jax.tree.map(lambda p, g: p - learning_rate * g, updated, grads)}
    return step


def conv(kernel, x, stride=1):
    """Convolution with padding (k-1)/2: [b, h, w, c] -> [b, h', w', c']."""
    pad = (kernel.shape[0] - 1) // 2
    return lax.conv_general_dilated(x, kernel, (stride, stride), [(pad, pad)] * 2,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def stored_norm(p, x):
    """Batch norm with stored statistics."""
    return (x - p["mean"]) * lax.rsqrt(p["var"] + 1e-5) * p["scale"] + p["bias"]


def _conv_bn(k, n_in, n_out, gain=1.0):
    return {"kernel": Seeded((k, k, n_in, n_out), math.sqrt(6 / (k * k * n_in))),
            "mean": Seeded((n_out,), 0.1), "var": Seeded((n_out,), 0.3, mean=1.0),
            "scale": Seeded((n_out,), 0.1 * gain, mean=gain), "bias": L.bias(n_out)}


def vit_params(layers, d, hidden, patch, tokens, classes):
    """A vision transformer on tokens-1 patches of patch x patch pixels and a class token."""
    block = {"ln_1": L.norm(d), "qkv": L.linear(d, 3 * d), "out": L.linear(d, d),
             "ln_2": L.norm(d), "up": L.linear(d, hidden), "down": L.linear(hidden, d)}
    return {"patch": {"kernel": Seeded((patch, patch, 3, d), math.sqrt(3 / (3 * patch * patch))), "b": L.bias(d)},
            "cls": L.embedding(1, d), "pos": L.embedding(tokens, d), "blocks": [block for _ in range(layers)],
            "ln_f": L.norm(d), "head": L.linear(d, classes)}


def vit(heads):
    """images [b, h, w, 3] -> logits [b, classes]."""
    def forward(params, images):
        kernel = params["patch"]["kernel"]
        x = lax.conv_general_dilated(images, kernel, kernel.shape[:2], "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        b, rows, columns, d = x.shape
        x = x.reshape(b, rows * columns, d) + params["patch"]["b"]
        cls = jnp.broadcast_to(params["cls"], (b, 1, d))
        x = jnp.concatenate([cls, x], axis=1) + params["pos"]
        for p in params["blocks"]:
            qkv = L.apply_linear(p["qkv"], L.layer_norm(x, **p["ln_1"], eps=1e-6))
            q, k, v = (L.split_heads(part, heads) for part in jnp.split(qkv, 3, axis=-1))
            x = x + L.apply_linear(p["out"], L.merge_heads(L.attention(q, k, v)))
            y = L.apply_linear(p["up"], L.layer_norm(x, **p["ln_2"], eps=1e-6))
            x = x + L.apply_linear(p["down"], jax.nn.gelu(y, approximate=False))
        return L.apply_linear(params["head"], L.layer_norm(x[:, 0], **params["ln_f"], eps=1e-6))
    return forward


def vit_train(heads, learning_rate=1e-3):
    """SGD step on softmax cross-entropy: (params, inputs [b, h, w, 3], labels i32 [b]) -> loss, params."""
    forward = vit(heads)
    return L.sgd_step(lambda params, inputs, labels: L.cross_entropy(forward(params, inputs), labels), learning_rate)
