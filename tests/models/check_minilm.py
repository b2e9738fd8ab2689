"""Checks MiniLM's outputs: `python check_minilm.py OUT_DIR minilm.json`. Needs numpy only.

OUT_DIR holds what minilm_conformance/ computes for the sentences of minilm.json: out0.npy (embeddings [12, 384]),
out1.npy (last hidden state [12, 46, 384]), out2.npy (pooled [12, 384]). With only out0.npy the checks of the other
two are left out, and said to be. OUT_DIR may also be the .npy file of the embeddings itself. Tolerances are those in
the file; it has none for the sum of |x| and the hidden state, which are held to embedding_atol (see `checks`). Prints a line for each check; exit code 0 when all pass, else 1.
"""
import json
import pathlib
import sys

import numpy as np


def checks(outputs, data):
    """[(what, largest error, tolerance)]; outputs: {"out0": array, ...}."""
    tol, sentences = data["tolerance"], data["sentences"]
    field = lambda name: np.array([s[name] for s in sentences])
    embedding = outputs["out0"].astype(np.float64)
    width = field("first8").shape[1]
    yield "embedding, first 8", _error(embedding[:, :width], field("first8")), tol["embedding_atol"]
    # A sum of d absolute values may be off by d tolerances; held to sqrt(d), as if the errors were independent.
    yield ("embedding, sum of |x|", _error(np.abs(embedding).sum(1), field("sum_abs")),
           tol["embedding_atol"] * embedding.shape[1] ** 0.5)
    yield "embedding, length", _error(np.linalg.norm(embedding, axis=1), field("norm")), tol["norm_rtol"]
    yield "cosine of all pairs", _error(embedding @ embedding.T, np.array(data["cosine"])), tol["cosine_atol"]
    if "out1" in outputs:
        yield ("hidden state of [CLS]", _error(outputs["out1"][:, 0, :width], field("hidden_cls_first8")),
               tol["embedding_atol"])
    if "out2" in outputs:
        norm = np.linalg.norm(outputs["out2"].astype(np.float64), axis=1)
        yield "pooled, length", np.max(np.abs(norm / field("norm_before_l2") - 1)), tol["norm_rtol"]


def _error(got, expected):
    if got.shape != expected.shape or not np.isfinite(got).all():
        return np.inf
    return np.abs(got - expected).max()


def main(argv):
    if len(argv) != 2:
        sys.exit(__doc__)
    path = pathlib.Path(argv[0])
    files = {"out0": path} if path.is_file() else {name: path / f"{name}.npy" for name in ("out0", "out1", "out2")}
    outputs = {name: np.load(file) for name, file in files.items() if file.exists()}
    if "out0" not in outputs:
        sys.exit(f"There is no out0.npy in {path}.")
    failed = False
    for what, error, tolerance in checks(outputs, json.loads(pathlib.Path(argv[1]).read_text())):
        failed |= not error <= tolerance
        print(f"{'ok  ' if error <= tolerance else 'FAIL'} {what}: {error:.2e} (tolerance {tolerance:.2e})")
    for name in {"out1", "out2"} - set(outputs):
        print(f"skip {name}.npy is not there")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
