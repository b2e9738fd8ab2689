"""Compares two .npy files: `python compare.py OUT.npy EXPECTED.npy [--tol BOUND]`. Needs numpy only.

The error is max |got - expected| / max |expected|: relative to the tensor's scale, so that elements near zero do not
decide. Shapes and element types must be equal, NaN and infinities must stand in the same places, integers and booleans
must be equal. uint16 files hold bf16 bits where --bf16 is given. Exit code 0 when the error is at most tol, else 1.
"""
import argparse
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tolerances import bound  # noqa: E402


def scale_error(got, expected):
    """The error described above; infinity where the non-finite elements differ."""
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(expected)
    if not np.array_equal(got[~finite], expected[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return np.inf
    if not finite.any():
        return 0.0
    difference, scale = np.abs(got[finite] - expected[finite]).max(), np.abs(expected[finite]).max()
    return difference / scale if scale > 0 else (0.0 if difference == 0 else np.inf)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("got")
    parser.add_argument("expected")
    parser.add_argument("--tol", type=float, default=bound("model"))
    parser.add_argument("--bf16", action="store_true", help="read uint16 as bf16 bits")
    options = parser.parse_args(argv)
    got, expected = np.load(options.got), np.load(options.expected)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        print(f"{options.got}: {got.dtype}{list(got.shape)}, expected {expected.dtype}{list(expected.shape)}")
        return 1
    if options.bf16 and got.dtype == np.uint16:
        got, expected = ((a.astype(np.uint32) << 16).view(np.float32) for a in (got, expected))
    tol = options.tol if np.issubdtype(got.dtype, np.floating) else 0.0
    error = scale_error(got, expected)
    print(f"{options.got}: error {error:.3g} (tolerance {tol:g})")
    return 0 if error <= tol else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
