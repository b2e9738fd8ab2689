"""A bundle as `tuff bench` gives it to peers: the module, its arguments' values, what workload it is."""
import json
import math
import pathlib

import ml_dtypes  # noqa: F401  numpy learns bfloat16
import numpy as np

_DTYPES = {"F32": "float32", "F64": "float64", "F16": "float16", "BF16": "bfloat16", "I8": "int8", "I16": "int16",
           "I32": "int32", "I64": "int64", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64", "BOOL": "bool"}


class Unsupported(Exception):
    """This peer cannot run this workload; the text says why."""


class Bundle:
    """directory: module.mlir or model.onnx, signature.json, weights.safetensors, inputs/, workload.json."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        signature = json.loads((self.directory / "signature.json").read_text())
        self.arguments, self.results = signature["arguments"], signature["results"]
        self.workload = json.loads((self.directory / "workload.json").read_text())
        weights = self.directory / "weights.safetensors"
        self._tensors = read_safetensors(weights) if weights.exists() else {}

    @property
    def model(self):
        """The model's name in bench/workloads, or None for a file somebody gave."""
        return self.workload.get("model")

    @property
    def precision(self):
        """The element type that the model's matmuls take: "f32", "bf16"."""
        return self.workload["precision"]

    @property
    def carried(self):
        """[(argument, output)]: the outputs of a run that are arguments of the next one, which may use these up."""
        return [tuple(pair) for pair in self.workload.get("carried", [])]

    @property
    def carried_inputs(self):
        """[(input, output)]: the same with numbers among `inputs()`; of carried weights nothing."""
        inputs = [i for i, a in enumerate(self.arguments) if a["kind"] != "weight"]
        return [(inputs.index(a), out) for a, out in self.carried if a in inputs]

    @property
    def onnx(self):
        """The ONNX model's path, its weights inside or beside it; None for a StableHLO module."""
        link = self.directory / "model.onnx"
        return link.readlink() if link.is_symlink() else None

    def module(self):
        """The StableHLO module's bytes."""
        if self.onnx:
            raise Unsupported("This peer reads StableHLO, and the model is ONNX.")
        return (self.directory / "module.mlir").read_bytes()

    def weights(self):
        """{name: array}, in the module's order. Arrays are views of the mapped file."""
        return {a["name"]: self._tensors[a["name"]] for a in self.arguments if a["kind"] == "weight"}

    def inputs(self):
        """{name: array} of the other arguments, in the module's order."""
        return {a["name"]: self._input(a) for a in self.arguments if a["kind"] != "weight"}

    def values(self):
        """Every argument's array, in the module's order."""
        weights, inputs = self.weights(), self.inputs()
        return [(weights if a["kind"] == "weight" else inputs)[a["name"]] for a in self.arguments]

    def _input(self, argument):
        array = np.load(self.directory / "inputs" / argument.get("file", argument["name"] + ".npy"))
        return array.view("bfloat16") if argument["dtype"] == "bf16" else array


def read_safetensors(path):
    """{name: array} of a .safetensors file, mapped."""
    data = np.memmap(path, np.uint8, mode="r")
    length = int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:8 + length].tobytes())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        assert end - begin == math.prod(entry["shape"]) * dtype.itemsize, name
        tensors[name] = data[begin:end].view(dtype).reshape(entry["shape"])
    return tensors


def tree_of(named):
    """{"blocks.0.w": x} as nested dicts and lists: {"blocks": [{"w": x}]}. Names are as `tuff.export` makes them."""
    root = {}
    for name, value in named.items():
        *path, last = name.split(".")
        node = root
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return _lists(root)


def _lists(node):
    if not isinstance(node, dict):
        return node
    children = {key: _lists(child) for key, child in node.items()}
    if children and all(key.isdigit() for key in children):
        return [children[str(i)] for i in range(len(children))]
    return children
