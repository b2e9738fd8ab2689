"""Every way to use tuff wrongly: the exit code, and a message that names the place and the cure."""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import time

import harness
from harness import ADD, MODELS, TuffTest, onnx_model

ROOT = pathlib.Path(__file__).resolve().parents[2]
MLP = MODELS / "mlp"
X = MLP / "inputs" / "x.npy"


class Usage(TuffTest):
    def test_help_and_version(self):
        for arguments in [["--help"], ["run", "--help"], ["--version"]]:
            self.assertIn("tuff", self.tuff(*arguments).stdout)

    def test_unknown_words(self):
        self.refused(code=2, says="subcommand")
        self.refused("frobnicate", code=2, says="frobnicate")
        self.refused("run", MLP, "--frobnicate", code=2, says="--frobnicate")
        self.refused("run", code=2, says="MODEL")
        self.refused("run", MLP, "--device", "tpu", code=2, says="The device (tpu) is not known; use auto")
        self.refused("explain", MLP, "--after", "nothing", code=2, says=["(nothing)", "canonicalize"])
        self.refused("run", MLP, "--device", "cpu", "--input", X, "--disable", "nothing", code=2, says="nothing")

    def test_unknown_environment(self):
        result = self.tuff("run", MLP, "--input", X, "--device", "reference", TUFF_NONSENSE="1", TUFF_LOG="compiler")
        self.assertIn("TUFF_NONSENSE is not known", result.stderr)
        self.assertIn("unknown topic (compiler)", result.stderr)

    def test_every_variable_that_something_reads_is_known(self):
        read = set()
        for room in ["ir", "shaders", "backend", "frontend", "tests", "bench"]:
            for path in (ROOT / room).rglob("*"):
                if path.suffix in (".cpp", ".h", ".py"):
                    read |= set(re.findall(r"""(?:getenv\(|environ\.get\(|environ\[)["'](TUFF_\w+)""", path.read_text()))
        self.assertGreater(len(read), 20)
        told = self.tuff("completion", "bash", **{name: "" for name in read}).stderr
        self.assertNotIn("is not known", told)

    def test_device_from_the_environment(self):
        self.refused("run", MLP, "--input", X, code=2, says="(abacus)", TUFF_DEVICE="abacus")

    def test_require_gpu(self):
        self.refused("run", MLP, "--input", X, "--device", "cpu", "--require-gpu", code=5, says="--require-gpu")


class Arguments(TuffTest):
    def test_missing(self):
        bundle = self.folder / "mlp"
        shutil.copytree(MLP, bundle, ignore=shutil.ignore_patterns("inputs"))
        self.refused("run", bundle, "--device", "reference", code=2, says=["x (3x13xf32)", "--input NAME=FILE.npy"])

    def test_unknown_name_and_too_many(self):
        self.refused("run", MLP, "--input", f"y={X}", code=2, says=["no argument (y)"])
        self.refused("run", MLP, "--input", X, "--input", X, code=2, says="more files than inputs")

    def test_wrong_shape_and_type(self):
        shape = self.write_npy("shape.npy", "f4", [2], [1, 2])
        self.refused("run", MLP, "--input", f"x={shape}", code=10, says=["shape.npy", "(3x13xf32)", "(2xf32)"])
        dtype = self.write_npy("dtype.npy", "i4", [2], [1, 2])
        self.refused("run", MLP, "--input", f"x={dtype}", code=10, says=["dtype.npy", "i32", "f32", "(x)"])

    def test_missing_and_broken_arrays(self):
        self.refused("run", MLP, "--input", f"x={self.folder}/none.npy", code=10, says="No such file")
        broken = self.write("broken.npy", b"\x93NUMPY\1\0\xff\xffgarbage")
        self.refused("run", MLP, "--input", f"x={broken}", code=10, says=["broken.npy", "truncated"])

    def test_broken_weights(self):
        lying = self.write("lying.safetensors", struct.pack("<Q", 1 << 60) + b"{}")
        self.refused("run", MLP, "--input", X, "--weights", lying, code=10, says=["lying.safetensors", str(1 << 60)])
        header = json.dumps({"layers.0.b": {"dtype": "F32", "shape": [29], "data_offsets": [0, 8]}}).encode()
        short = self.write("short.safetensors", struct.pack("<Q", len(header)) + header + bytes(8))
        self.refused("run", MLP, "--input", X, "--weights", short, code=10, says=["layers.0.b", "(116)", "(8)"])


class Modules(TuffTest):
    def test_no_file(self):
        self.refused("run", "no_such_file.mlir", code=10, says=["no_such_file.mlir", "No such file"])

    def test_pipes_and_devices_are_refused_at_once(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refused("run", pipe, code=10, says=["pipe", "no regular file"])
        self.refused("run", "/dev/zero", code=10, says="no regular file")
        self.refused("run", MLP, "--input", X, "--weights", pipe, code=10, says=["pipe", "no regular file"])

    def test_onnx(self):
        self.refused("run", self.write("model.onnx", b"x"), code=10, says=["model.onnx", "no ONNX model"])
        self.refused("run", self.write("twist.onnx", onnx_model("Twist", ["x"])), "--input", X, code=11,
                     says=["twist.onnx", "y (Twist, opset 17)", "OPERATORS.md"])

    def test_malformed_text_shows_the_place(self):
        path = self.write("bad.mlir", ADD.replace("%arg0, %arg1 :", "%arg0, !! :"))
        result = self.refused("run", path, code=10, says=["bad.mlir:2:", "stablehlo.add %arg0, !!"])
        line = result.stderr.splitlines()
        caret = next(text for text in line if text.strip() == "^" or text.rstrip().endswith("^"))
        source = next(text for text in line if "stablehlo.add %arg0" in text)
        self.assertEqual(source[caret.index("^")], "!")

    def test_unknown_operation(self):
        path = self.write("op.mlir", ADD.replace("stablehlo.add", "stablehlo.frobnicate"))
        self.refused("run", path, code=11, says=["stablehlo.frobnicate", "op.mlir:2:"])

    def test_bundles(self):
        self.refused("run", self.folder, code=10, says="module.mlir")
        self.write("bundle/module.mlir", ADD)
        self.refused("run", self.folder / "bundle", code=10, says="signature.json")
        self.write("bundle/signature.json", '{"format": 1, "arguments": [], "results": []}')
        self.refused("run", self.folder / "bundle", code=10, says="(0) arguments and (0) results")


# Names of others' files are shown, not obeyed.
class Names(TuffTest):
    ESCAPES = "\x1b]0;owned\x07\x1b[2Jx\u009b31m"

    def check(self, text):
        self.assertIn("\\x1b]0;owned\\x07\\x1b[2Jx\\xc2\\x9b31m", text)
        self.assertFalse([c for c in text if ord(c) < 32 and c not in "\n\t" or 0x7f <= ord(c) < 0xa0])

    def bundle(self):
        bundle = self.folder / "named"
        shutil.copytree(MLP, bundle, dirs_exist_ok=True)
        signature = json.loads((bundle / "signature.json").read_text())
        for argument in signature["arguments"]:
            if argument["name"] == "x":
                argument["name"] = self.ESCAPES
        signature["results"][0]["name"] = self.ESCAPES
        (bundle / "signature.json").write_text(json.dumps(signature))
        return bundle

    def test_in_errors(self):
        self.check(self.refused("run", self.bundle(), "--device", "cpu", code=2, says="owned").stderr)

    def test_in_reports(self):
        result = self.tuff("run", self.bundle(), "--device", "cpu", "--input", X)
        self.check(result.stdout)
        shown = self.tuff("run", self.bundle(), "--device", "cpu", "--input", X, "--json")
        self.assertFalse([c for c in shown.stdout if ord(c) < 32 and c != "\n" or ord(c) >= 0x7f])
        self.assertEqual(json.loads(shown.stdout)["outputs"][0]["name"], self.ESCAPES)


class Interrupt(TuffTest):
    def test_ctrl_c_ends_an_endless_loop(self):
        loop = self.write("loop.mlir", """func.func public @main(%arg0: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<i32>
    cond {
      %true = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %true : tensor<i1>
    } do {
      %c = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }
  return %0 : tensor<i32>
}
""")
        zero = self.write_npy("zero.npy", "i4", [], [0])
        process = subprocess.Popen([harness.TUFF, "run", loop, "--input", zero, "--device", "reference"],
                                   env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
        self.assertEqual((process.returncode, output), (130, b""))


if __name__ == "__main__":
    harness.main()
