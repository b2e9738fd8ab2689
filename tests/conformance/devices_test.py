"""`tuff test` over the conformance suites on both devices. TUFF_CONFORMANCE names their folder, unpacked; without it, skipped.

    devices_test.py TUFF

Standard library only.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

TUFF = sys.argv.pop(1)
FOLDER = os.environ.get("TUFF_CONFORMANCE", "")
# What --require-gpu may refuse: series in f64, and what this device's features rule out.
NO_KERNEL = re.compile(r"in f64|the device has no f64|no 64-bit integers")


@unittest.skipUnless(FOLDER and (pathlib.Path(FOLDER) / "stablehlo" / "manifest.json").exists(),
                     "TUFF_CONFORMANCE names no folder with the suites")
class Devices(unittest.TestCase):
    def run_suite(self, suite, device, *options):
        """{name: (status, message)} of the cases that do not pass, and how many there are."""
        run = subprocess.run([TUFF, "test", pathlib.Path(FOLDER) / suite, "--device", device, *options],
                             capture_output=True, text=True, timeout=1200)
        cases = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertGreater(len(cases), 0, run.stderr)
        print(suite, device, *options, run.stderr.splitlines()[-1])
        return {c["name"]: c for c in cases if not c["status"].startswith("pass")}, len(cases)

    def needs_vulkan(self):
        found = subprocess.run([TUFF, "devices", "--json"], capture_output=True, text=True).stdout
        if not any(d["id"].startswith("vulkan") and d["usable"] for d in json.loads(found)["devices"]):
            self.skipTest("no usable Vulkan device")

    def test_cpu(self):
        self.assertEqual(self.run_suite("stablehlo", "cpu", "--group", "core,chlo")[0], {})
        self.assertEqual(self.run_suite("fuzz", "cpu")[0], {})

    def test_bytecode(self):
        self.assertEqual(self.run_suite("stablehlo", "cpu", "--group", "core,chlo", "--bytecode")[0], {})

    def test_other_groups_are_refused(self):
        groups = {c["group"] for c in json.loads((pathlib.Path(FOLDER) / "stablehlo" / "manifest.json").read_text())["cases"]}
        failed, cases = self.run_suite("stablehlo", "cpu", "--group", ",".join(sorted(groups - {"core", "chlo"})))
        self.assertEqual([c for c in failed.values() if c["status"] != "unsupported"], [])

    def test_vulkan(self):
        self.needs_vulkan()
        failed, cases = self.run_suite("stablehlo", "vulkan", "--require-gpu", "--group", "core,chlo")
        self.assertEqual([c for c in failed.values() if not NO_KERNEL.search(c.get("message", ""))], [])
        self.assertLess(len(failed), cases / 20)
        self.assertEqual(self.run_suite("fuzz", "vulkan")[0], {})

    def test_vulkan_with_the_cpu(self):
        self.needs_vulkan()
        self.assertEqual(self.run_suite("stablehlo", "vulkan", "--group", "core,chlo")[0], {})


unittest.main(verbosity=2)
