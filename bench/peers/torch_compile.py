"""PyTorch with torch.compile (inductor; needs a C++ compiler)."""
import os

from peers.torch import Torch
from protocol import serve


class TorchCompile(Torch):
    def __init__(self):
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["BENCH_CACHE"]
        super().__init__()

    def compile(self):
        self.torch.compiler.reset()
        self.call = self.torch.compile(self.module, dynamic=False)


if __name__ == "__main__":
    serve(TorchCompile)
