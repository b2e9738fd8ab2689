"""PyTorch on the CPU, eager."""
import os

from protocol import serve


class Torch:
    precision = "f32"

    def __init__(self):
        import torch

        self.torch = torch
        torch.set_num_threads(int(os.environ["BENCH_THREADS"]))
        torch.set_float32_matmul_precision("highest")
        self.versions = {"torch": torch.__version__}

    def load(self, bundle):
        from twins import module

        self.bundle, self.carried = bundle, bundle.carried_inputs
        self.module, self.inputs = module.make(bundle)

    def compile(self):
        self.call = self.module

    def run(self):
        from twins.module import TrainingStep

        with self.torch.inference_mode(not isinstance(self.module, TrainingStep)):
            self.result = self.call(*self.inputs)
        for i, output in self.carried:  # weights are updated in place
            self.inputs[i] = self.result[output]

    def outputs(self):
        from twins import module

        return module.outputs_of(self.bundle, self.result)


if __name__ == "__main__":
    serve(Torch)
