"""Random weights that follow from their name: the same numbers in every process, framework and language.

`python -m tuff weights DIR...` writes DIR/weights.safetensors for bundles whose signature says how (README.md has
the formula). Needs numpy only.
"""
import json
import math
import pathlib
import zlib

import numpy as np

from .dtypes import from_mlir, numpy_dtype
from .weights import write_safetensors

_CHUNK = 1 << 16  # elements at a time: the temporaries stay in cache and memory stays at the result's size


class Seeded:
    """A weight that is computed when it is needed, from its name, shape and range.

    shape: tuple of int. scale, mean: the values are uniform in [mean - scale, mean + scale).
    dtype: a float dtype's name. name: set by `named`; reading the values without one raises ValueError.
    """

    def __init__(self, shape, scale, mean=0.0, dtype="float32", name=None):
        self.shape, self.scale, self.mean, self.name = tuple(shape), float(scale), float(mean), name
        self.dtype = numpy_dtype(dtype)

    def named(self, name):
        """The same weight, called `name`."""
        return Seeded(self.shape, self.scale, self.mean, self.dtype.name, name)

    @property
    def init(self):
        """What signature.json says about it."""
        return {"scale": self.scale, "mean": self.mean}

    def __array__(self, dtype=None, copy=None):
        if self.name is None:
            raise ValueError("A Seeded weight has no values before it has a name; call named() first.")
        out = np.empty(math.prod(self.shape), self.dtype)
        for start in range(0, out.size, _CHUNK):
            stop = min(start + _CHUNK, out.size)
            unit = (_bits(self.name, start, stop) >> np.uint64(40)).astype(np.float32)
            unit = unit * np.float32(2.0 ** -23) - np.float32(1)
            out[start:stop] = np.float32(self.mean) + np.float32(self.scale) * unit
        out = out.reshape(self.shape)
        return out if dtype is None else out.astype(dtype, copy=False)


def seeded_integers(name, shape, low, high):
    """An int32 array of `shape` with values in [low, high) that follow from `name`, by the same generator."""
    bits = _bits(name, 0, math.prod(shape)) >> np.uint64(40)
    return (np.int64(low) + bits.astype(np.int64) % (high - low)).astype(np.int32).reshape(shape)


def _bits(name, start, stop):
    """Elements start..stop of the 64-bit stream that belongs to `name` (splitmix64; wraps around silently)."""
    z = np.arange(start, stop, dtype=np.uint64) + np.uint64((zlib.crc32(name.encode()) << 32))
    z += np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def write_weights(directory):
    """Writes weights.safetensors into the bundle `directory` from its signature.json.

    Raises ValueError when a weight there has no "init", or the file is no signature.
    """
    directory = pathlib.Path(directory)
    signature = directory / "signature.json"
    text = signature.read_bytes()
    try:
        tensors = [_seeded_tensor(argument) for argument in json.loads(text)["arguments"] if argument["kind"] == "weight"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{signature} does not say how to compute the weights: {type(error).__name__}: {error}") from error
    write_safetensors(directory / "weights.safetensors", tensors)


def _seeded_tensor(argument):
    """(name, Seeded, dtype) of an argument of a signature."""
    if "init" not in argument:
        raise ValueError(f"The weight {argument['name']!r} has no init to compute it from.")
    dtype = from_mlir(argument["dtype"])
    return argument["name"], Seeded(argument["shape"], **argument["init"], dtype=dtype.name, name=argument["name"]), dtype
