"""The ONNX file of a bundle: the model itself, or its twin's, written once per bundle and shared by the peers that read
ONNX."""
import os
import pathlib

from .bundle import Unsupported

OPSET = 20  # has Gelu and LayerNormalization


def path_of(bundle):
    """The file; the twin's is exported by torch.onnx where nobody has done it yet. Weights lie beside it."""
    if bundle.onnx:
        return bundle.onnx
    from twins import module

    directory = pathlib.Path(bundle.directory) / "onnx"
    if not directory.exists():
        twin, inputs = module.make(bundle)
        if isinstance(twin, module.TrainingStep):
            raise Unsupported("Training steps are not exported to ONNX.")
        _export(twin, inputs, bundle, directory)
    return directory / "model.onnx"


def feeds_of(bundle):
    """{name in the file: array} of the inputs, in the module's order."""
    inputs = bundle.inputs()
    return inputs if bundle.onnx else {f"input{i}": array for i, array in enumerate(inputs.values())}


def _export(twin, inputs, bundle, directory):
    import torch

    part = directory.with_name(f"onnx.{os.getpid()}")
    part.mkdir()
    # Names by number: the order is the module's, and the exporter may rename what it likes.
    torch.onnx.export(twin, tuple(inputs), str(part / "model.onnx"), dynamo=True, external_data=True, verbose=False,
                      opset_version=OPSET, input_names=[f"input{i}" for i in range(len(inputs))],
                      output_names=[f"output{i}" for i in range(len(bundle.results))])
    part.rename(directory)
