"""Prints how alike sentences are: `python similarity.py sentences.json EMBEDDINGS.npy [OTHER.npy]`.

EMBEDDINGS.npy holds one normalised f32 row for each sentence; the table shows the cosine of each pair. With OTHER.npy,
the largest difference between the two files is printed too, and the exit code is 1 if it is above the bound of sentences. Standard
library only.
"""
import ast
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tolerances import bound  # noqa: E402


def read_f32_matrix(path):
    """Rows of a two-dimensional little-endian float32 .npy file of format 1.0 in C order."""
    data = pathlib.Path(path).read_bytes()
    if data[:8] != b"\x93NUMPY\x01\x00":
        sys.exit(f"{path}: not a .npy file of format 1.0")
    (size,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10:10 + size].decode("latin1"))
    if header["descr"] != "<f4" or header["fortran_order"] or len(header["shape"]) != 2:
        sys.exit(f"{path}: not a matrix of little-endian float32 in C order")
    rows, columns = header["shape"]
    values = struct.unpack_from(f"<{rows * columns}f", data, 10 + size)
    return [values[r * columns:(r + 1) * columns] for r in range(rows)]


def main(argv):
    if len(argv) not in (2, 3):
        sys.exit(__doc__)
    sentences = [s["text"] for s in json.loads(pathlib.Path(argv[0]).read_text())["sentences"]]
    rows = read_f32_matrix(argv[1])
    for i, sentence in enumerate(sentences):
        cosines = " ".join(f"{sum(a * b for a, b in zip(rows[i], other)):5.2f}" for other in rows)
        print(f"{i + 1}  {cosines}  {sentence}")
    if len(argv) == 2:
        return 0
    other = read_f32_matrix(argv[2])
    difference = max(abs(a - b) for x, y in zip(rows, other) for a, b in zip(x, y))
    print(f"largest difference between the two: {difference:.2g}")
    return 0 if difference <= bound("sentence") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
