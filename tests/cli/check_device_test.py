"""`tuff check-device`: it ends with its two files whatever drivers do, and says which part failed."""
import json
import os
import pathlib
import shutil

import harness
from harness import MODELS, TuffTest

TEST_LOADER = pathlib.Path(os.environ.get("TUFF_TEST_LOADER_FILE", "/nowhere"))


class CheckDevice(TuffTest):
    def check(self, *arguments, code=0, **environment):
        """The check's object, its parts by name, the page and what was printed."""
        out = self.folder / "out"
        result = self.tuff("check-device", "--output", out, *arguments, code=code, **environment)
        check = json.loads((out / "check.json").read_text())
        self.assertEqual(check["format"], "tuff-check-1")
        page = (out / "check.html").read_text()
        self.assertTrue(page.endswith("</body></html>\n"))
        self.assertFalse((out / "run").exists(), "what the parts wrote goes when they are through")
        return check, {part["name"]: part for part in check["parts"]}, page, result

    def models(self, *names):
        for name in names:
            shutil.copytree(MODELS / name, self.folder / "models" / name, ignore=shutil.ignore_patterns("*.safetensors"))
        return self.folder / "models"

    def expect_no_device(self, says, **environment):
        check, parts, page, result = self.check("--models", self.models("ffn_tiny"), code=3, **environment)
        self.assertIsNone(check["device"])
        self.assertEqual(parts["doctor"]["status"], "failed")
        self.assertIn(says, parts["doctor"]["text"])
        for name in ("self-test", "roof", "model ffn_tiny", "driver ffn_tiny"):
            self.assertEqual(parts[name]["status"], "skipped", name)
            self.assertIn("No Vulkan device is usable", parts[name]["why"])
        self.assertIn("No Vulkan device is usable", result.stderr)
        self.assertIn(says.split()[0], page)

    def test_without_a_driver(self):
        self.expect_no_device("The file does not open", VK_DRIVER_FILES="/nowhere/driver.json",
                              VK_ICD_FILENAMES="/nowhere/driver.json")

    def test_with_a_broken_driver(self):
        manifest = self.write("driver.json", json.dumps({"file_format_version": "1.0.0", "ICD": {
            "library_path": str(self.write("libdriver.so", "no library")), "api_version": "1.3.0"}}))
        self.expect_no_device("libdriver.so", VK_DRIVER_FILES=str(manifest), VK_ICD_FILENAMES=str(manifest))

    def test_a_device(self):
        self.needs_vulkan()
        tables = self.write("tables", "#!/bin/sh\necho 2 tables differ\nexit 1\n")
        tables.chmod(0o755)
        check, parts, page, result = self.check(
            "--models", self.models("ffn_tiny"), "--op-tables", tables, "--device", "vulkan:0",
            "--only", "doctor,self-test,verdict,model,driver,op tables,peers,product 2x2304x768", code=1)
        self.assertEqual(check["device"]["id"], "vulkan:0")
        for name in ("self-test", "verdict", "model ffn_tiny", "driver ffn_tiny", "product 2x2304x768_f32"):
            self.assertEqual(parts[name]["status"], "passed", parts[name])
        model = parts["model ffn_tiny"]["result"]
        for key in ("first_ms", "second_ms", "steady_ms", "hosted", "memory", "phases_ms"):
            self.assertIn(key, model)
        self.assertTrue(parts["self-test"]["result"]["check"]["within"])
        self.assertEqual(parts["op tables"]["status"], "failed")
        self.assertIn("2 tables differ", parts["op tables"]["text"])
        self.assertIn("These parts failed or hung: op tables.", result.stderr)
        self.assertIn("ffn_tiny", page)
        self.assertIn("2 tables differ", page)
        row = result.stdout.splitlines()[-1]
        self.assertEqual(row.count("|"), 12)
        self.assertIn(check["device"]["name"], row)

    def test_a_driver_that_hangs_in_a_kernel(self):
        self.needs_vulkan()
        if not TEST_LOADER.exists():
            self.skipTest("no Vulkan loader that hangs")
        check, parts, _, result = self.check(
            "--models", self.models("ffn_tiny"), "--device", "vulkan:0", "--only", "doctor,self-test,model,driver",
            "--part-seconds", "12", code=1, LD_LIBRARY_PATH=str(TEST_LOADER.parent), TUFF_TEST_HANG_AT="3")
        self.assertEqual(parts["doctor"]["status"], "passed")
        for name in ("self-test", "model ffn_tiny"):
            self.assertEqual(parts[name]["status"], "hung", parts[name])
            self.assertIn("not done within 12 s", parts[name]["why"])
        self.assertEqual(parts["driver ffn_tiny"]["status"], "passed", "it submits nothing")
        self.assertIn("These parts failed or hung: self-test, model ffn_tiny.", result.stderr)

    def test_no_time_is_left(self):
        self.needs_vulkan()
        _, parts, _, _ = self.check("--models", self.models("ffn_tiny"), "--device", "vulkan:0", "--minutes", "0.0001",
                                    "--only", "model")
        self.assertEqual(parts["model ffn_tiny"]["status"], "skipped")
        self.assertIn("No time is left", parts["model ffn_tiny"]["why"])

    def test_wrong_usage(self):
        self.refused("check-device", "--device", "cpu", code=2, says="Only Vulkan devices are checked")


if __name__ == "__main__":
    harness.main()
