"""One step of a workload on the JAX platform at hand (`JAX_PLATFORMS=tuff TUFF_DEVICE=cpu`): its planned peak and the
memory that the process took for it."""
import re
import time

import jax
import numpy as np

from . import memory

CLEAR_PEAK = "5"  # written to clear_refs: the process's peak begins anew


def measure(spec):
    """Prints the executable's planned peak beside the growth of this process's resident memory, in MiB."""
    workload = memory.build(spec)
    args = (workload.params, *workload.inputs)
    step = memory.lower(workload).compile()
    planned = memory.total(step)
    before = _status("VmRSS")
    args = [jax.block_until_ready(jax.device_put(np.asarray(leaf))) for leaf in _valued(args)]
    with open("/proc/self/clear_refs", "w") as file:
        file.write(CLEAR_PEAK)
    start = time.perf_counter()
    jax.block_until_ready(step(*jax.tree.unflatten(jax.tree.structure((workload.params, *workload.inputs)), args)))
    measured = _status("VmHWM") - before
    print(f"{spec}: planned {planned / memory.MIB:,.1f} MiB, measured {measured / memory.MIB:,.1f} MiB "
          f"({measured / planned - 1:+.1%}), {time.perf_counter() - start:.0f} s")


def _valued(args):
    """The leaves one by one, weights with a name, so that the host holds one at a time."""
    for i, leaf in enumerate(jax.tree.leaves(args)):
        yield leaf.named(str(i)) if hasattr(leaf, "named") else leaf


def _status(key):
    with open("/proc/self/status") as file:
        return int(re.search(key + r":\s+(\d+) kB", file.read())[1]) * 1024
