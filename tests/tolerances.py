"""The rows of ir/evaluate/tolerances.def, for tests in Python. Standard library only."""
import pathlib
import re

TABLE = pathlib.Path(__file__).resolve().parents[1] / "ir" / "evaluate" / "tolerances.def"
ROW = re.compile(r'^TOLERANCE\((\w+), (\w+), \w+, ([^,]+), ".*"\)$', re.M)
BOUNDS = {(kind, dtype.lower()): float.fromhex(bound) if "x" in bound else float(bound)
          for kind, dtype, bound in ROW.findall(TABLE.read_text())}


def bound(kind, dtype="f32"):
    """How far a kind of work may be off; KeyError where the table has no row."""
    return BOUNDS[kind, dtype]
