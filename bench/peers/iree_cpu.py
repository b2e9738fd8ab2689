"""IREE on the CPU (llvm-cpu, for this processor)."""
from protocol import serve
from protocol.iree import Iree


def make():
    return Iree("local-task", ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                               "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"])


if __name__ == "__main__":
    serve(make)
