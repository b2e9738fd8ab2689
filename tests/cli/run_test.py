"""Models that run: the toys on the reference evaluator, outputs, JSON, checks, the texts of every stop."""
import json
import math
import shutil
import subprocess
import time

import harness
from harness import ADD, MODELS, TuffTest, onnx_model, read_npy, relative_difference
from tolerances import bound

KEYS = {"device", "first_ms", "second_ms", "steady_ms", "glsl_compiled", "kernels", "dispatches", "submits", "readbacks",
        "cpu_ops", "gpu_ops", "load_ms", "compile_ms", "upload_ms", "phases_ms", "arena_bytes", "validation_errors", "outputs"}


class Toys(TuffTest):
    def check_toy(self, name, tolerance=bound("model")):
        # Copied without its weights file, which may or may not have been made: seeded weights serve.
        bundle = self.folder / name
        shutil.copytree(MODELS / name, bundle, ignore=shutil.ignore_patterns("*.safetensors"))
        signature = json.loads((bundle / "signature.json").read_text())
        inputs = [f"--input={p.stem}={p}" for p in sorted((bundle / "inputs").glob("*.npy"))]
        out = self.folder / "out"
        result = self.tuff("run", bundle, *inputs, "--device", "reference", "--output-dir", out)
        if any("init" in a for a in signature["arguments"]):
            self.assertIn("seeded weights are used", result.stderr)
        for i, entry in enumerate(signature["results"]):
            bf16 = entry["dtype"] == "bf16"
            shape, got = read_npy(out / f"out{i}.npy", bf16)
            expected_shape, expected = read_npy(bundle / "expected" / f"out{i}.npy", bf16)
            self.assertEqual(shape, expected_shape)
            self.assertLessEqual(relative_difference(got, expected), tolerance, f"{name} out{i}")

    def test_toys_give_what_jax_gave(self):
        for name in ["mlp", "ffn_tiny", "mha_tiny", "bert_tiny", "gpt2_tiny", "gpt2_decode_tiny"]:
            with self.subTest(name):
                self.check_toy(name)

    def test_bf16_toy(self):
        self.check_toy("llama_tiny", bound("model", "bf16"))


class Onnx(TuffTest):
    def test_inputs_and_outputs_have_the_models_names(self):
        model = self.write("model.onnx", onnx_model("Add", ["image", "offset"]))
        files = [f"--input={name}={self.write_npy(name + '.npy', 'f4', (3,), values)}"
                 for name, values in (("offset", [10, 20, 30]), ("image", [1, 2, 3]))]
        out = self.folder / "out"
        result = self.tuff("run", model, *files, "--device", "reference", "--output-dir", out)
        self.assertIn("output  y", result.stdout)
        shape, values = read_npy(out / "y.npy")
        self.assertEqual((shape, list(values)), ((3,), [11, 22, 33]))
        self.assertEqual((out / "out0.npy").read_bytes(), (out / "y.npy").read_bytes())


class Run(TuffTest):
    def setUp(self):
        super().setUp()
        self.model = self.write("add.mlir", ADD)
        a = self.write_npy("a.npy", "f4", [3], [1, 2, 3])
        self.arguments = [self.model, "--input", a, "--input", f"arg1={a}"]

    def test_what_takes_over_a_second_is_named(self):
        words = [harness.TUFF, "run", "-", *map(str, self.arguments[1:]), "--device", "cpu"]
        for quiet in ([], ["--json"]):
            with subprocess.Popen([*words, *quiet], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, env=self.environment()) as run:
                time.sleep(1.5)  # the model comes late
                _, told = run.communicate(ADD)
            self.assertEqual(run.returncode, 0, told)
            self.assertEqual("import, " in told, not quiet, told)

    def test_nan_and_infinity_are_told(self):
        nan, infinity, one = math.nan, math.inf, 1.0
        for values, says, least in [((nan, one, infinity), "min 1  max 1  mean 1  NaN in 1 of 3 elements  inf in 1 of 3 elements  [nan, 1, inf]", 1),
                                    ((-nan, nan, nan), "3xf32  NaN in 3 of 3 elements  [nan, nan, nan]", None)]:
            x, zero = self.write_npy("x.npy", "f4", [3], values), self.write_npy("zero.npy", "f4", [3], [0, 0, 0])
            run = ["run", self.model, "--input", x, "--input", zero, "--device", "cpu"]
            self.assertIn(says, self.tuff(*run).stdout)
            told = json.loads(self.tuff(*run, "--json").stdout)["outputs"][0]
            self.assertEqual((told["min"], told["max"]), (least, least))

    def test_a_model_from_the_standard_input(self):
        text = (MODELS / "mlp" / "module.mlir").read_bytes()
        done = subprocess.run([harness.TUFF, "plan", "-", "--json"], input=text, capture_output=True, timeout=300,
                              env=self.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([harness.TUFF, "plan", "-"], input=b"no model", capture_output=True, timeout=300, env=self.environment())
        self.assertEqual(done.returncode, 10)
        self.assertIn(b"stdin", done.stderr)

    def test_text(self):
        result = self.tuff("run", *self.arguments, "--device", "reference")
        self.assertIn("output  out0  3xf32  min 2  max 6  mean 4  [2, 4, 6]", result.stdout)
        self.assertIn("placed  gpu 0 ops | cpu 1 ops", result.stdout)

    def test_verified(self):
        result = self.tuff("run", *self.arguments, "--device", "cpu", "--check", TUFF_VERIFY="1")
        self.assertNotIn("TUFF_VERIFY", result.stderr)

    def test_json_on_the_cpu(self):
        result = self.tuff("run", *self.arguments, "--device", "cpu", "--json", "--repeat", "3", "--check")
        report = json.loads(result.stdout)
        self.assertLessEqual(KEYS, set(report))
        self.assertEqual(report["outputs"][0]["max"], 6)
        self.assertEqual((report["gpu_ops"], report["cpu_ops"], report["dispatches"]), (0, 1, 1))
        self.assertGreater(report["steady_ms"], 0)
        self.assertTrue(report["check"]["within"])

    def test_phases_add_up_to_the_first_run(self):
        model = self.folder / "model"
        shutil.copytree(MODELS / "bert_tiny", model, ignore=shutil.ignore_patterns("*.safetensors"))
        ids = model / "inputs" / "input_ids.npy"
        shares = []
        for _ in range(5):  # on a busy machine a process may lose the processor between two phases
            report = json.loads(self.tuff("run", model, "--input", ids, "--device", "cpu", "--json").stdout)
            phases = report["phases_ms"]
            self.assertEqual(list(phases)[-8:], ["lower", "plan", "emit", "glsl", "pipelines", "prepare", "record", "execute"])
            shares.append(sum(phases.values()) / (report["first_ms"] - report["upload_ms"]))
            self.assertLessEqual(shares[-1], 1)
        self.assertGreater(max(shares), 0.95)

    def test_outputs_are_written(self):
        self.tuff("run", *self.arguments, "--device", "cpu", "--output-dir", self.folder / "new" / "out")
        self.assertEqual(read_npy(self.folder / "new" / "out" / "out0.npy"), ((3,), (2.0, 4.0, 6.0)))

    def test_auto_falls_to_the_cpu_and_says_so(self):
        result = self.tuff("run", *self.arguments, VK_DRIVER_FILES="/nonexistent")
        self.assertIn("cpu 1 ops in 1 kernels (no hardware Vulkan device)", result.stdout)

    def test_dump(self):
        self.tuff("run", *self.arguments, "--device", "cpu", TUFF_DUMP=str(self.folder / "dump"))
        names = sorted(p.name for p in (self.folder / "dump").iterdir())
        self.assertEqual(names[0], "00_import.txt")
        self.assertTrue(names[-1].endswith("_plan.txt"))

    def test_log(self):
        result = self.tuff("run", *self.arguments, "--device", "cpu", TUFF_LOG="compile,run")
        self.assertIn("compile group", result.stderr)
        self.assertIn("run ", result.stderr)


class Explain(TuffTest):
    def setUp(self):
        super().setUp()
        self.model = self.write("add.mlir", ADD)

    def test_every_stop(self):
        for step, text in [("import", "add(%0, %1)"), ("canonicalize", "add"), ("group", "fused"), ("lower", "kernel"),
                           ("plan", "step")]:
            with self.subTest(step):
                self.assertIn(text, self.tuff("explain", self.model, "--after", step, "--device", "cpu").stdout)

    def test_summary(self):
        self.assertIn("groups      1", self.tuff("explain", self.model, "--device", "cpu").stdout)

    def test_what_the_driver_makes_of_it(self):
        self.needs_vulkan()
        explain = ["explain", self.model, "--after", "driver", "--device", "vulkan"]
        report = json.loads(self.tuff(*explain, "--json").stdout)
        if "why_not" in report:  # a driver that tells nothing: one sentence, and no error
            self.assertIn(report["why_not"], self.tuff(*explain).stdout)
            self.assertIn("VK_KHR_pipeline_executable_properties", report["why_not"])
        else:
            self.assertEqual([k["family"] for k in report["kernels"]], ["map"])
            self.assertTrue(report["kernels"][0]["statistics"])
            self.tuff(*explain, "--isa", self.folder / "isa")

    def test_the_cpu_has_no_driver(self):
        self.refused("explain", self.model, "--after", "driver", "--device", "cpu", code=2, says="--device vulkan")
        self.refused("explain", self.model, "--json", code=2, says="--after driver")

    def test_plan(self):
        plan = json.loads(self.tuff("plan", self.model, "--device", "cpu", "--json").stdout)
        self.assertLessEqual({"peak_bytes", "arena_bytes", "packed_bytes", "owner"}, set(plan))
        self.assertEqual((plan["arguments_bytes"], plan["outputs_bytes"]), (24, 12))
        self.assertIn("peak", self.tuff("plan", self.model, "--device", "cpu").stdout)


class PackedMemory(TuffTest):
    """What plan tells of packing is what a run allocates for it."""

    def run_words(self, model):
        inputs = sorted((MODELS / model / "inputs").glob("*.npy"))
        return [MODELS / model, "--device", "cpu", *(word for path in inputs for word in ("--input", path))]

    def packed(self, command, model, *more, **environment):
        words = self.run_words(model) if command == "run" else [MODELS / model, "--device", "cpu"]
        return json.loads(self.tuff(command, *words, "--json", *more, **environment).stdout)["packed"]

    def test_plan_is_what_a_run_keeps(self):
        kinds = set()
        for model in ("gpt2_tiny", "llama_tiny", "resnet_tiny"):
            for isa in ("baseline", "avx2", "avx512", "amx"):
                with self.subTest(model=model, isa=isa):
                    planned = self.packed("plan", model, TUFF_CPU_ISA=isa)
                    self.assertEqual(self.packed("run", model, TUFF_CPU_ISA=isa), planned)
                    kinds |= set(planned)
        self.assertLessEqual({"panels"}, kinds)

    def test_a_limit(self):
        planned = self.packed("plan", "gpt2_tiny")
        limit = sum(planned.values()) // 2
        for way in (["--packed-memory", limit], []):
            environment = {} if way else {"TUFF_PACKED_MEMORY": str(limit)}
            kept = sum(self.packed("run", "gpt2_tiny", *way, **environment).values())
            self.assertLessEqual(kept, limit)
            self.assertGreater(kept, 0)
        self.assertEqual(self.packed("run", "gpt2_tiny", "--packed-memory", "0"), {})
        self.refused("run", *self.run_words("gpt2_tiny"), "--packed-memory", "much", code=2, says="512MiB")

    def test_without_copies_the_numbers_are_right(self):
        for model in ("gpt2_tiny", "llama_tiny", "resnet_tiny"):
            self.tuff("run", *self.run_words(model), "--check", "--packed-memory", "0")


class OpenShapes(TuffTest):
    MODEL = """func.func public @main(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %0 = stablehlo.add %x, %x : tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}
"""

    def setUp(self):
        super().setUp()
        self.model = self.write("open.mlir", self.MODEL)

    def test_inputs_give_their_shapes(self):
        array, out = self.write_npy("x.npy", "f4", [3, 2], range(6)), self.folder / "out"
        for spec in [f"x={array}", f"0={array}", array]:
            self.tuff("run", self.model, "--device", "cpu", "--input", spec, "--output-dir", out)
            self.assertEqual(read_npy(out / "out0.npy"), ((3, 2), (0, 2, 4, 6, 8, 10)))

    def test_shapes_by_hand(self):
        for spec in ["x=5x2", "0=5x2", "arg0=5x2"]:
            self.assertIn("f32[5,2]", self.tuff("explain", self.model, "--after", "import", "--shape", spec).stdout)
        plan = json.loads(self.tuff("plan", self.model, "--device", "cpu", "--shape", "x=5x2", "--json").stdout)
        self.assertEqual(plan["arguments_bytes"], 40)

    def test_shapes_that_are_refused(self):
        self.refused("plan", self.model, code=11, says=["tensor<?x2xf32>", "--shape x=2x64"])
        self.refused("plan", self.model, "--shape", "x=5x3", code=2, says="(5x3)")
        self.refused("plan", self.model, "--shape", "x=5xtwo", code=2, says="NAME=2x64")
        self.refused("plan", self.model, "--shape", "y=5x2", code=2, says="no argument (y)")
        self.refused("plan", self.write("add.mlir", ADD), "--shape", "0=3", code=2, says="fixed")


if __name__ == "__main__":
    harness.main()
