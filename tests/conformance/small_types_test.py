"""Conversions to and from floats of 8 and 4 bits, beside ml_dtypes: all f16, all bytes, and in f32 what lies between.

    small_types_test.py TUFF

On the CPU, and on Vulkan where there is a device. Needs the packages numpy and ml_dtypes; skipped without.
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TUFF = sys.argv.pop(1)
PACKAGES = [name for name in ("ml_dtypes", "numpy") if not importlib.util.find_spec(name)]
# StableHLO's name: ml_dtypes'.
FLOATS = {"f8E4M3FN": "float8_e4m3fn", "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2": "float8_e5m2",
          "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E8M0FNU": "float8_e8m0fnu", "f4E2M1FN": "float4_e2m1fn",
          "f8E4M3": "float8_e4m3", "f8E3M4": "float8_e3m4", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz"}


def edges():
    """f32: numbers of all formats, halves between neighbours, what is next to those, zeros, subnormals, no numbers."""
    import ml_dtypes
    import numpy as np
    np.seterr(all="ignore")
    found = [np.array([0, np.inf, np.nan, 2 ** -149, 2 ** -126, 3.4e38, 1e30, 2 ** -127, 2 ** -128], np.float32)]
    for name in FLOATS.values():
        numbers = np.sort(np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float32))
        numbers = numbers[np.isfinite(numbers)]
        halves = (numbers[1:].astype(np.float64) + numbers[:-1]) / 2
        past = np.array([numbers[-1] * f for f in (1.03125, 1.0625, 1.125, 1.25, 1.5, 2)])
        for x in (numbers, halves.astype(np.float32), past.astype(np.float32)):
            found += [x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))]
    values = np.concatenate(found)
    return np.concatenate([values, -values])


def module(count):
    lines, results = [], []
    for i, name in enumerate(FLOATS):
        lines += [f"%h{i} = stablehlo.convert %half : (tensor<65536xf16>) -> tensor<65536x{name}>",
                  f"%s{i} = stablehlo.convert %single : (tensor<{count}xf32>) -> tensor<{count}x{name}>",
                  f"%b{i} = stablehlo.bitcast_convert %bytes : (tensor<256xui8>) -> tensor<256x{name}>"
                  if name != "f4E2M1FN" else
                  f"%n{i} = stablehlo.convert %bytes : (tensor<256xui8>) -> tensor<256xui4>\n"
                  f"%b{i} = stablehlo.bitcast_convert %n{i} : (tensor<256xui4>) -> tensor<256x{name}>",
                  f"%w{i} = stablehlo.convert %b{i} : (tensor<256x{name}>) -> tensor<256xf32>"]
        results += [(f"%h{i}", f"tensor<65536x{name}>"), (f"%s{i}", f"tensor<{count}x{name}>"),
                    (f"%w{i}", "tensor<256xf32>")]
    values, types = (", ".join(part) for part in zip(*results))
    body = "\n".join(lines)
    return (f"func.func @main(%half: tensor<65536xf16>, %single: tensor<{count}xf32>, %bytes: tensor<256xui8>)"
            f" -> ({types}) {{\n{body}\nreturn {values} : {types}\n}}\n")


@unittest.skipIf(PACKAGES, "this Python has no " + ", ".join(PACKAGES))
class SmallTypes(unittest.TestCase):
    def check(self, device):
        import ml_dtypes
        import numpy as np
        inputs = {"half": np.arange(65536, dtype=np.uint16).view(np.float16), "single": edges(),
                  "bytes": np.arange(256, dtype=np.uint8)}
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "m.mlir").write_text(module(len(inputs["single"])))
            for name, value in inputs.items():
                np.save(folder / f"{name}.npy", value)
            run = subprocess.run([TUFF, "run", folder / "m.mlir", "--device", device, "--output-dir", folder / "out"] +
                                 [word for name in inputs for word in ("--input", f"{name}={folder / name}.npy")],
                                 capture_output=True, text=True, timeout=600)
            self.assertEqual(run.returncode, 0, run.stderr)
            got = [np.load(folder / "out" / f"out{i}.npy") for i in range(3 * len(FLOATS))]
        for i, (name, other) in enumerate(FLOATS.items()):
            dtype = getattr(ml_dtypes, other)
            for values, found in ((inputs["half"], got[3 * i]), (inputs["single"], got[3 * i + 1])):
                expected = values.astype(np.float32).astype(dtype).view(np.uint8)
                # f4E2M1FN has no NaN: its zero's sign is nobody's promise. Subnormals just above f8E8M0FNU's least
                # number, 2^-127, are nearest to it; ml_dtypes makes the next one of them.
                open_ = np.isnan(values) if name == "f4E2M1FN" else np.zeros(values.shape, bool)
                if name == "f8E8M0FNU":
                    open_ = (values > 2.0 ** -127) & (values < 1.5 * 2.0 ** -127)
                expected, found = (np.where(open_, 0, x) for x in (expected, found))
                wrong = np.flatnonzero(expected != found)
                self.assertEqual([(values[k], hex(found[k]), hex(expected[k])) for k in wrong[:5]], [], name)
            known = 15 if name == "f4E2M1FN" else 255
            expected = (inputs["bytes"] & known).view(dtype).astype(np.float32)
            np.testing.assert_array_equal(got[3 * i + 2], expected, name)
            signs = np.signbit(expected) == np.signbit(got[3 * i + 2])
            self.assertTrue(np.all(signs | np.isnan(expected)), name)

    def test_cpu(self):
        self.check("cpu")

    def test_vulkan(self):
        found = subprocess.run([TUFF, "devices", "--json"], capture_output=True, text=True).stdout
        if not any(d["id"].startswith("vulkan") and d["usable"] for d in json.loads(found)["devices"]):
            self.skipTest("no usable Vulkan device")
        self.check("vulkan")


if __name__ == "__main__":
    unittest.main()
