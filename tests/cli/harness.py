"""What the command's tests share: running tuff, .npy and .safetensors files, small modules. Standard library only."""
import ast
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tolerances
from onnx_file import onnx_model  # noqa: E402, F401

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
TUFF = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None

ADD = """func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""


class TuffTest(unittest.TestCase):
    """A test with a folder of its own, which is also the cache, so that no test sees another's kernels."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def environment(self, **changes):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TUFF_", "VK_"))}
        return {**kept, "TUFF_CACHE_DIR": str(self.folder / "cache"), **changes}

    def tuff(self, *arguments, code=0, cwd=None, **environment):
        """Runs tuff, in a folder if one is given, and checks its exit code; the result has .stdout and .stderr."""
        result = subprocess.run([TUFF, *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=cwd,
                                env=self.environment(**environment))
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result

    def refused(self, *arguments, code, says, **environment):
        """tuff must end with `code`, nothing on stdout and each text of `says` on stderr."""
        result = self.tuff(*arguments, code=code, **environment)
        self.assertEqual(result.stdout, "")
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, result.stderr)
        return result

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def write_npy(self, name, descr, shape, values):
        return self.write(name, npy_bytes(descr, shape, values))

    def needs_vulkan(self):
        devices = json.loads(self.tuff("devices", "--json").stdout)["devices"]
        if not any(d["id"].startswith("vulkan") and d["usable"] for d in devices):
            self.skipTest("no usable Vulkan device")


_CODES = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "u2": "H", "u1": "B", "b1": "?", "i1": "b"}


def npy_bytes(descr, shape, values):
    """A .npy file, format 1.0; descr without the byte order."""
    header = f"{{'descr': '<{descr}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    data = struct.pack(f"<{len(values)}{_CODES[descr]}", *values)
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data


def read_npy(path, bf16=False):
    """(shape, values) of a .npy file; bf16: the numbers whose bits are stored as uint16."""
    data = pathlib.Path(path).read_bytes()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:end].decode())
    count = math.prod(header["shape"])
    values = struct.unpack(f"<{count}{_CODES[header['descr'][1:]]}", data[end:])
    if bf16 and header["descr"] == "<u2":
        values = [struct.unpack("<f", struct.pack("<I", v << 16))[0] for v in values]
    return header["shape"], values


def relative_difference(got, expected):
    """max |got - expected| / max |expected|."""
    largest = max((abs(v) for v in expected), default=0) or 1
    return max((abs(a - b) for a, b in zip(got, expected, strict=True)), default=0) / largest


def main():
    unittest.main(verbosity=2)
