"""ONNX Runtime on the CPU; the file is exported from the torch twin, outside of what is timed."""
import os

from protocol import serve


class OnnxRuntime:
    precision = "f32"

    def __init__(self):
        import onnxruntime
        import torch  # noqa: F401  exports the twin

        self.ort = onnxruntime
        self.versions = {"onnxruntime": onnxruntime.__version__}

    def load(self, bundle):
        from twins import onnx_file

        self.session = None
        self.path = str(onnx_file.path_of(bundle))
        self.feeds = {f"input{i}": array for i, array in enumerate(bundle.inputs().values())}
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
