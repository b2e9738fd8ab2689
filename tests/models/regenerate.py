"""Writes the toy bundles of this folder anew from bench/workloads; needs JAX. `python regenerate.py [NAME...]`

Weights are not written: signature.json says how to compute them (`python -m tuff weights DIR` makes the file).
Training steps get expected/losses.npy: the losses of STEPS steps in a row, each on the weights of the one before.
"""
import pathlib
import sys

import jax
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "bench"), str(HERE.parents[1] / "frontend" / "python")]

import tuff  # noqa: E402
from workloads import registry  # noqa: E402

STEPS = 20
TOYS = ["mlp"] + [name for name in registry.WORKLOADS if name.endswith("_tiny")]


def losses(toy, names):
    """f32 [STEPS]; names: of the weights, in the order of the tree's leaves."""
    leaves, tree = jax.tree.flatten(toy.params)
    params = jax.tree.unflatten(tree, [np.asarray(leaf.named(name)) for leaf, name in zip(leaves, names)])
    step, found = jax.jit(toy.fn), []
    for _ in range(STEPS):
        out = step(params, *toy.inputs)
        params = out["params"]
        found.append(out["loss"])
    return np.array(found, np.float32)


for name in sys.argv[1:] or TOYS:
    toy = registry.build(name)
    signature = tuff.export(toy.fn, toy.params, toy.inputs, HERE / name, donate=toy.donate, weights=False,
                            with_expected=True)
    if signature["results"][0]["name"] == "loss":
        weights = [argument["name"] for argument in signature["arguments"] if argument["kind"] == "weight"]
        np.save(HERE / name / "expected" / "losses.npy", losses(toy, weights))
