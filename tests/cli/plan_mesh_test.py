"""tuff plan --mesh: what each device of a mesh needs, sends and takes."""
import json

import harness
from harness import ADD, TuffTest

# A step of a layer whose batch is spread over "data", its weights over "model".
STEP = """module @m attributes {mhlo.num_partitions = 4 : i32} {
sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func public @main(
    %x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
    %w: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<64x32xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %1 = stablehlo.subtract %w, %0 : tensor<32x16xf32>
  return %1 : tensor<32x16xf32>
}
}
"""


class PlanMesh(TuffTest):
    def setUp(self):
        super().setUp()
        self.model = self.write("step.mlir", STEP)

    def plan(self, mesh, *options):
        return json.loads(self.tuff("plan", self.model, "--device", "cpu", "--mesh", mesh, "--json", *options).stdout)

    def test_what_a_device_needs_and_sends(self):
        for data, model in ((1, 1), (1, 4), (2, 2), (4, 2), (8, 8)):
            plan = self.plan(f"{data}x{model}")
            self.assertEqual(plan["devices"], data * model)
            weights = 32 * 16 * 4 // model
            self.assertEqual(plan["arguments_bytes"], 64 // data * 32 * 4 + 64 // data * (16 // model) * 4 + weights)
            self.assertEqual(plan["outputs_bytes"], weights)
            self.assertGreaterEqual(plan["peak_bytes"], plan["arguments_bytes"] + weights)
            self.assertEqual(plan["sent_bytes"], 2 * (weights * (data - 1) // data))
            exchanges = [(e["op"], e["operand"]) for e in plan["exchanges"]]
            self.assertEqual(exchanges, [("all_reduce", f"32x{16 // model}xf32")] if data > 1 else [])
            product = 2 * 64 // data * 32 * 16 // model
            self.assertIn(plan["flops"] - product, (0, 32 * 16 // model))  # the subtraction, where it is a step

    def test_the_time_of_a_step(self):
        plan = self.plan("4x1", "--link", "1MB/s,3ms", "--rate", "1MFLOP/s,1TB/s")
        self.assertAlmostEqual(plan["exchange_ms"], 2 * 3 + plan["sent_bytes"] / 1e3)
        self.assertAlmostEqual(plan["compute_ms"], plan["flops"] / 1e3)
        self.assertAlmostEqual(plan["step_ms"], plan["compute_ms"] + plan["exchange_ms"])
        crowded = self.plan("4x1", "--link", "1MB/s,3ms,2MB/s", "--rate", "1MFLOP/s,1TB/s", "--crowd", "2")
        self.assertAlmostEqual(crowded["exchange_ms"], 2 * 3 + plan["sent_bytes"] / 1e3 + plan["sent_bytes"] / 1e3)
        self.assertAlmostEqual(crowded["compute_ms"], 2 * plan["compute_ms"])
        called = self.plan("4x1", "--link", "1MB/s,3ms,2MB/s", "--rate", "1MFLOP/s,1TB/s", "--crowd", "2", "--call", "5ms")
        self.assertAlmostEqual(called["step_ms"], crowded["step_ms"] + 2 * 5)
        slow = self.plan("4x1", "--rate", "1TFLOP/s,1TB/s,10ms")
        self.assertAlmostEqual(slow["compute_ms"], 10 * slow["steps"])
        self.assertIsNone(slow["step_ms"])
        self.assertGreater(self.plan("2x2", "--measure")["compute_ms"], 0)

    def test_devices_compute_while_they_exchange(self):
        layers = [f"w{i}" for i in range(3)]
        text = "\n".join(
            ['module @m attributes {mhlo.num_partitions = 2 : i32} {', 'sdy.mesh @mesh = <["data"=2]>', "func.func @main("
             + ", ".join([f"%{w}: tensor<1024x1024xf32>" for w in layers]
                         + ['%x: tensor<64x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}'])
             + ") -> (" + ", ".join(["tensor<1024x1024xf32>"] * 3) + ") {"]
            + [f"%y{i} = stablehlo.{op} %x : tensor<64x1024xf32>" for i, op in enumerate(("sine", "cosine", "tanh"))]
            + [f"%g{i} = stablehlo.dot_general %x, %y{i}, contracting_dims = [0] x [0] : "
               "(tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<1024x1024xf32>" for i in range(3)]
            + [f"%n{i} = stablehlo.subtract %{w}, %g{i} : tensor<1024x1024xf32>" for i, w in enumerate(layers)]
            + ["return %n0, %n1, %n2 : " + ", ".join(["tensor<1024x1024xf32>"] * 3), "}", "}"])
        self.model = self.write("layers.mlir", text)
        options = ("--link", "1GB/s,1us", "--rate", "100GFLOP/s,1TB/s")
        beside, by_turns = self.plan("2", *options), self.plan("2", *options, "--one-host")
        self.assertEqual(by_turns["segments"], 2)
        self.assertGreater(beside["segments"], 2)
        self.assertEqual(beside["sent_bytes"], by_turns["sent_bytes"])
        self.assertAlmostEqual(by_turns["step_ms"], by_turns["compute_ms"] + by_turns["exchange_ms"])
        # All but the first product and the last update go on beside exchanges.
        self.assertLess(beside["step_ms"], by_turns["step_ms"] - by_turns["compute_ms"] / 2)
        self.assertGreater(beside["step_ms"], beside["exchange_ms"])

    def test_weights_are_gathered_when_they_are_needed(self):
        layers, matrix = 12, 1024 * 1024 * 4
        text = "\n".join(
            ['module @m attributes {mhlo.num_partitions = 2 : i32} {', 'sdy.mesh @mesh = <["data"=2]>', "func.func @main("
             + ", ".join([f'%w{i}: tensor<1024x1024xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"data"}}, {{}}]>}}'
                          for i in range(layers)]
                         + ['%x0: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}'])
             + ") -> (tensor<4096x1024xf32>) {"]
            + [f"%x{i + 1} = stablehlo.dot_general %x{i}, %w{i}, contracting_dims = [1] x [0] : "
               "(tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>" for i in range(layers)]
            + [f"return %x{layers} : tensor<4096x1024xf32>", "}", "}"])
        self.model = self.write("forward.mlir", text)
        plan = self.plan("2")
        self.assertEqual(plan["collectives"]["all_gather"], {"count": layers, "sent_bytes": layers * matrix // 2})
        activations = 3 * 2048 * 1024 * 4
        self.assertLess(plan["peak_bytes"], plan["arguments_bytes"] + activations + 5 * matrix)

    def test_in_words(self):
        words = self.tuff("plan", self.model, "--device", "cpu", "--mesh", "4x1", "--link", "1GB/s").stdout
        for text in ("4x1: 4 devices", "1 all_reduce of 3.0 KiB", "give --rate or --measure"):
            self.assertIn(text, words)

    def test_what_is_refused(self):
        for options, says in ((("--mesh", "0x2"), "(0x2) is no mesh"), (("--mesh", "2x"), "(2x) is no mesh"),
                              (("--mesh", "9999999999x2"), "is no mesh"), (("--mesh", "2"), '"data"=2, "model"=2'),
                              (("--mesh", "2x2", "--link", "5"), "(5) is not understood; as in 50GB/s,5us,10GB/s"),
                              (("--mesh", "2x2", "--link", "5GB/s,"), "is not understood"),
                              (("--mesh", "2x2", "--link", "5GB/s,3us,4us,5us"), "is not understood"),
                              (("--mesh", "2x2", "--rate", "1FLOP/s"), "as in 100TFLOP/s,2TB/s,5us"),
                              (("--mesh", "2x2", "--rate", "-1FLOP/s,1B/s"), "is not understood"),
                              (("--mesh", "2x2", "--shape", "x=3"), "fixed shapes"), (("--link", "5GB/s"), "goes with --mesh"),
                              (("--measure",), "goes with --mesh"), (("--crowd", "2"), "goes with --mesh"),
                              (("--mesh", "2x2", "--call", "5"), "as in 400us"), (("--call", "5us"), "goes with --mesh"),
                              (("--one-host",), "goes with --mesh")):
            self.refused("plan", self.model, "--device", "cpu", *options, code=2, says=says)
        self.refused("plan", self.model, "--mesh", "3x1", code=11, says="no multiple of its (3) parts")
        self.refused("plan", self.write("add.mlir", ADD), "--mesh", "2", code=2, says="for one device")


if __name__ == "__main__":
    harness.main()
