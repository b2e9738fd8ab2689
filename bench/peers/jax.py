"""JAX on the CPU: workloads are traced from their definition, other models compiled from StableHLO."""
import os
import time

import numpy as np

from protocol import serve


class Jax:
    precision = "f32"

    def __init__(self):
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax

        self.jax = jax
        jax.config.update("jax_default_matmul_precision", "highest")
        jax.config.update("jax_compilation_cache_dir", os.environ["BENCH_CACHE"])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        jax.devices()
        self.versions = {"jax": jax.__version__}

    def load(self, bundle):
        self.bundle, self.result, self.carried = bundle, None, bundle.carried
        self.values = [self.jax.device_put(np.asarray(value)) for value in bundle.values()]
        self.jax.block_until_ready(self.values)
        if bundle.model:
            self.fn, self.tree = self._definition()

    def _definition(self):
        """The workload's function of flat arguments, and the tree they belong in."""
        from workloads import registry

        w = self.bundle.workload
        workload = registry.build(w["model"], w["batch"], w["seq"])
        tree = self.jax.tree.structure((workload.params, *workload.inputs))
        return workload.fn, tree

    def compile(self):
        if not self.bundle.model:
            return self._compile_stablehlo()
        fn, tree = self.fn, self.tree
        start = time.perf_counter()
        # A new function each time: jit must not find an earlier trace.
        lowered = self.jax.jit(lambda *flat: fn(*self.jax.tree.unflatten(tree, flat)), keep_unused=True,
                               donate_argnums=[a for a, _ in self.carried]).lower(*self.values)
        traced = 1e3 * (time.perf_counter() - start)
        self.call = lowered.compile()
        return {"import": traced}

    def _compile_stablehlo(self):
        from jax._src.interpreters import mlir
        from jax._src.lib import xla_client
        from jaxlib.mlir import ir

        with mlir.make_ir_context():
            module = ir.Module.parse(self.bundle.module())
            devices = xla_client.DeviceList(tuple(self.jax.local_devices()[:1]))
            backend = self.jax.local_devices()[0].client
            executable = backend.compile_and_load(module, devices, xla_client.CompileOptions())
        self.call = lambda *values: [shards[0] for shards in
                                     executable.execute_sharded(list(values)).disassemble_into_single_device_arrays()]

    def run(self):
        self.result = self.call(*self.values)
        self.jax.block_until_ready(self.result)
        leaves = self.jax.tree.leaves(self.result)
        for argument, output in self.carried:
            self.values[argument] = leaves[output]

    def outputs(self):
        return self.jax.tree.leaves(self.result)


if __name__ == "__main__":
    serve(Jax)
