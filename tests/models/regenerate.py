"""Writes the toy bundles of this folder anew from bench/workloads; needs JAX. `python regenerate.py [NAME...]`

Weights are not written: signature.json says how to compute them (`python -m tuff weights DIR` makes the file).
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "bench"), str(HERE.parents[1] / "frontend" / "python")]

import tuff  # noqa: E402
from workloads import registry  # noqa: E402

TOYS = ["mlp"] + [name for name in registry.WORKLOADS if name.endswith("_tiny")]

for name in sys.argv[1:] or TOYS:
    toy = registry.build(name)
    tuff.export(toy.fn, toy.params, toy.inputs, HERE / name, donate=toy.donate, weights=False, with_expected=True)
