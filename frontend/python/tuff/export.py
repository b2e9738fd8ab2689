"""From a JAX function to a bundle on disk."""
import inspect
import json
import pathlib

import numpy as np

from .dtypes import mlir_name, save_npy
from .seeded import Seeded
from .weights import write_safetensors

# Locations in the module: the innermost line of user code, with the last two components of its file's path. The
# text is then the same on every machine and does not depend on who called `export`.
_LOCATIONS = {"jax_hlo_source_file_canonicalization_regex": r"^.*/(?=[^/]+/[^/]+$)",
              "jax_include_full_tracebacks_in_locations": False}


def export(fn, params, example_inputs, directory, *, weights=True, with_expected=False, donate=()):
    """Writes the bundle `directory` for `fn(params, *example_inputs)`.

    fn: any function that jax.jit accepts; its first argument is the parameter tree, further positional
        arguments are the inputs (arrays, or trees of arrays such as a cache).
    params: a tree (dicts, lists, tuples, dataclasses) of arrays of any shape. Its leaves become the arguments of
        kind "weight", named by their path: {"blocks": [{"w": ...}]} gives "blocks.0.w". Leaves may also be
        `tuff.Seeded` (computed while writing) or jax.ShapeDtypeStruct (then no weights file is written).
    example_inputs: sequence with one value for each input. Shapes and element types are fixed by these. Inputs
        are named after fn's parameters; a leaf of a tree gets its path appended ("cache.0.k").
    directory: created where missing; files of the same names are replaced.
    weights: False leaves weights.safetensors out.
    with_expected: also run `fn` in JAX and store inputs/NAME.npy and expected/out0.npy, out1.npy ...
    donate: positions of arguments that fn's caller gives up, as jax.jit's donate_argnums (0 is `params`).

    Results are named by their path in what fn returns: a dict's keys, "out0" ... for a tuple or a single array.
    Returns the signature, as it stands in signature.json.
    Raises ValueError for an element type that bundles cannot hold, for two arguments of one name, and for
    with_expected with abstract parameters; what JAX raises while tracing passes through.
    """
    import jax

    directory = pathlib.Path(directory)
    args = (params, *example_inputs)
    leaves = _named_leaves(fn, args)
    lowered = _lower(fn, args, donate)
    signature = _signature(leaves, lowered)

    directory.mkdir(parents=True, exist_ok=True)
    (directory / "module.mlir").write_text(lowered.as_text(debug_info=True))
    (directory / "signature.json").write_text(_to_json(signature))
    held = [(name, leaf, np.dtype(info.dtype))
            for (name, kind, leaf), info in zip(leaves, jax.tree.leaves(lowered.args_info)) if kind == "weight"]
    abstract = any(isinstance(leaf, jax.ShapeDtypeStruct) for _, leaf, _ in held)
    if weights and held and not abstract:
        write_safetensors(directory / "weights.safetensors", held)
    if with_expected:
        if abstract:
            raise ValueError("Expected outputs need parameters with values, but some are ShapeDtypeStruct.")
        _write_expected(directory, lowered, args, leaves)
    return signature


def _lower(fn, args, donate):
    """`fn` lowered for the shapes of `args`, every argument kept, with locations free of machine paths."""
    import jax

    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, jax.dtypes.canonicalize_dtype(x.dtype)),
                          jax.tree.map(_as_array, args))
    before = {name: getattr(jax.config, name) for name in _LOCATIONS}
    _configure(_LOCATIONS)
    try:
        return jax.jit(fn, keep_unused=True, donate_argnums=donate).lower(*shapes)
    finally:
        _configure(before)


def _configure(options):
    import jax

    for name, value in options.items():
        jax.config.update(name, value)


def _write_expected(directory, lowered, args, leaves):
    """Stores the inputs and JAX's own results for them."""
    import jax

    for folder in ("inputs", "expected"):
        (directory / folder).mkdir(exist_ok=True)
    for name, kind, leaf in leaves:
        if kind == "input":
            save_npy(directory / "inputs" / f"{name}.npy", leaf)
    values = jax.tree.unflatten(jax.tree.structure(args), [np.asarray(leaf) for _, _, leaf in leaves])
    for index, result in enumerate(jax.tree.leaves(lowered.compile()(*values))):
        save_npy(directory / "expected" / f"out{index}.npy", result)


def _named_leaves(fn, args):
    """[(name, kind, leaf)] for every argument of the module, in its order. Seeded leaves get their name here."""
    import jax

    leaves = []
    roots = [""] + _input_names(fn, len(args) - 1)
    for root, arg in zip(roots, args):
        for path, leaf in jax.tree_util.tree_flatten_with_path(arg)[0]:
            name = ".".join([root] * bool(root) + _path(path)) or "params"
            leaf = leaf.named(name) if isinstance(leaf, Seeded) else _as_array(leaf)
            leaves.append((name, "input" if root else "weight", leaf))
    names = [name for name, _, _ in leaves]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"Arguments share a name ({', '.join(twice)}); rename a parameter or an input.")
    return leaves


def _input_names(fn, count):
    """The names of fn's positional parameters after the first; "input1" where it does not name one."""
    names = [p.name for p in inspect.signature(fn).parameters.values()
             if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
    return [names[i] if i < len(names) else f"input{i}" for i in range(count)]


def _signature(leaves, lowered):
    import jax

    arguments = []
    for (name, kind, leaf), info in zip(leaves, jax.tree.leaves(lowered.args_info)):
        entry = {"name": name, "kind": kind, "dtype": mlir_name(info.dtype), "shape": list(info.shape)}
        if isinstance(leaf, Seeded):
            entry["init"] = leaf.init
        arguments.append(entry)
    results = []
    for index, (path, info) in enumerate(jax.tree_util.tree_flatten_with_path(lowered.out_info)[0]):
        by_key = path and not isinstance(path[0], jax.tree_util.SequenceKey)
        results.append({"name": ".".join(_path(path)) if by_key else f"out{index}",
                        "dtype": mlir_name(info.dtype), "shape": list(info.shape)})
    return {"format": 1, "arguments": arguments, "results": results}


def _to_json(signature):
    """One argument or result a line: short in a diff."""
    parts = [f'"format": {signature["format"]}']
    for key in ("arguments", "results"):
        rows = ",\n  ".join(json.dumps(entry) for entry in signature[key])
        parts.append(f'"{key}": [\n  {rows}]')
    return "{" + ",\n ".join(parts) + "}\n"


def _path(keys):
    """A tree path as a list of strings: dict keys, list positions, attribute names."""
    return [str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", k)))) for k in keys]


def _as_array(leaf):
    return leaf if hasattr(leaf, "shape") and hasattr(leaf, "dtype") else np.asarray(leaf)
