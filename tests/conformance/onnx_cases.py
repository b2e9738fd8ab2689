"""Writes ONNX's own backend tests as a conformance suite that `tuff test` runs: models, arrays, manifest.json.

    onnx_cases.py LIST DIR     LIST: lines "name<TAB>op<TAB>group..."; DIR: where the suite goes

Needs the packages onnx and numpy. Node tests are built by onnx; the others are read from its data folder. Floats of 8
and 4 bits and integers of 4 and 2 bits are stored as bytes. Cases whose arrays NumPy or the suite's format cannot hold
(strings) get their model only: what they show is that the model is refused by name. A sequence NAME is the arrays
NAME.0, NAME.1 ...; an optional is what it holds, or nothing.
"""
import json
import os
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

RTOL, ATOL = 1e-3, 1e-7  # those of ONNX's own runner,
RTOL_BF16 = 2 ** -6  # and its for bfloat16
DTYPES = {np.dtype(k): v for k, v in {
    "float64": "f64", "float32": "f32", "float16": "f16", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64", "bool": "i1"}.items()}


# Of ml_dtypes, by NumPy's name: one element a byte.
SMALL = {"float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
         "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e8m0fnu": "f8E8M0FNU", "float4_e2m1fn": "f4E2M1FN",
         "int4": "i4", "int2": "i2", "uint4": "ui4", "uint2": "ui2"}


def as_array(value):
    """(array as it is stored, its element type), or None."""
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    value = np.asarray(value)
    if value.dtype.name == "bfloat16":
        return value.view(np.uint16), "bf16"
    if value.dtype.name in SMALL:
        return value.view(np.uint8), SMALL[value.dtype.name]
    return (value, DTYPES[value.dtype]) if value.dtype in DTYPES else None


def tensors(names, values):
    """(name, tensor) of all that the values hold."""
    for name, value in zip(names, values):
        if isinstance(value, (list, tuple)):
            yield from tensors([f"{name}.{i}" for i in range(len(value))], value)
        elif value is not None:
            yield name, value


class Suite:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.cases = []

    def write_arrays(self, name, kind, values):
        """The manifest's entries of arrays; None where one is none."""
        entries = []
        for i, (argument, value) in enumerate(values):
            array = as_array(value)
            if array is None:
                return None
            file = f"{name}.{kind}{i}.npy"
            np.save(self.folder / file, np.ascontiguousarray(array[0]).reshape(array[0].shape))
            entry = {"file": file, "name": argument, "dtype": array[1], "shape": list(array[0].shape)}
            if kind == "out" and array[1] not in SMALL.values():
                entry |= {"mode": "almost_eq", "strict_atol": 0, "rtol": RTOL_BF16 if array[1] == "bf16" else RTOL, "atol": ATOL}
            entries.append(entry)
        return entries

    def add(self, name, op, group, model, inputs, outputs):
        (self.folder / f"{name}.onnx").write_bytes(model.SerializeToString())
        case = {"name": name, "family": "onnx", "op": op, "group": group, "tags": [], "file": f"{name}.onnx"}
        initialized = {t.name for t in model.graph.initializer} if model.ir_version >= 4 else set()
        names = [i.name for i in model.graph.input if i.name not in initialized]
        inputs = inputs[:len(names)]
        case["empty"] = [name for name, value in zip(names, inputs) if isinstance(value, list) and not value]
        results = [o.name for o in model.graph.output]
        arrays = (self.write_arrays(name, "in", tensors(names, inputs)),
                  self.write_arrays(name, "out", tensors(results, outputs)))
        if None in arrays:
            case["check"] = "import_only"
            arrays = [], []
        case["inputs"], case["expected"] = arrays
        case["dtypes"] = sorted({a["dtype"] for a in case["inputs"] + case["expected"]})
        self.cases.append(case)

    def finish(self):
        text = json.dumps({"format": 1, "suite": "onnx", "cases": self.cases}, indent=0)
        (self.folder / "manifest.json").write_text(text)


def read_values(folder, kind, described):
    """What the folder's files hold, each of the type that the model describes."""
    values = []
    for i in range(len(list(folder.glob(f"{kind}_*.pb")))):
        data = (folder / f"{kind}_{i}.pb").read_bytes()
        if described[i].type.HasField("sequence_type"):
            values.append(numpy_helper.to_list(onnx.SequenceProto.FromString(data)))
        elif described[i].type.HasField("optional_type"):
            values.append(numpy_helper.to_optional(onnx.OptionalProto.FromString(data)))
        else:
            values.append(onnx.TensorProto.FromString(data))
    return values


def find_folder(name):
    data = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    return next(d for kind in ("simple", "pytorch-converted", "pytorch-operator") if (d := data / kind / name).exists())


def main(list_file, folder):
    rows = [line.rstrip("\n").split("\t") for line in open(list_file, encoding="utf-8") if not line.startswith("#")]
    np.random.seed(0)
    built = {case.name: case for case in collect_testcases(None)}
    suite = Suite(folder)
    for name, op, group, *_ in rows:
        if name in built:
            case = built[name]
            inputs, outputs = case.data_sets[0]
            model = case.model
        else:
            data = find_folder(name)
            model = onnx.load(data / "model.onnx")
            inputs, outputs = (read_values(data / "test_data_set_0", kind, described)
                               for kind, described in (("input", model.graph.input), ("output", model.graph.output)))
        suite.add(name, op, group, model, inputs, outputs)
    suite.finish()
    print(f"{len(suite.cases)} cases in {folder}")


if __name__ == "__main__":
    main(*sys.argv[1:])
