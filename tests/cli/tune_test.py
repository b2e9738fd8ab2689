"""tuff tune and --tune: schedules that are measured, kept and used."""
import json

import harness
from harness import TuffTest

DOT = """func.func public @main(%arg0: tensor<48x96xf32>, %arg1: tensor<96x64xf32>) -> tensor<48x64xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<48x96xf32>, tensor<96x64xf32>) -> tensor<48x64xf32>
  return %0 : tensor<48x64xf32>
}
"""


class Refusals(TuffTest):
    def test_devices_without_schedules_are_refused(self):
        model = self.write("dot.mlir", DOT)
        for device in ["cpu", "reference"]:
            self.refused("tune", model, "--device", device, code=2, says=["nothing to tune", "use vulkan", "--device"])
        self.refused("profile", model, "--tune", "--device", "cpu", code=2, says="use vulkan")
        values = self.write_npy("a.npy", "f4", [48, 96], [1] * 48 * 96), self.write_npy("b.npy", "f4", [96, 64], [1] * 96 * 64)
        self.refused("run", model, "--input", values[0], "--input", values[1], "--tune", "--device", "reference", code=2,
                     says="use vulkan")

    def test_help_names_it(self):
        self.assertIn("--budget", self.tuff("tune", "--help").stdout)
        for command in ["run", "profile"]:
            self.assertIn("--tune", self.tuff(command, "--help").stdout)


class Vulkan(TuffTest):
    def setUp(self):
        super().setUp()
        self.needs_vulkan()
        self.model = self.write("dot.mlir", DOT)
        a = self.write_npy("a.npy", "f4", [48, 96], [(i * 7) % 5 - 2 for i in range(48 * 96)])
        b = self.write_npy("b.npy", "f4", [96, 64], [(i * 3) % 7 - 3 for i in range(96 * 64)])
        self.run_arguments = ["run", self.model, "--input", a, "--input", b, "--device", "vulkan", "--check", "--json"]

    def run_json(self, *more, **environment):
        result = self.tuff(*self.run_arguments, *more, **environment)
        return json.loads(result.stdout), result.stderr

    def tune(self, *more):
        return self.tuff("tune", self.model, "--device", "vulkan", *more)

    def kept(self):
        return list((self.folder / "cache").glob("tuning-*"))

    def test_what_is_found_is_kept_shown_and_used(self):
        report = json.loads(self.tune("--budget", "3", "--json").stdout)
        problem, = report["problems"]
        self.assertTrue(problem["problem"].startswith("f32 f32 f32 1x48x64x96"), problem)
        self.assertEqual((problem["runs"], problem["wrong"]), (1, []))
        self.assertGreater(problem["tried"], 0)
        self.assertEqual(report["faster"], int(problem["best"] != problem["chosen"]))
        self.assertEqual(len(self.kept()), report["faster"])
        explained = self.tuff("explain", self.model, "--device", "vulkan").stdout
        self.assertEqual("tuned: " + problem["best"] in explained, bool(report["faster"]))
        # The tuned kernel was compiled while it was measured.
        run, _ = self.run_json()
        self.assertEqual((run["glsl_compiled"], run["disk_hits"]), (0, run["kernels"]))
        self.assertTrue(run["check"]["outputs"])
        self.tuff("cache", "clear")
        self.assertEqual(self.kept(), [])
        self.assertNotIn("tuned:", self.tuff("explain", self.model, "--device", "vulkan").stdout)

    def test_nothing_is_measured_unless_it_is_asked_for(self):
        self.run_json()
        self.assertEqual(self.kept(), [])

    def test_run_and_profile_tune_first(self):
        run, notes = self.run_json("--tune=1")
        self.assertIn("matmuls and convolutions have faster schedules", notes)
        self.assertEqual(run["device"][:6], "vulkan")
        result = self.tuff("profile", self.model, "--device", "vulkan", "--repeat", "1", "--tune=0.5")
        self.assertIn("matmuls and convolutions have faster schedules", result.stderr)

    def test_it_says_what_it_did(self):
        text = self.tune("--budget", "1").stdout
        for word in ["before", "after", "1x48x64x96", "of 1 matmuls"]:
            self.assertIn(word, text)

    def test_a_budget_must_be_some_time(self):
        for budget in ["0", "-3", "nan"]:
            self.refused("tune", self.model, "--device", "vulkan", "--budget", budget, code=2, says="must be positive")
        self.refused(*self.run_arguments, "--tune=0", code=2, says="must be positive")
        self.refused(*self.run_arguments, "--tune=soon", code=2, says="--tune")

    def test_a_damaged_file_is_told_and_ignored(self):
        self.tune("--budget", "3")
        for path in self.kept():
            path.write_bytes(path.read_bytes()[:-1])
            self.assertIn("is not used", self.run_json()[1])
        self.assertNotIn("is not used", self.run_json()[1])

    def test_without_a_cache_it_says_that_nothing_is_kept(self):
        result = self.tuff("tune", self.model, "--device", "vulkan", "--budget", "2", "--json",
                           TUFF_CACHE_DIR="", XDG_CACHE_HOME="", HOME="")
        faster = json.loads(result.stdout)["faster"]
        self.assertEqual("not kept" in result.stderr, bool(faster))


if __name__ == "__main__":
    harness.main()
