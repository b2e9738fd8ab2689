"""tuff compile: files that run as the model does, without compiling."""
import json

import harness
from harness import MODELS, TuffTest

MLP = MODELS / "mlp"
X = MLP / "inputs/x.npy"


class Compile(TuffTest):
    def compiled(self, *more, device="cpu"):
        file = self.folder / "mlp.tuff"
        self.tuff("compile", MLP, "-o", file, "--device", device, *more)
        return file

    def test_a_file_runs_as_its_model(self):
        file = self.compiled()
        for model, out in ((file, "saved"), (MLP, "model")):
            self.tuff("run", model, "--input", X, "--device", "cpu", "--output-dir", self.folder / out)
        self.assertEqual((self.folder / "saved/out0.npy").read_bytes(), (self.folder / "model/out0.npy").read_bytes())
        self.tuff("run", file, "--input", X, "--device", "cpu", "--check")
        self.assertIn("matmul", self.tuff("explain", file, "--device", "cpu").stdout)

    def test_what_was_written_is_told(self):
        told = json.loads(self.tuff("compile", MLP, "-o", self.folder / "p", "--device", "cpu", "--json").stdout)
        self.assertEqual(told["bytes"], (self.folder / "p").stat().st_size)
        self.assertGreater(told["operations"], told["kernels"])

    def test_weights_may_be_left_out(self):
        file = self.compiled("--without-weights")
        self.refused("run", file, "--input", f"x={X}", "--device", "cpu", code=2, says="No value is given")

    def test_damage_is_one_error(self):
        file = self.compiled()
        content = bytearray(file.read_bytes())
        content[-100] ^= 1
        file.write_bytes(content)
        self.refused("run", file, "--device", "cpu", code=10, says=["damaged", str(file)])
        file.write_bytes(content[:200])
        self.refused("run", file, "--device", "cpu", code=10, says=["damaged", "200"])

    def test_refusals(self):
        self.refused("compile", MLP, "-o", self.folder / "no/p", "--device", "cpu", code=1, says="cannot be created")
        self.refused("compile", MLP, "-o", self.folder, "--device", "cpu", code=1, says="is a directory")
        self.refused("compile", MLP, "-o", self.folder / "p", "--device", "reference", code=2, says="compiles nothing")
        self.refused("compile", MLP, code=2, says="--output")
        # Where a result is to go is looked at before the work.
        self.refused("profile", MLP, "--device", "cpu", "--trace", self.folder / "no/t", code=1, says="cannot be created")
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name != "cache"], [])


class Vulkan(TuffTest):
    def test_no_kernel_is_compiled_again(self):
        self.needs_vulkan()
        file = self.folder / "mlp.tuff"
        self.tuff("compile", MLP, "-o", file, "--device", "vulkan")
        counts = [json.loads(self.tuff("run", model, "--input", X, "--device", "vulkan", "--json",
                                       TUFF_CACHE_DIR=str(self.folder / cache)).stdout)
                  for model, cache in ((file, "empty"), (MLP, "other"))]
        self.assertEqual([run["glsl_compiled"] for run in counts], [0, counts[0]["kernels"]])


if __name__ == "__main__":
    harness.main()
