"""IREE on the CPU (llvm-cpu, for this processor)."""
import os

from protocol import serve
from protocol.iree import Iree


def make():
    import iree.runtime

    iree.runtime.flags.parse_flags("--task_topology_group_count=" + os.environ["BENCH_THREADS"])
    return Iree("local-task", ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                               "--iree-llvmcpu-target-cpu=host"])


if __name__ == "__main__":
    serve(make)
