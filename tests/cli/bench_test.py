"""tuff bench: what it writes, what it does with peers that misbehave, interrupts, comparing results."""
import copy
import json
import pathlib
import signal
import subprocess
import sys
import time

import harness
from harness import ADD, MODELS, TUFF, TuffTest, onnx_model, read_npy
from tolerances import bound

PEERS = pathlib.Path(__file__).resolve().parent / "bench"

DOT_BF16 = """func.func public @main(%arg0: tensor<3x5xbf16>, %arg1: tensor<5x7xbf16>) -> tensor<3x7xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<3x5xbf16>, tensor<5x7xbf16>) -> tensor<3x7xf32>
  return %0 : tensor<3x7xf32>
}
"""

# Two states that each run adds x to: one in place; the other is read again after it is written, so that it cannot be.
STEP = """func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %v: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %w, %x : tensor<4xf32>
  %1 = stablehlo.reverse %v, dims = [0] : tensor<4xf32>
  %2 = stablehlo.add %1, %0 : tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}
"""


class BenchTest(TuffTest):
    def setUp(self):
        super().setUp()
        self.model = self.write("add.mlir", ADD)
        self.json = self.folder / "results.json"

    def options(self, **changes):
        options = {"device": "cpu", "bench-dir": PEERS, "python": sys.executable, "rounds": 3, "burst-ms": 5, "timeout": 20,
                   "json": self.json, **changes}
        return [f"--{name}={value}" for name, value in options.items()]

    def bench(self, *arguments, code=0, **changes):
        result = self.tuff("bench", self.model, *arguments, *self.options(**changes), code=code)
        return result, json.loads(self.json.read_text())

    def systems(self, results):
        return {s["system"]: s for s in results["workloads"][0]["systems"]}


class Onnx(BenchTest):
    def test_as_it_is(self):
        self.model = self.write("model.onnx", onnx_model("Add", ["a/image", "offset"]))
        _, results = self.bench()
        self.assertEqual(results["workloads"][0]["name"], "model")
        self.assertEqual(results["workloads"][0]["weights"], "file")
        self.assertGreater(self.systems(results)["tuff:cpu"]["steady"]["n"], 0)

    def test_open_sizes_and_inputs(self):
        self.model = self.write("model.onnx", onnx_model("Add", ["x", "y0"], size="n"))
        result, _ = self.bench(code=1)
        self.assertIn("--shape", result.stdout + result.stderr)
        self.bench("--shape", "x=5")
        self.bench("--input", f"x={self.write_npy('x.npy', 'f4', (4,), [1, 2, 3, 4])}")


    def test_a_new_shape_compiles_what_is_new(self):
        self.needs_vulkan()
        self.model = self.write("model.onnx", onnx_model("Add", ["x", "y0"], size="n"))
        _, results = self.bench("--shape", "x=4096", "--new-shape", "x=8192", "--new-shape", "y0=8192", device="vulkan")
        runs = {run["mode"]: run for run in self.systems(results)["tuff:vulkan"]["runs"]}
        self.assertEqual(set(runs), {"cold", "warm-disk", "warm-process", "new-shape"})
        self.assertEqual([runs[mode]["kernels_compiled"] for mode in ("cold", "warm-disk", "new-shape")], [1, 0, 0])
        result, _ = self.bench("--shape", "x=4", "--new-shape", "x=no", code=1)
        self.assertIn("x=no", result.stdout + result.stderr)


class Results(BenchTest):
    def test_own_device(self):
        result, results = self.bench()
        self.assertEqual(results["format"], "tuff-bench-1")
        environment = results["environment"]
        for key in ("date", "command", "cpu", "cores", "threads", "affinity", "load", "devices", "versions", "policy"):
            self.assertIn(key, environment)
        self.assertEqual(environment["command"][1], "bench")
        workload = results["workloads"][0]
        self.assertEqual((workload["name"], workload["against"]), ("add", "tuff:cpu"))
        system = self.systems(results)["tuff:cpu"]
        self.assertEqual([run["mode"] for run in system["runs"]], ["cold", "warm-disk", "warm-process"])
        self.assertEqual(system["precision"], "f32")
        self.assertGreater(system["peak_host_bytes"], 0)
        steady = system["steady"]
        self.assertLessEqual(steady["min"], steady["median"])
        self.assertLessEqual(steady["median"], steady["p90"])
        self.assertLessEqual(steady["p90"], steady["p99"])
        self.assertEqual(steady["n"], sum(map(len, steady["bursts"])))
        self.assertIn("steady p50", result.stdout)

    def check_phases(self, **changes):
        _, results = self.bench(**changes)
        for system in results["workloads"][0]["systems"]:
            for run in system["runs"]:
                total = sum(run["phases"].values())
                # A toy's first run takes a millisecond or two, of which the clocks' own gaps are a part.
                slack = max(0.05 * run["first_ms"], 0.3)
                self.assertAlmostEqual(total, run["first_ms"], delta=slack, msg=str(run))

    def test_phases_add_up(self):
        self.model = MODELS / "gpt2_tiny"
        self.check_phases()

    def test_phases_add_up_on_vulkan(self):
        self.needs_vulkan()
        self.model = MODELS / "mlp"
        self.check_phases(device="vulkan")

    def test_unfused_is_a_system_of_its_own(self):
        self.model = MODELS / "gpt2_tiny"
        _, results = self.bench("--against", "tuff:cpu+unfused", device="cpu,cpu+unfused")
        fused, unfused = (self.systems(results)[name]["runs"][0] for name in ("tuff:cpu", "tuff:cpu+unfused"))
        self.assertLess(fused["dispatches"], unfused["dispatches"])

    def test_cold_alone(self):
        _, results = self.bench("--modes", "cold")
        self.assertEqual([run["mode"] for run in self.systems(results)["tuff:cpu"]["runs"]], ["cold"])

    def names(self, *models):
        self.tuff("bench", *models, "--modes", "cold", *self.options(rounds=1))
        return [workload["name"] for workload in json.loads(self.json.read_text())["workloads"]]

    def test_models_of_one_name_are_told_apart(self):
        a, b = self.write("a/add.mlir", ADD), self.write("b/add.mlir", ADD)
        self.assertEqual(self.names(a, b), ["a/add.mlir", "b/add.mlir"])
        self.assertEqual(self.names(a, a), ["add", "add (2)"])
        self.assertEqual(self.names(a, self.write("a/add", ADD)), ["add.mlir", "a/add"])

    def test_markdown(self):
        result, _ = self.bench("--markdown")
        self.assertIn("### add", result.stdout)
        self.assertRegex(result.stdout, r"\| tuff:cpu +\|")

    def test_precision_is_the_models(self):
        self.model = self.write("dot.mlir", DOT_BF16)
        result, results = self.bench("--modes", "cold")
        self.assertEqual(results["workloads"][0]["precision"], "bf16")
        self.assertEqual(self.systems(results)["tuff:cpu"]["precision"], "bf16")
        self.assertIn("precision bf16", result.stdout)
        self.assertNotIn("computes in", result.stdout)

    def test_nothing_to_measure(self):
        self.refused("bench", code=2, says="nothing to measure")

    def test_a_workload_that_cannot_be_prepared_is_named(self):
        result = self.tuff("bench", self.folder / "none.mlir", self.model, *self.options())
        results = json.loads(self.json.read_text())
        self.assertIn("none.mlir", results["workloads"][0]["error"])
        self.assertIn("steady", results["workloads"][1]["systems"][0])
        self.assertIn("none.mlir", result.stdout)


class Peers(BenchTest):
    def test_a_peer_is_measured_beside_us(self):
        _, results = self.bench("--vs", "good", "--against", "good")
        ours, good = self.systems(results)["tuff:cpu"], self.systems(results)["good"]
        self.assertEqual(results["environment"]["versions"]["fake"], "1")
        self.assertEqual(results["workloads"][0]["reference"], "good")
        self.assertLess(ours["accuracy"]["max_rel_err"], bound("twin"))
        self.assertEqual(ours["ratio"]["against"], "good")
        self.assertLessEqual(ours["ratio"]["low"], ours["ratio"]["value"])
        self.assertLessEqual(ours["ratio"]["value"], ours["ratio"]["high"])
        self.assertEqual(ours["break_even"]["against"], "good")
        self.assertEqual(good["steady"]["median"], 1.0)

    def test_misbehaviour_is_named_and_the_run_goes_on(self):
        result, results = self.bench("--vs", "wrong,crash,missing,rounded,garbage,good")
        systems = self.systems(results)
        kinds = {name: s["error"]["kind"] for name, s in systems.items() if "error" in s}
        self.assertEqual(kinds, {"wrong": "wrong", "crash": "crash", "missing": "missing", "rounded": "precision",
                                 "garbage": "failed"})
        self.assertIn("the reason for the crash", systems["crash"]["error"]["message"])
        self.assertIn("out0", systems["wrong"]["error"]["message"])
        self.assertNotIn("runs", systems["wrong"])
        for name in kinds:
            self.assertNotIn("steady", systems[name])
            self.assertIn(f"{name}: {kinds[name]}", result.stdout)
        self.assertIn("steady", systems["good"])
        self.assertIn("steady", systems["tuff:cpu"])

    def test_a_hang_is_ended(self):
        _, results = self.bench("--vs", "hang", timeout=1)
        error = self.systems(results)["hang"]["error"]
        self.assertEqual((error["kind"], error["stage"]), ("hang", "steady"))
        self.assertIn("steady", self.systems(results)["tuff:cpu"])

    def test_a_ratio_far_from_the_published_one_is_told(self):
        result, results = self.bench("--vs", "jax,good,slow", rounds=1)
        systems = self.systems(results)
        self.assertEqual(systems["good"]["published"]["ratio"], 5.0)
        self.assertAlmostEqual(systems["good"]["published"]["off"], -0.8)
        self.assertIn("good: 1.00 times JAX here, 5.00 times published", result.stdout)
        self.assertNotIn("published", systems["slow"])

    def test_unknown_peer(self):
        self.refused("bench", self.model, *self.options(), "--vs", "nobody", code=2, says=["nobody", "good"])

    def test_python_without_packages(self):
        python = self.write("python", f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
        python.chmod(0o755)
        changes = {"python": python, "bench-dir": pathlib.Path(__file__).resolve().parents[2] / "bench"}
        _, results = self.bench("--vs", "jax", **changes)
        error = self.systems(results)["jax"]["error"]
        self.assertEqual(error["kind"], "missing")
        self.assertRegex(error["message"], "No module named '(ml_dtypes|numpy)'")
        result = self.tuff("bench", "gpt2", *self.options(**changes), code=1)
        self.assertIn("Workloads need JAX", result.stdout)

    def test_python_that_is_not_there(self):
        _, results = self.bench("--vs", "good", python=self.folder / "no-python")
        self.assertEqual(self.systems(results)["good"]["error"]["kind"], "crash")

    def test_interrupt_leaves_valid_partial_results(self):
        process = subprocess.Popen([TUFF, "bench", self.model, "--vs", "slow", *self.options(rounds=1000)],
                                   env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if "steady state" in line:
                break
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        results = json.loads(self.json.read_text())
        self.assertTrue(results["interrupted"])
        slow = self.systems(results)["slow"]
        self.assertEqual(slow["runs"][0]["mode"], "cold")
        self.assertEqual(slow["steady"]["median"], 300.0)
        self.assertNotIn("error", slow)


class Worker(TuffTest):
    """tuff's own worker, spoken to in the protocol."""

    def setUp(self):
        super().setUp()
        self.write("bundle/module.mlir", STEP)
        types = [{"dtype": "f32", "shape": [4]}] * 3
        self.write("bundle/signature.json", json.dumps({
            "format": 1, "arguments": [{"name": name, "kind": "input", **t} for name, t in zip("wvx", types)],
            "results": [{"name": name, **t} for name, t in zip("wv", types)]}))
        for name, values in {"w": [0, 0, 0, 0], "v": [10, 20, 30, 40], "x": [1, 2, 3, 4]}.items():
            self.write_npy(f"bundle/inputs/{name}.npy", "f4", [4], values)

    def outputs(self, device, runs, **workload):
        """Those of the last of so many runs."""
        self.write("bundle/workload.json", json.dumps({"name": "step", **workload}))
        requests = [{"do": "load", "bundle": str(self.folder / "bundle")}, {"do": "first"}]
        requests += [{"do": "burst", "ms": 0}] * (runs - 2)
        requests += [{"do": "outputs", "directory": str(self.folder)}, {"do": "end"}]
        done = subprocess.run([TUFF, "bench-worker", "--device", device], input="".join(json.dumps(r) + "\n" for r in requests),
                              env=self.environment(), capture_output=True, text=True, timeout=60)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([a for a in answers if "ok" not in a], [])
        self.assertEqual(len(answers), len(requests) + 1)
        return [list(read_npy(self.folder / f"out{i}.npy")[1]) for i in range(2)]

    def expected(self, runs):
        w, v, x = [0] * 4, [10, 20, 30, 40], [1, 2, 3, 4]
        for _ in range(runs):
            w = [a + b for a, b in zip(w, x)]
            v = [a + b for a, b in zip(reversed(v), w)]
        return [w, v]

    def check(self, device):
        for runs in (2, 3, 6):
            self.assertEqual(self.outputs(device, runs, carried=[[0, 0], [1, 1]]), self.expected(runs))
        self.assertEqual(self.outputs(device, 3), self.expected(1))

    def test_carried_outputs_are_the_next_runs_arguments(self):
        self.check("cpu")

    def test_carried_outputs_on_vulkan(self):
        self.needs_vulkan()
        self.check("vulkan")


def results_with(ms, precision="f32", system="tuff:cpu"):
    bursts = [[ms, 1.01 * ms], [ms], [0.99 * ms, ms]]
    steady = {"median": ms, "p90": ms, "p99": ms, "min": 0.99 * ms, "n": 5, "bursts": bursts}
    entry = {"system": system, "precision": precision, "steady": steady, "runs": [{"mode": "cold", "first_ms": 10 * ms}]}
    return {"format": "tuff-bench-1", "environment": {}, "workloads": [{"name": "add", "systems": [entry]}]}


class Compare(TuffTest):
    def compare(self, a, b, *options, code=0):
        paths = [self.write(name, json.dumps(r)) for name, r in (("a.json", a), ("b.json", b))]
        return self.tuff("bench", "compare", *paths, *options, code=code)

    def test_exit_codes(self):
        a = results_with(100)
        for ms, factor, code in [(100, "1.05x", 0), (110, "1.05x", 6), (110, "1.2", 0), (50, "1.05x", 0)]:
            with self.subTest(ms=ms, factor=factor):
                self.compare(a, results_with(ms), "--fail-if", factor, code=code)
        self.compare(a, results_with(500))  # a comparison alone never fails

    def test_a_peers_regression_is_not_ours(self):
        a, b = results_with(100), results_with(100)
        a["workloads"][0]["systems"] += results_with(100, system="jax")["workloads"][0]["systems"]
        b["workloads"][0]["systems"] += results_with(200, system="jax")["workloads"][0]["systems"]
        self.assertIn("2.000x", self.compare(a, b, "--fail-if", "1.05x").stdout)

    def test_json(self):
        row = json.loads(self.compare(results_with(100), results_with(120), "--json").stdout)["rows"][0]
        self.assertAlmostEqual(row["ratio"], 1.2)
        self.assertLessEqual(row["low"], row["ratio"])
        self.assertAlmostEqual(row["first_ratio"], 1.2)

    def test_sizes_of_a_sweep_are_compared_with_their_own(self):
        def sweep(*times):
            workloads = [dict(results_with(ms)["workloads"][0], batch=batch) for batch, ms in times]
            return dict(results_with(1), workloads=workloads)
        told = json.loads(self.compare(sweep((1, 100), (8, 300)), sweep((8, 600), (1, 100)), "--json").stdout)
        self.assertEqual([(row["workload"], round(row["ratio"], 3)) for row in told["rows"]],
                         [("add batch 1", 1.0), ("add batch 8", 2.0)])

    def test_unequal_precision_is_refused(self):
        result = self.compare(results_with(100), results_with(90, precision="bf16"), code=2)
        self.assertIn("unequal precision", result.stderr)

    def test_nothing_in_common(self):
        b = copy.deepcopy(results_with(100))
        b["workloads"][0]["name"] = "other"
        self.assertIn("one of the files only", self.compare(results_with(100), b).stdout)
        self.compare(results_with(100), b, "--fail-if", "1.05x", code=2)

    def test_files_that_are_no_results(self):
        good = self.write("good.json", json.dumps(results_with(1)))
        empty_burst = results_with(1)
        empty_burst["workloads"][0]["systems"][0]["steady"]["bursts"] = [[]]
        for text in ["", "[]", '{"format": "tuff-bench-2"}', '{"format": "tuff-bench-1"}', json.dumps(empty_burst)]:
            with self.subTest(text[:40]):
                self.refused("bench", "compare", good, self.write("bad.json", text), code=10, says="bad.json")

    def test_bad_factor(self):
        good = self.write("good.json", json.dumps(results_with(1)))
        for factor in ["fast", "x", "-1", "0", "1.05xx"]:
            self.refused("bench", "compare", good, good, f"--fail-if={factor}", code=2, says="--fail-if")


if __name__ == "__main__":
    harness.main()
