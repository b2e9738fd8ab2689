"""Damaged ONNX files give an error or ONNX's own result, in bounded memory and time.

    onnx_mutated_test.py TUFF [FILES [SEED]]

Models are those of onnx_cases.py, changed in bytes (as a bad disk would) or in fields (as a bad exporter would). What runs
all the same is compared with the package onnx's reference evaluator, and with onnxruntime where there is one, where these
run it, too; one of them must agree, since each has its own idea of some old operations. TUFF_CONFORMANCE names a folder
with onnx_held_in.txt; skipped (77) without it or the packages onnx and numpy. What is wrong is kept in the folder that
KEEP_DAMAGED names, if any.
"""
import collections
import importlib.util
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import warnings

TUFF, FILES, SEED = sys.argv[1], int((sys.argv[2:3] or [2000])[0]), int((sys.argv[3:4] or [1])[0])
LIST = pathlib.Path(os.environ.get("TUFF_CONFORMANCE", "")) / "onnx_held_in.txt"
if not LIST.exists() or not all(importlib.util.find_spec(name) for name in ("onnx", "numpy")):
    print("skipped: needs TUFF_CONFORMANCE and a Python with onnx and numpy")
    sys.exit(77)

import ml_dtypes  # onnx needs it, too
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx_cases import SMALL

SECONDS, BYTES = 20, 8 << 30
REFUSED = (2, 8, 10, 11)  # usage (of inputs), out of memory, bad input file, unsupported
warnings.filterwarnings("ignore")


def damage_bytes(data, others, rng):
    data = bytearray(data)
    at = rng.randrange(len(data))
    match rng.randrange(5):
        case 0:
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 1:
            data[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
        case 2:
            del data[at:]
        case 3:
            del data[at:at + rng.randint(1, 16)]
        case 4:
            other = rng.choice(others).read_bytes()
            begin = rng.randrange(len(other))
            data[at:at] = other[begin:begin + rng.randint(1, 64)]
    return bytes(data)


def damage_fields(data, others, rng):
    model = onnx.load_from_string(data)
    node = rng.choice(model.graph.node) if model.graph.node else None
    if node is None:
        return damage_bytes(data, others, rng)
    match rng.randrange(6):
        case 0 if node.attribute:
            attribute = rng.choice(node.attribute)
            attribute.i += rng.choice((-2, -1, 1, 2, 1 << 40))
            if attribute.ints:
                attribute.ints[rng.randrange(len(attribute.ints))] += rng.choice((-2, -1, 1, 3))
            attribute.f *= rng.choice((-1, 2, float("nan")))
        case 1 if node.attribute:
            del node.attribute[rng.randrange(len(node.attribute))]
        case 2 if node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(("", "nobody", *(i.name for i in model.graph.input)))
        case 3:
            other = onnx.load(rng.choice(others))
            node.op_type = rng.choice(other.graph.node).op_type if other.graph.node else "Nobody"
        case 4 if model.graph.input:
            shape = rng.choice(model.graph.input).type.tensor_type.shape
            if shape.dim:
                shape.dim[rng.randrange(len(shape.dim))].dim_value = rng.choice((-1, 0, 1, 7, 1 << 31))
        case _:
            if model.opset_import:
                model.opset_import[0].version = rng.randint(1, 30)
    return model.SerializeToString()


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def by_reference(path, inputs):
    return ReferenceEvaluator(onnx.load(path)).run(None, inputs)


def by_onnxruntime(path, inputs):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, inputs)


def expected(run, path, inputs):
    """What another system gives, or None where it gives nothing."""
    def late(*_):
        raise TimeoutError
    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
        return run(path, inputs)
    except Exception:  # whatever it does not like
        return None
    finally:
        signal.alarm(0)


def agree(want, got):
    if not isinstance(want, np.ndarray) or want.shape != got.shape:
        return not isinstance(want, np.ndarray)
    if want.dtype.name in SMALL:
        got = got.view(want.dtype)
    elif want.dtype.kind not in "fiub" or got.dtype.kind not in "fiub":
        return True
    want, got = want.astype(np.float64), got.astype(np.float64)
    return np.allclose(got, want, rtol=4e-3, atol=1e-5 * max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0))),
                       equal_nan=True)


def same_outputs(want, out):
    files = [pathlib.Path(out, f"out{i}.npy") for i in range(len(want))]
    return all(f.exists() for f in files) and all(agree(w, np.load(f)) for w, f in zip(want, files))


def load(suite, entry):
    """An array of a case; small types, which are stored as bytes, as ml_dtypes has them."""
    array = np.load(suite / entry["file"])
    name = next((name for name, spelling in SMALL.items() if spelling == entry["dtype"]), None)
    return array.view(getattr(ml_dtypes, name)) if name else array


def judge(case, path, suite, out):
    command = [TUFF, "run", path, "--device", "cpu", "--output-dir", out]
    for i in case["inputs"]:
        command += ["--input", str(suite / i["file"])]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return "hangs"
    if run.returncode in REFUSED:
        return "refused" if "error: " in run.stderr else "refused without a message"
    if run.returncode != 0:
        return f"exit {run.returncode}"
    try:
        names = [i.name for i in onnx.load(path).graph.input]
    except Exception:  # protobufs that only Python's parser minds
        names = []
    if not names or any(i["dtype"] == "bf16" for i in case["inputs"]):  # NumPy has no such type
        return "runs, nothing to compare with"
    inputs = dict(zip(names, (load(suite, i) for i in case["inputs"])))
    # onnxruntime takes no arrays of ml_dtypes.
    judges = (by_reference,) if any(x.dtype.name in SMALL for x in inputs.values()) else (by_reference, by_onnxruntime)
    opinions = [want for by in judges if (want := expected(by, path, inputs)) is not None]
    if not opinions:
        return "runs, nothing to compare with"
    return "right" if any(same_outputs(want, out) for want in opinions) else "wrong"


def main():
    rng = random.Random(SEED)
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        suite = pathlib.Path(folder, "suite")
        maker = pathlib.Path(__file__).with_name("onnx_cases.py")
        subprocess.run([sys.executable, "-W", "ignore", maker, LIST, suite], check=True, stdout=subprocess.DEVNULL)
        cases = [c for c in json.loads((suite / "manifest.json").read_text())["cases"] if c["inputs"]]
        others = [suite / c["file"] for c in cases]
        for number in range(FILES):
            case = rng.choice(cases)
            damage = rng.choice((damage_bytes, damage_fields))
            path = pathlib.Path(folder, f"{number}_{case['file']}")
            path.write_bytes(damage((suite / case["file"]).read_bytes(), others, rng))
            verdict = judge(case, path, suite, pathlib.Path(folder, "out"))
            counts[verdict] += 1
            if verdict not in ("refused", "right", "runs, nothing to compare with"):
                kept = pathlib.Path(os.environ.get("KEEP_DAMAGED", folder), path.name)
                kept.write_bytes(path.read_bytes())
                print(f"{verdict}: file {number}, {damage.__name__} of {case['name']}", flush=True)
            path.unlink()
    print(dict(counts))
    return any(verdict not in ("refused", "right", "runs, nothing to compare with") for verdict in counts)


sys.exit(main())
