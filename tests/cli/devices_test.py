"""Devices, their absence, and the cache of compiled kernels."""
import json
import os
import pathlib
import subprocess
import time

import harness
from harness import ADD, TuffTest


class NoDriver(TuffTest):
    def setUp(self):
        super().setUp()
        a = self.write_npy("a.npy", "f4", [3], [1, 2, 3])
        self.arguments = ["run", self.write("add.mlir", ADD), "--input", a, "--input", a]

    def test_vulkan_is_refused(self):
        self.refused(*self.arguments, "--device", "vulkan", code=3, says="Vulkan", VK_DRIVER_FILES="/nonexistent")
        self.refused(*self.arguments, "--require-gpu", code=5, says="--require-gpu", VK_DRIVER_FILES="/nonexistent")

    def test_broken_drivers_are_no_device(self):
        broken = self.write("broken.json", "{")
        none = self.write("none.json", json.dumps({"file_format_version": "1.0.0", "ICD": {
            "library_path": "libno_such_driver.so", "api_version": "1.3.0"}}))
        for manifest in (broken, none):
            self.refused(*self.arguments, "--device", "vulkan", code=3, says="Vulkan", VK_DRIVER_FILES=str(manifest),
                         VK_ICD_FILENAMES=str(manifest))
            self.tuff(*self.arguments, "--device", "auto", VK_DRIVER_FILES=str(manifest), VK_ICD_FILENAMES=str(manifest))

    def test_doctor_names_the_cause_and_the_cure(self):
        start = time.monotonic()
        result = self.tuff("doctor", code=3, VK_DRIVER_FILES="/nonexistent")
        self.assertLess(time.monotonic() - start, 5)
        for text in ["VK_DRIVER_FILES", "/nonexistent", "unset VK_DRIVER_FILES", "auto"]:
            self.assertIn(text, result.stdout)
        self.assertIn("No GPU can be used", result.stderr)

    def test_doctor_names_a_missing_library(self):
        manifest = self.write("driver.json", json.dumps({"ICD": {"library_path": "libno_such_driver.so"}}))
        result = self.tuff("doctor", code=3, VK_DRIVER_FILES=str(manifest))
        self.assertIn("libno_such_driver.so: cannot open shared object file", result.stdout)

    def test_devices(self):
        devices = json.loads(self.tuff("devices", "--json", VK_DRIVER_FILES="/nonexistent").stdout)
        self.assertEqual([d["id"] for d in devices["devices"]], ["cpu", "reference"])
        self.assertNotEqual(devices["no_vulkan"], "")
        self.assertIn("cpu", self.tuff("devices", VK_DRIVER_FILES="/nonexistent").stdout)


TEST_LOADER = pathlib.Path(os.environ.get("TUFF_TEST_LOADER_FILE", "/nowhere"))


class NoDevice(TuffTest):
    """All that a machine may lack: one message each, on every way in, and the CPU works."""

    def setUp(self):
        super().setUp()
        a = self.write_npy("a.npy", "f4", [3], [1, 2, 3])
        self.run = ["run", self.write("add.mlir", ADD), "--input", a, "--input", a]

    def check(self, says, way="`tuff doctor`", **environment):
        result = self.refused(*self.run, "--device", "vulkan", code=3, says=[says], **environment)
        errors = [line for line in result.stderr.splitlines() if line.startswith("error:")]
        self.assertEqual(len(errors), 1, result.stderr)
        self.assertEqual(result.stderr.count(says), 1, result.stderr)
        self.assertIn(way, result.stderr)
        self.assertIn("cpu", self.tuff(*self.run, "--device", "auto", **environment).stdout)
        self.assertIn("cpu", self.tuff("devices", **environment).stdout)
        self.assertIn("No GPU can be used", self.tuff("doctor", code=3, **environment).stderr)
        if program := os.environ.get("TUFF_C_PROGRAM"):
            told = subprocess.run([program, "vulkan", "10"], capture_output=True, text=True,
                                  env=self.environment(**environment))
            self.assertEqual((told.returncode, told.stdout.count(says), told.stderr), (77, 1, ""), told.stdout)
            subprocess.run([program, "auto", "10"], check=True, env=self.environment(**environment))

    def needs_loader(self):
        if not TEST_LOADER.exists():
            self.skipTest("no Vulkan loader to stand in front of")
        return {"LD_LIBRARY_PATH": str(TEST_LOADER.parent)}

    def test_no_loader(self):
        for name in ("libvulkan.so.1", "libvulkan.so"):
            self.write(f"no_loader/{name}", "no library, and found first" * 100)
        self.check("The Vulkan loader does not open", LD_LIBRARY_PATH=str(self.folder / "no_loader"))

    def test_no_driver(self):
        self.check("Install a Vulkan driver", VK_DRIVER_FILES="/nonexistent", VK_ICD_FILENAMES="/nonexistent")

    def test_broken_manifest(self):
        broken = str(self.write("broken.json", "{"))
        self.check("`tuff doctor`", VK_DRIVER_FILES=broken, VK_ICD_FILENAMES=broken)

    def test_no_device(self):
        self.check("no driver offers a device", TEST_LOADER="empty", **self.needs_loader())

    def test_a_device_without_what_is_needed(self):
        loader = self.needs_loader()
        self.needs_vulkan()
        self.check("cannot be used", way="", TEST_LOADER="old", **loader)


class Place(TuffTest):
    def test_where_a_device_sits(self):
        if not TEST_LOADER.exists():
            self.skipTest("no Vulkan loader to stand in front of")
        self.needs_vulkan()

        def first_device(**environment):
            device = json.loads(self.tuff("devices", "--json", **environment).stdout)["devices"][0]
            del device["memory_available_bytes"]  # other processes change it
            return device

        plain = first_device()
        self.assertGreater(plain["vendor_id"], 0)
        self.assertEqual(len(bytes.fromhex(plain["uuid"])), 16)
        told = {"TEST_LOADER": "pci", "LD_LIBRARY_PATH": str(TEST_LOADER.parent)}
        device = first_device(**told)
        self.assertEqual(device, dict(plain, pci_address="0001:65:10.3"))
        self.assertIn("pci 0001:65:10.3", self.tuff("devices", **told).stdout)


class Vulkan(TuffTest):
    def setUp(self):
        super().setUp()
        self.needs_vulkan()
        a = self.write_npy("a.npy", "f4", [3], [1, 2, 3])
        self.arguments = ["run", self.write("add.mlir", ADD), "--input", a, "--input", a, "--device", "vulkan", "--json"]

    def run_json(self, **environment):
        result = self.tuff(*self.arguments, **environment)
        report = json.loads(result.stdout)
        self.assertEqual(report["outputs"][0]["max"], 6)
        return report, result.stderr

    def test_doctor(self):
        self.assertIn("usable", self.tuff("doctor").stdout)

    def test_a_device_is_tested_when_it_is_first_used(self):
        def tested():
            devices = json.loads(self.tuff("devices", "--json").stdout)["devices"]
            return {d["self_tested"] for d in devices if d["id"].startswith("vulkan:0")}

        self.assertEqual(tested(), {False})
        self.assertIn("not tested yet", self.tuff("devices").stdout)
        self.run_json()
        self.assertEqual(tested(), {True})
        self.assertNotIn("not tested yet", self.tuff("devices").stdout)
        self.assertIn("known answers", self.tuff("doctor").stdout)
        verdict, = (self.folder / "cache").glob("selftest-*")
        verdict.write_bytes(verdict.read_bytes()[:-1])
        self.assertIn("made anew", self.run_json()[1])
        self.assertNotIn("made anew", self.run_json()[1])
        self.assertEqual(tested(), {True})

    def test_no_such_device(self):
        arguments = [a if a != "vulkan" else "vulkan:99" for a in self.arguments]
        self.refused(*arguments, code=3, says="(99)")

    def test_placement(self):
        report, _ = self.run_json()
        self.assertEqual((report["gpu_ops"], report["cpu_ops"]), (1, 0))
        text = self.tuff(*[a for a in self.arguments if a != "--json"], "--require-gpu").stdout
        self.assertIn("placed  gpu 1 ops in 1 kernels | cpu 0 ops", text)

    def test_the_second_process_compiles_nothing(self):
        self.assertEqual(self.run_json()[0]["glsl_compiled"], 1)
        self.assertEqual(self.run_json()[0]["glsl_compiled"], 0)
        self.assertGreater(json.loads(self.tuff("cache", "stat", "--json").stdout)["entries"], 0)
        self.assertIn("0 are damaged", self.tuff("cache", "verify").stdout)
        self.tuff("cache", "clear")
        self.assertEqual(json.loads(self.tuff("cache", "stat", "--json").stdout)["entries"], 0)
        self.assertEqual(self.run_json()[0]["glsl_compiled"], 1)

    def test_damaged_entries_are_a_warning_and_are_made_again(self):
        self.run_json()
        for path in (self.folder / "cache").rglob("*"):
            if path.is_file():
                damaged = bytearray(path.read_bytes())
                damaged[len(damaged) // 2] ^= 0xFF
                path.write_bytes(damaged)
        self.tuff("cache", "verify", code=1)
        report, warnings = self.run_json()
        self.assertEqual(report["glsl_compiled"], 1)
        self.assertIn("damaged", warnings)
        self.assertEqual(self.run_json()[0]["glsl_compiled"], 0)

    def test_a_cache_that_cannot_be_written_is_a_warning(self):
        report, warnings = self.run_json(TUFF_CACHE_DIR=str(self.write("file", "") / "cache"))
        self.assertIn("cache", warnings)
        self.assertEqual(report["glsl_compiled"], 1)


if __name__ == "__main__":
    harness.main()
