"""Bundles for the tuff tensor compiler: see `export` and `Seeded`.

Importing this package does not import JAX; only calling `export` does.
"""
from .export import export
from .seeded import Seeded, seeded_integers

__all__ = ["export", "Seeded", "seeded_integers"]
