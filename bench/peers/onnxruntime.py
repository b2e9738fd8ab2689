"""ONNX Runtime on the CPU: ONNX models as they are; others by the torch twin, exported outside of what is timed."""
import os

from protocol import onnx_file, serve


class OnnxRuntime:
    precision = "f32"

    def __init__(self):
        import onnxruntime

        self.ort = onnxruntime
        self.versions = {"onnxruntime": onnxruntime.__version__}

    def load(self, bundle):
        self.session = None
        self.path = str(onnx_file.path_of(bundle))
        self.feeds = onnx_file.feeds_of(bundle)
        self.carried = bundle.carried_inputs

    def compile(self):
        # Its optimised models are not cached on disk: it has no cache that is on by default.
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = int(os.environ["BENCH_THREADS"])
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = self.ort.InferenceSession(self.path, options, providers=["CPUExecutionProvider"])
        names = {i.name for i in self.session.get_inputs()}
        self.used = {name: array for name, array in self.feeds.items() if name in names}

    def run(self):
        self.result = self.session.run(None, self.used)
        for i, output in self.carried:
            self.used[f"input{i}"] = self.result[output]

    def outputs(self):
        return self.result


if __name__ == "__main__":
    serve(OnnxRuntime)
