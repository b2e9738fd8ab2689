"""Checks the `tuff` Python package: names, order, element types, weights, errors. `python check_export.py` (needs JAX).

The files are read back with the public safetensors package, not with our own code.
"""
import json
import pathlib
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "frontend" / "python"))
import tuff  # noqa: E402
from tuff.seeded import write_weights  # noqa: E402


def check_names_and_order(directory):
    def fn(params, x, cache):
        return {"y": x @ params["blocks"][0]["w"], "cache": {"k": cache["k"] + 1}}

    params = {"unused": np.zeros(2, np.float64), "blocks": [{"w": np.full((3, 4), 2.0, np.float32)}]}
    signature = tuff.export(fn, params, [np.ones((2, 3), np.float32), {"k": np.zeros(5, np.int8)}], directory,
                            with_expected=True)
    found = [(a["name"], a["kind"], a["dtype"], a["shape"]) for a in signature["arguments"]]
    assert found == [("blocks.0.w", "weight", "f32", [3, 4]), ("unused", "weight", "f32", [2]),
                     ("x", "input", "f32", [2, 3]), ("cache.k", "input", "i8", [5])], found
    assert [r["name"] for r in signature["results"]] == ["cache.k", "y"]
    assert json.loads((directory / "signature.json").read_text()) == signature
    text = (directory / "module.mlir").read_text()
    assert text.count("%arg3") >= 1 and str(pathlib.Path(__file__).parent) not in text
    assert load_file(directory / "weights.safetensors")["blocks.0.w"].tolist() == [[2.0] * 4] * 3
    assert np.load(directory / "expected" / "out1.npy").tolist() == [[6.0] * 4] * 2
    assert np.load(directory / "inputs" / "cache.k.npy").dtype == np.int8


def check_bf16(directory):
    w = jnp.asarray([1.0, -2.5], jnp.bfloat16)
    signature = tuff.export(lambda params, x: params * x, w, [w], directory, with_expected=True)
    assert [a["dtype"] for a in signature["arguments"]] == ["bf16", "bf16"]
    stored = np.load(directory / "expected" / "out0.npy")
    assert stored.dtype == np.uint16 and stored.tolist() == [0x3F80, 0x40C8]
    assert load_file(directory / "weights.safetensors")["params"].tolist() == [1.0, -2.5]


def check_seeded(directory):
    params = {"w": tuff.Seeded((70000,), 0.5, mean=1.0)}
    tuff.export(lambda params, x: params["w"] + x, params, [np.float32(0)], directory)
    first = (directory / "weights.safetensors").read_bytes()
    write_weights(directory)
    assert (directory / "weights.safetensors").read_bytes() == first
    w = load_file(directory / "weights.safetensors")["w"]
    assert w.min() >= 0.5 and w.max() < 1.5 and abs(w.mean() - 1) < 0.01 and len(set(w[:1000])) > 990
    # The formula of the README, in plain Python integers: name "w", elements 0 and 69999.
    assert [float(w[i]) for i in (0, 69999)] == [float(formula(0)), float(formula(69999))]


def formula(i):
    import zlib
    mask = 2 ** 64 - 1
    z = (zlib.crc32(b"w") * 2 ** 32 + i + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    z ^= z >> 31
    return np.float32(1) + np.float32(0.5) * np.float32(2 * (z >> 40) / 2 ** 24 - 1)


def check_abstract_and_errors(directory):
    shape = jax.ShapeDtypeStruct((2,), jnp.float32)
    tuff.export(lambda params, x: params["w"] + x, {"w": shape}, [np.ones(2, np.float32)], directory)
    assert not (directory / "weights.safetensors").exists()
    x = np.ones(2, np.float32)
    raises(lambda: tuff.export(lambda p, x: x, {"w": shape}, [x], directory, with_expected=True))
    raises(lambda: tuff.export(lambda p, x: x, {"x": x}, [x], directory))
    raises(lambda: tuff.export(lambda p, x: x, {}, [x.astype(jnp.float8_e4m3fn)], directory))


def raises(call):
    try:
        call()
    except ValueError as error:
        assert str(error).endswith("."), error
    else:
        raise AssertionError("A ValueError is missing.")


if __name__ == "__main__":
    for check in (check_names_and_order, check_bf16, check_seeded, check_abstract_and_errors):
        with tempfile.TemporaryDirectory() as directory:
            check(pathlib.Path(directory))
        print("ok  ", check.__name__)
