"""The table of workloads: name -> function, weights and inputs, at sizes that can be chosen."""
import dataclasses
import functools
import typing

import jax
import numpy as np
from tuff import Seeded, seeded_integers

from . import bert, blocks, gpt, llama, small, vision
from . import layers as L


@dataclasses.dataclass
class Workload:
    """fn(params, *inputs), a tree of weight specs (`tuff.Seeded`), example inputs, and positions to donate."""
    fn: typing.Callable
    params: typing.Any
    inputs: list
    donate: tuple = ()


def build(name, batch=None, seq=None):
    """The workload `name` for `batch` and `seq` (None: its default; ignored where it has none).

    For gemm, seq is the matrix size, and batch so many times the rows. Raises KeyError for a name that is not in WORKLOADS.
    """
    maker, default_batch, default_seq = WORKLOADS[name]
    return maker(batch or default_batch, seq or default_seq)


def real(name, *shape):
    """An f32 input in [-1, 1)."""
    return np.asarray(Seeded(shape, 1.0, name="input." + name))


def tokens(name, high, *shape):
    """An i32 input in [0, high)."""
    return seeded_integers("input." + name, shape, 0, high)


def padding_mask(b, s):
    """Mask i32 [b, s] of sentences of different lengths: row i has its last i tokens (at most s-1) padded."""
    return (np.arange(s)[None, :] < np.maximum(s - np.arange(b), 1)[:, None]).astype(np.int32)


def make_gemm(b, n):
    return Workload(blocks.gemm, blocks.gemm_params(n), [real("x", b * n, n)])


def make_ffn(d, hidden):
    return lambda b, s: Workload(blocks.ffn, blocks.ffn_params(d, hidden), [real("x", b, s, d)])


def make_mha(d, heads):
    return lambda b, s: Workload(blocks.mha(heads), blocks.mha_params(d), [real("x", b, s, d)])


def make_mlp(*sizes):
    return lambda b, s: Workload(blocks.mlp, blocks.mlp_params(sizes), [real("x", b, sizes[0])])


def make_mlp_train(*sizes, learning_rate, adam=False):
    """seq is not used."""
    def make(b, s):
        params = blocks.mlp_params(sizes)
        step = functools.partial(L.adam_step if adam else L.sgd_step, learning_rate=learning_rate)
        return Workload(blocks.mlp_train(step), L.adam_state(params) if adam else params,
                        [real("x", b, sizes[0]), tokens("labels", sizes[-1], b)], donate=(0,))
    return make


def make_rnn(d, hidden, classes):
    return lambda b, s: Workload(blocks.rnn, blocks.rnn_params(d, hidden, classes), [real("x", b, s, d)])


def make_rnn_train(d, hidden, classes, learning_rate):
    def make(b, s):
        step = functools.partial(L.sgd_step, learning_rate=learning_rate)
        return Workload(blocks.rnn_train(step), blocks.rnn_params(d, hidden, classes),
                        [real("x", b, s, d), tokens("labels", classes, b)], donate=(0,))
    return make


def make_loops(n):
    """batch and seq are not used."""
    return lambda b, s: Workload(blocks.loops, blocks.loops_params(n), [real("x", n), np.int32(6), np.int32(2)])


def make_small(name):
    """batch and seq are not used."""
    def make(b, s):
        fn, inputs = small.PROGRAMS[name]
        values = [real(f"x{i}", *shape) if kind == "f32" else tokens(f"x{i}", *shape)
                  for i, (kind, *shape) in enumerate(inputs)]
        return Workload(lambda params, *x: fn(*x), {}, values)
    return make


def make_bert(layers, d, heads, hidden, vocab, positions):
    return lambda b, s: Workload(bert.bert(layers, heads), bert.bert_params(layers, d, hidden, vocab, positions),
                                 [tokens("ids", vocab, b, s)])


def make_minilm(layers, d, heads, hidden, vocab, positions):
    return lambda b, s: Workload(bert.minilm(layers, heads), bert.bert_params(layers, d, hidden, vocab, positions),
                                 [tokens("ids", vocab, b, s), padding_mask(b, s)])


def make_gpt2(layers, d, heads, vocab, positions):
    return lambda b, s: Workload(gpt.gpt2(heads), gpt.gpt2_params(layers, d, vocab, positions),
                                 [tokens("ids", vocab, b, s)])


def make_gpt2_decode(layers, d, heads, vocab, positions):
    """seq is the cache's length; the step fills position seq/2."""
    def make(b, s):
        shapes = gpt.gpt2_cache(layers, b, s, heads, d // heads)
        cache = [{key: real(f"{key}{i}", *shape) for key, shape in layer.items()} for i, layer in enumerate(shapes)]
        return Workload(gpt.gpt2_decode(heads), gpt.gpt2_params(layers, d, vocab, positions),
                        [tokens("ids", vocab, b), np.int32(s // 2), cache], donate=(3,))
    return make


def make_gpt2_train(layers, d, heads, vocab, positions, learning_rate=1e-3):
    return lambda b, s: Workload(gpt.gpt2_train(heads, learning_rate), gpt.gpt2_params(layers, d, vocab, positions),
                                 [tokens("ids", vocab, b, s), tokens("labels", vocab, b, s)], donate=(0,))


def make_gpt_neo(layers, d, heads, vocab, positions, window, train=None):
    """train: None for the forward pass, else the learning rate of a training step."""
    def make(b, s):
        params, ids = gpt.gpt_neo_params(layers, d, vocab, positions), tokens("ids", vocab, b, s)
        if train:
            return Workload(gpt.gpt_neo_train(heads, window, train), params, [ids, tokens("labels", vocab, b, s)],
                            donate=(0,))
        return Workload(gpt.gpt_neo(heads, window), params, [ids])
    return make


def make_llama(layers, d, heads, kv_heads, hidden, vocab, train=None, activations=llama.BF16):
    """train: None for the forward pass, else the learning rate of a training step; weights are bf16."""
    def make(b, s):
        params = llama.llama_params(layers, d, heads, kv_heads, hidden, vocab)
        ids, sizes = tokens("ids", vocab, b, s), (heads, kv_heads, d // heads)
        if train:
            return Workload(llama.llama_train(*sizes, train, activations), params, [ids, tokens("labels", vocab, b, s)],
                            donate=(0,))
        return Workload(llama.llama(*sizes, activations), params, [ids])
    return make


def make_resnet(stage_blocks, width, height, columns, classes, train=None):
    """train: None for the forward pass, else the learning rate of a training step."""
    def make(b, s):
        params, images = vision.resnet_params(stage_blocks, width, classes), real("images", b, height, columns, 3)
        if train:
            return Workload(vision.resnet_train(train), params, [images, tokens("labels", classes, b)], donate=(0,))
        return Workload(vision.resnet, params, [images])
    return make


def make_vit(layers, d, heads, hidden, patch, size, classes, train=None):
    """train: None for the forward pass, else the learning rate of a training step."""
    def make(b, s):
        params = vision.vit_params(layers, d, hidden, patch, (size // patch) ** 2 + 1, classes)
        images = real("images", b, size, size, 3)
        if train:
            return Workload(vision.vit_train(heads, train), params, [images, tokens("labels", classes, b)], donate=(0,))
        return Workload(vision.vit(heads), params, [images])
    return make


GPT2 = dict(layers=12, d=768, heads=12, vocab=50257, positions=1024)
GPT2_TINY = dict(layers=2, d=36, heads=3, vocab=97, positions=13)
BERT_TINY = dict(layers=2, d=36, heads=3, hidden=53, vocab=101, positions=11)
VIT = dict(layers=12, d=768, heads=12, hidden=3072, patch=16, size=224, classes=1000)
VIT_TINY = dict(layers=2, d=39, heads=3, hidden=53, patch=5, size=15, classes=11)
GPT_NEO = dict(d=2048, heads=16, vocab=50257, positions=2048, window=256)
GPT_NEO_TINY = dict(layers=2, d=36, heads=3, vocab=97, positions=13, window=3)
LLAMA = dict(d=4096, heads=32, kv_heads=8, hidden=14336, vocab=128256)
LLAMA_TINY = dict(layers=2, d=48, heads=6, kv_heads=2, hidden=53, vocab=97)

# name: (maker, default batch, default seq). Tiny sizes are awkward on purpose: odd, prime, no multiple of a tile;
# and tiny training steps take big strides, so that a wrong gradient shows in the updated weights, but still converge.
WORKLOADS = {
    "gemm": (make_gemm, 1, 1024),
    "ffn": (make_ffn(768, 3072), 1, 128),
    "mha": (make_mha(768, 12), 1, 128),
    "mlp": (make_mlp(13, 29, 17, 5), 3, 1),
    "resnet50": (make_resnet((3, 4, 6, 3), 64, 224, 224, 1000), 1, 1),
    "resnet50_train": (make_resnet((3, 4, 6, 3), 64, 224, 224, 1000, train=0.1), 4, 1),
    "bert_base": (make_bert(12, 768, 12, 3072, 30522, 512), 1, 128),
    "minilm": (make_minilm(6, 384, 12, 1536, 30522, 512), 8, 16),
    "gpt2": (make_gpt2(**GPT2), 1, 128),
    "gpt2_decode": (make_gpt2_decode(**GPT2), 1, 1024),
    "gpt2_train": (make_gpt2_train(**GPT2), 1, 128),
    "rnn": (make_rnn(128, 256, 10), 1, 128),
    "vit_b16": (make_vit(**VIT), 1, 1),
    "vit_train": (make_vit(**VIT, train=1e-3), 8, 1),
    "gpt_neo_2layer": (make_gpt_neo(2, **GPT_NEO), 1, 128),
    "gpt_neo_1p3b": (make_gpt_neo(24, **GPT_NEO), 1, 128),
    "gpt_neo_1p3b_train": (make_gpt_neo(24, **GPT_NEO, train=1e-3), 2, 64),
    "llama31_8b": (make_llama(32, **LLAMA), 1, 128),
    "llama31_8b_train": (make_llama(32, **LLAMA, train=1e-3), 1, 512),
    "llama31_8b_f32_train": (make_llama(32, **LLAMA, train=1e-3, activations="float32"), 1, 512),
    "llama31_2layer": (make_llama(2, **LLAMA), 1, 128),
    "llama31_2layer_train": (make_llama(2, **LLAMA, train=1e-3), 1, 512),
    "ffn_tiny": (make_ffn(37, 53), 2, 7),
    "mha_tiny": (make_mha(39, 3), 2, 7),
    "bert_tiny": (make_bert(**BERT_TINY), 2, 7),
    "minilm_tiny": (make_minilm(**BERT_TINY), 3, 7),
    "gpt2_tiny": (make_gpt2(**GPT2_TINY), 2, 7),
    "gpt2_decode_tiny": (make_gpt2_decode(**GPT2_TINY), 2, 11),
    "gpt2_train_tiny": (make_gpt2_train(**GPT2_TINY, learning_rate=0.1), 2, 7),
    "gpt_neo_tiny": (make_gpt_neo(**GPT_NEO_TINY), 2, 7),
    "gpt_neo_train_tiny": (make_gpt_neo(**GPT_NEO_TINY, train=1e-3), 2, 7),
    "llama_tiny": (make_llama(**LLAMA_TINY), 2, 7),
    "llama_f32_train_tiny": (make_llama(**LLAMA_TINY, train=5e-4, activations="float32"), 2, 7),
    "llama_train_tiny": (make_llama(**LLAMA_TINY, train=5e-4), 2, 7),
    "vit_tiny": (make_vit(**VIT_TINY), 2, 1),
    "vit_train_tiny": (make_vit(**VIT_TINY, train=0.1), 3, 1),
    "resnet_tiny": (make_resnet((1, 2), 5, 23, 19, 7), 2, 1),
    "resnet_train_tiny": (make_resnet((1, 2), 5, 23, 19, 7, train=0.1), 5, 1),
    "mlp_train_tiny": (make_mlp_train(13, 29, 17, 5, learning_rate=0.5), 11, 1),
    "mlp_adam_tiny": (make_mlp_train(13, 29, 17, 5, learning_rate=0.01, adam=True), 11, 1),
    "rnn_tiny": (make_rnn(13, 29, 5), 3, 11),
    "rnn_train_tiny": (make_rnn_train(13, 29, 5, learning_rate=0.1), 3, 11),
    "loops_tiny": (make_loops(7), 1, 1),
}

WORKLOADS |= {name: (make_small(name), 1, 1) for name in small.PROGRAMS}

# Models with a sequence length of their own; elsewhere `seq` is ignored or, for gemm, the matrix size.
SEQUENCES = {name for name in WORKLOADS
             if name not in small.PROGRAMS and not name.startswith(("gemm", "mlp", "vit", "resnet"))}
