"""tuff test over a small manifest of its own."""
import json

import harness
from harness import ADD, TuffTest, npy_bytes

MODULES = {
    "good": ADD,
    "wrong": ADD.replace("stablehlo.add", "stablehlo.multiply"),
    "close": ADD,
    "unknown": ADD.replace("stablehlo.add", "stablehlo.frobnicate"),
    "broken": "func.func",
}
STATUS = {"good": "pass_strict", "wrong": "mismatch", "close": "pass_tolerant", "unknown": "unsupported", "broken": "error"}


class Manifest(TuffTest):
    def setUp(self):
        super().setUp()
        cases = []
        for name, module in MODULES.items():
            self.write(f"{name}/module.mlir", module)
            self.write(f"{name}/a.npy", npy_bytes("f4", [3], [1, 2, 5]))
            self.write(f"{name}/out.npy", npy_bytes("f4", [3], [2, 4, 10.5 if name == "close" else 10]))
            array = {"dtype": "f32", "shape": [3]}
            cases.append({"name": name, "op": "add", "dtypes": ["f32"], "group": "core" if name != "broken" else "chlo",
                          "file": f"{name}/module.mlir", "inputs": [{"file": f"{name}/a.npy", **array}] * 2,
                          "expected": [{"file": f"{name}/out.npy", "mode": "close", "max_ulp": 3, "atol": 1, **array}]})
        self.manifest = self.write("manifest.json", json.dumps({"format": 1, "suite": "mine", "cases": cases}))

    def statuses(self, *arguments, code):
        result = self.tuff("test", self.manifest, *arguments, code=code)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        return {line["name"]: line["status"] for line in lines}, result.stderr

    def test_every_status_on_both(self):
        for device in ["reference", "cpu"]:
            with self.subTest(device):
                statuses, totals = self.statuses("--device", device, "--jobs", "2", code=7)
                self.assertEqual(statuses, STATUS)
                self.assertEqual(list(statuses), list(MODULES))  # in the manifest's order
                self.assertIn("2 of 5 cases pass", totals)

    def test_filters(self):
        self.assertEqual(self.statuses("--device", "cpu", "--filter", "good", code=0)[0], {"good": "pass_strict"})
        self.assertEqual(self.statuses("--device", "cpu", "--group", "chlo,complex", code=7)[0], {"broken": "error"})
        self.refused("test", self.manifest, "--filter", "nothing", code=2, says="No case")

    def test_a_sample_and_what_is_unsupported(self):
        sample = self.statuses("--device", "cpu", "--every", "2", code=7)[0]
        self.assertEqual(list(sample), ["good", "close", "broken"])
        alone = ("--device", "cpu", "--filter", "unknown")
        self.assertEqual(self.statuses(*alone, code=7)[0], {"unknown": "unsupported"})
        self.assertEqual(self.statuses(*alone, "--allow-unsupported", code=0)[0], {"unknown": "unsupported"})
        self.statuses("--device", "cpu", "--filter", "wrong", "--allow-unsupported", code=7)

    def test_a_case_that_does_not_end(self):
        self.write("good/module.mlir", """func.func public @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.while(%i = %a) : tensor<3xf32>
    cond {
      %true = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %true : tensor<i1>
    } do {
      %1 = stablehlo.add %i, %i : tensor<3xf32>
      stablehlo.return %1 : tensor<3xf32>
    }
  return %0 : tensor<3xf32>
}
""")
        statuses, _ = self.statuses("--device", "reference", "--timeout", "0.5", "--jobs", "1", code=7)
        self.assertEqual(statuses, {**STATUS, "good": "timeout"})

    def test_cases_that_are_not_unpacked(self):
        self.refused("test", self.manifest, "--cases", self.folder / "none", code=10, says="unpack cases.zip")


if __name__ == "__main__":
    harness.main()
