"""OpenVINO on the CPU, in f32: ONNX models as they are; others by the torch twin, exported outside of what is timed."""
import os

import numpy as np

from protocol import onnx_file, serve


class OpenVino:
    precision = "f32"

    def __init__(self):
        import openvino

        self.openvino = openvino
        self.core = openvino.Core()
        # Unless told, it computes in bf16 where the processor can.
        self.core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY",
                                       "INFERENCE_NUM_THREADS": int(os.environ["BENCH_THREADS"])})
        self.core.set_property({"CACHE_DIR": os.environ["BENCH_CACHE"]})
        self.versions = {"openvino": openvino.__version__.split("-")[0]}

    def load(self, bundle):
        self.path = str(onnx_file.path_of(bundle))
        self.feeds = onnx_file.feeds_of(bundle)
        self.carried = bundle.carried_inputs
        return "f32"  # as the hint says, models in bf16 too

    def compile(self):
        model = self.core.compile_model(self.path, "CPU")
        self.request = model.create_infer_request()
        for port in model.inputs:
            # A port has further names, of what its value is converted to.
            name = next(name for name in port.get_names() if name in self.feeds)
            self.request.set_tensor(port, self.openvino.Tensor(np.asarray(self.feeds[name], order="C")))
        self.count = len(model.outputs)
        self.swaps = [(model.input(f"input{i}"), model.outputs[output]) for i, output in self.carried]
        self.ran = False

    def run(self):
        if self.ran:
            self._carry()
        self.request.infer()
        self.ran = True

    def _carry(self):
        for into, out in self.swaps:
            argument, result = self.request.get_tensor(into), self.request.get_tensor(out)
            self.request.set_tensor(into, result)
            self.request.set_tensor(out, argument)

    def outputs(self):
        return [np.array(self.request.get_output_tensor(i).data) for i in range(self.count)]


if __name__ == "__main__":
    serve(OpenVino)
