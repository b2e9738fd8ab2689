"""The models that tuff is measured on, as ordinary JAX functions with seeded weights.

`python -m workloads list` (in bench/) names them; `registry.build` makes one.
"""
import importlib.util
import pathlib
import sys

if importlib.util.find_spec("tuff") is None:  # not installed: use the package of this checkout
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "frontend" / "python"))
