"""LLaMA's training step over a mesh, as `tuff plan --mesh` takes it: `python -m workloads.spread llama31_8b|llama_70b FILE`.

    --mesh DATAxMODEL    devices along the two axes (8x8); `tuff plan --mesh` takes others as well
    --batch B --seq S    texts and their tokens (64, 2048)
    --layers N           so many of its layers

The batch is spread over "data". So are the weights, and over "model" the heads and the hidden features. Neither devices nor
memory for weights are needed.
"""
import argparse

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

from . import llama

SIZES = {  # layers, width, heads, heads of keys, hidden features, vocabulary
    "llama31_8b": (32, 4096, 32, 8, 14336, 128256),
    "llama_70b": (80, 8192, 64, 8, 28672, 128256),
}
OVER = {"embed": P("model", "data"), "lm_head": P("data", "model"), "out": P("model", "data"), "down": P("model", "data"),
        "q": P("data", "model"), "k": P("data", "model"), "v": P("data", "model"), "gate": P("data", "model"),
        "up": P("data", "model")}


def main():
    parser = argparse.ArgumentParser(prog="python -m workloads.spread")
    parser.add_argument("model", choices=SIZES)
    parser.add_argument("file")
    parser.add_argument("--mesh", default="8x8")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seq", type=int, default=2048)
    parser.add_argument("--layers", type=int)
    options = parser.parse_args()
    mesh = AbstractMesh(tuple(map(int, options.mesh.split("x"))), ("data", "model"))
    layers, d, heads, kv_heads, hidden, vocabulary = SIZES[options.model]
    params = llama.llama_params(options.layers or layers, d, heads, kv_heads, hidden, vocabulary)

    def abstract(shape, dtype, over):
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, over))

    weights = jax.tree_util.tree_map_with_path(
        lambda path, w: abstract(w.shape, w.dtype, OVER.get(path[-1].key, P())), params, is_leaf=lambda w: hasattr(w, "shape"))
    tokens = abstract((options.batch, options.seq), jnp.int32, P("data"))
    step = jax.jit(llama.llama_train(heads, kv_heads, d // heads), donate_argnums=0)
    with open(options.file, "w") as file:
        file.write(step.trace(weights, tokens, tokens).lower(lowering_platforms=("cpu",)).as_text())


if __name__ == "__main__":
    main()
