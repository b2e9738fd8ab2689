"""What both IREE peers are: the module compiled from StableHLO by iree-compile, run by its runtime."""
import hashlib
import importlib.metadata
import os
import pathlib

import numpy as np


class Iree:
    precision = "f32"

    def __init__(self, driver, compiler_options):
        import iree.compiler
        import iree.runtime

        self.compiler, self.runtime = iree.compiler, iree.runtime
        self.options = compiler_options
        self.device_object = iree.runtime.get_device(driver)
        self.versions = {"iree": importlib.metadata.version("iree-base-compiler")}

    def load(self, bundle):
        self.module, self.carried = bundle.module(), bundle.carried
        self.arguments = [self.runtime.asdevicearray(self.device_object, np.array(value)) for value in bundle.values()]

    def compile(self):
        config = self.runtime.Config(device=self.device_object)
        module = self.runtime.VmModule.copy_buffer(config.vm_instance, self._compiled())
        context = self.runtime.SystemContext(vm_modules=[module], config=config)
        functions = context.modules[module.name]
        self.call = functions["main"]

    def _compiled(self):
        """The compiled module: IREE compiles ahead of time, so its file is kept as other compilers keep their caches."""
        key = hashlib.sha256(self.module + repr(self.options).encode()).hexdigest()
        path = pathlib.Path(os.environ["BENCH_CACHE"]) / (key + ".vmfb")
        if not path.exists():
            path.write_bytes(self.compiler.compile_str(self.module, input_type="stablehlo", extra_args=self.options))
        return path.read_bytes()

    def run(self):
        result = self.call(*self.arguments)  # `main` waits for the device; `main$async` would not
        self.results = result if isinstance(result, (tuple, list)) else [result]
        for argument, output in self.carried:
            self.arguments[argument] = self.results[output]

    def outputs(self):
        return [self._to_host(result) for result in self.results]

    def _to_host(self, array):
        """A copy through staging memory: `to_host` hands Vulkan unaligned host memory, which it refuses."""
        runtime, source = self.runtime, array._buffer_view.get_buffer()
        staging = self.device_object.allocator.allocate_buffer(
            memory_type=int(runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE),
            allowed_usage=int(runtime.BufferUsage.TRANSFER_TARGET | runtime.BufferUsage.MAPPING_SCOPED),
            allocation_size=source.byte_length())
        done = self.device_object.create_semaphore(0)
        self.device_object.queue_copy(source, staging, wait_semaphores=runtime.HalFence.create_at(done, 0),
                                      signal_semaphores=runtime.HalFence.create_at(done, 1))
        runtime.HalFence.create_at(done, 1).wait()
        return np.array(staging.map().asarray(array._buffer_view.shape, array._get_raw_dtype()))
