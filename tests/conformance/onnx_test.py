"""ONNX's backend tests, on both devices: what passes, and that the rest is refused by name.

    onnx_test.py TUFF

TUFF_CONFORMANCE names a folder with onnx_held_in.txt, the list of tests; needs the packages onnx and numpy, which build
them (onnx_cases.py). Skipped without.
"""
import collections
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TUFF = sys.argv.pop(1)
LIST = pathlib.Path(os.environ.get("TUFF_CONFORMANCE", "")) / "onnx_held_in.txt"
PACKAGES = [name for name in ("onnx", "numpy") if not importlib.util.find_spec(name)]


@unittest.skipUnless(LIST.exists(), "TUFF_CONFORMANCE names no folder with onnx_held_in.txt")
@unittest.skipIf(PACKAGES, "this Python has no " + ", ".join(PACKAGES))
class Onnx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        maker = pathlib.Path(__file__).with_name("onnx_cases.py")
        subprocess.run([sys.executable, "-W", "ignore", maker, LIST, cls.folder.name], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_suite(self, *options):
        """{status: the cases of it}, and how many there are."""
        run = subprocess.run([TUFF, "test", self.folder.name, *options], capture_output=True, text=True, timeout=3000)
        cases = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertGreater(len(cases), 0, run.stderr)
        by_status = collections.defaultdict(list)
        for case in cases:
            by_status["pass" if case["status"].startswith("pass") else case["status"]].append(case)
        print(*options, {status: len(list_) for status, list_ in by_status.items()})
        return by_status, len(cases)

    def check(self, share, *options):
        by_status, count = self.run_suite(*options)
        wrong = [c for status, list_ in by_status.items() if status not in ("pass", "unsupported") for c in list_]
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(len(by_status["pass"]), share * count)

    def test_cpu(self):
        self.check(0.95, "--device", "cpu")

    def test_vulkan(self):
        found = subprocess.run([TUFF, "devices", "--json"], capture_output=True, text=True).stdout
        if not any(d["id"].startswith("vulkan") and d["usable"] for d in json.loads(found)["devices"]):
            self.skipTest("no usable Vulkan device")
        self.check(0.93, "--device", "vulkan")


unittest.main(verbosity=2)
