"""Writes safetensors files. The format is a JSON header and raw bytes, so no dependency is needed."""
import json
import math

import numpy as np

from .dtypes import safetensors_name


def write_safetensors(path, tensors):
    """Writes `tensors` to `path`, one at a time, so that only the largest has to fit in memory.

    tensors: list of (name, leaf, dtype); `leaf` has a `shape` and turns into an array with np.asarray (a numpy
    or JAX array, or a `tuff.Seeded`); `dtype` is the element type to store.
    """
    header, offset = {}, 0
    for name, leaf, dtype in tensors:
        size = math.prod(leaf.shape) * dtype.itemsize
        header[name] = {"dtype": safetensors_name(dtype), "shape": list(leaf.shape),
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)  # the data then starts aligned, for readers that map the file
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, leaf, dtype in tensors:
            array = np.asarray(leaf).astype(dtype, copy=False)
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
