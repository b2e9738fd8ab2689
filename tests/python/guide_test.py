"""The programs of the package's README, as they stand there, one after the other. TUFF_LIBRARY names libtuff; PYTHONPATH
has the package."""
import importlib.util
import os
import pathlib
import re
import sys
import tempfile

try:
    import jax  # noqa: F401
except ImportError as error:
    print(f"skipped: this Python has no {error.name}")
    sys.exit(77)

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "frontend/python/README.md"


def main():
    programs = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.S | re.M)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        # A bundle is exported further down than it is loaded.
        for program in sorted(programs, key=lambda text: "tuff.export(" not in text):
            lacks = [name for name in ("torch", "onnxscript") if "torch" in program and not importlib.util.find_spec(name)]
            if lacks:
                print(f"not tried: this Python has no {lacks[0]}")
            else:
                exec(program, {})
        os.chdir("/")


if __name__ == "__main__":
    main()
