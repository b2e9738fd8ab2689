"""The workloads again as torch functions fn(params, *inputs): what the torch peers run, and what ONNX is exported from.

Each takes the weights under the same names and in the same layout as its JAX definition, but for convolution kernels
(OIHW, channels last), and returns its outputs in the module's order.
"""
import re

from . import bert, blocks, gpt, llama, vision

_TWINS = {
    "gemm": blocks.gemm, "ffn": blocks.ffn, "mha": blocks.mha(12), "ffn_tiny": blocks.ffn, "mha_tiny": blocks.mha(3),
    "mlp": blocks.mlp,
    "bert_base": bert.bert(12), "bert_tiny": bert.bert(3), "minilm": bert.minilm(12), "minilm_tiny": bert.minilm(3),
    "gpt2": gpt.gpt2(12), "gpt2_tiny": gpt.gpt2(3),
    "gpt2_decode": gpt.gpt2_decode(12), "gpt2_decode_tiny": gpt.gpt2_decode(3),
    "gpt_neo_2layer": gpt.gpt_neo(16, 256), "gpt_neo_1p3b": gpt.gpt_neo(16, 256), "gpt_neo_tiny": gpt.gpt_neo(3, 3),
    "llama31_2layer": llama.llama(32, 8), "llama31_8b": llama.llama(32, 8), "llama_tiny": llama.llama(6, 2),
    "resnet50": vision.resnet, "resnet_tiny": vision.resnet,
    "vit_b16": vision.vit(12), "vit_tiny": vision.vit(3),
}

# Losses of training steps, and the learning rate.
_TRAINING = {
    "gpt2_train": (gpt.gpt2_loss(12), 1e-3), "gpt2_train_tiny": (gpt.gpt2_loss(3), 0.1),
    "vit_train": (vision.vit_loss(12), 1e-3), "vit_train_tiny": (vision.vit_loss(3), 0.1),
}


def forward(model):
    """The function of a workload that is no training step, or None."""
    return _TWINS.get(model)


def training(model):
    """(loss function, learning rate) of a training step, or None."""
    return _TRAINING.get(model)
