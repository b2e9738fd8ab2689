"""ResNet-50 and BERT-base as quantised ONNX models, by onnxruntime.quantization.

    python -m workloads.quantized DIR [NAME...]

writes DIR/resnet50_f32.onnx, resnet50_qdq.onnx, resnet50_dynamic.onnx and the same of bert. Weights are random with a
fixed seed: what is measured is time, and that two systems agree. Static: QDQ with u8 activations and i8 weights by
channel; dynamic: i8 weights, activations are quantised in each run. Needs onnx, onnxruntime and numpy.
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

OPSET = 17


class Network:
    """Nodes and weights of one graph."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def weight(self, *shape, scale=1.0):
        return self.constant((self.random.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, *inputs, **attributes):
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name, **attributes))
        return name

    def model(self, name, argument, result):
        self.nodes[-1].output[0] = "y"
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)]
        graph = helper.make_graph(self.nodes, name, [argument], outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def resnet50():
    """He and others, Deep Residual Learning (2015), table 1; batch norms are in the weights already."""
    net = Network(50)

    def conv(x, ins, outs, size, stride=1, relu=True):
        w = net.weight(outs, ins, size, size, scale=(2 / (ins * size * size)) ** 0.5)
        y = net.node("Conv", x, w, net.weight(outs, scale=0.05), kernel_shape=[size] * 2, strides=[stride] * 2,
                     pads=[size // 2] * 4)
        return net.node("Relu", y) if relu else y

    x = conv("x", 3, 64, 7, 2)
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = conv(x, channels, width, 1)
            y = conv(y, width, width, 3, stride)
            y = conv(y, width, 4 * width, 1, relu=False)
            if block == 0:
                x = conv(x, channels, 4 * width, 1, stride, relu=False)
            channels = 4 * width
            x = net.node("Relu", net.node("Add", y, x))
    x = net.node("Flatten", net.node("GlobalAveragePool", x))
    net.node("Gemm", x, net.weight(1000, channels, scale=channels**-0.5), net.weight(1000, scale=0.05), transB=1)
    argument = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 224, 224])
    return net.model("resnet50", argument, [1, 1000])


def bert(layers=12, hidden=768, heads=12, length=128, vocabulary=2000):
    """BERT-base's encoder as torch.onnx writes it, with a small vocabulary."""
    net = Network(12)

    def linear(x, ins, outs):
        return net.node("Add", net.node("MatMul", x, net.weight(ins, outs, scale=ins**-0.5)),
                        net.weight(outs, scale=0.05))

    def norm(x):
        ones = net.constant(np.ones(hidden, np.float32))
        return net.node("LayerNormalization", x, ones, net.weight(hidden, scale=0.05), epsilon=1e-12)

    def gelu(x):
        scaled = net.node("Div", x, net.constant(np.float32(2**0.5)))
        one = net.node("Add", net.node("Erf", scaled), net.constant(np.float32(1)))
        return net.node("Mul", net.node("Mul", x, one), net.constant(np.float32(0.5)))

    split = net.constant(np.array([1, length, heads, hidden // heads]))
    joined = net.constant(np.array([1, length, hidden]))
    root = net.constant(np.float32((hidden // heads) ** 0.5))

    def heads_of(x, *order):
        return net.node("Transpose", net.node("Reshape", linear(x, hidden, hidden), split), perm=list(order))

    words = net.node("Gather", net.weight(vocabulary, hidden), "x")
    x = norm(net.node("Add", words, net.weight(length, hidden, scale=0.1)))
    for _ in range(layers):
        queries, keys, values = heads_of(x, 0, 2, 1, 3), heads_of(x, 0, 2, 3, 1), heads_of(x, 0, 2, 1, 3)
        scores = net.node("Softmax", net.node("Div", net.node("MatMul", queries, keys), root), axis=-1)
        mixed = net.node("Transpose", net.node("MatMul", scores, values), perm=[0, 2, 1, 3])
        x = norm(net.node("Add", linear(net.node("Reshape", mixed, joined), hidden, hidden), x))
        x = norm(net.node("Add", linear(gelu(linear(x, hidden, 4 * hidden)), 4 * hidden, hidden), x))
    argument = helper.make_tensor_value_info("x", TensorProto.INT64, [1, length])
    return net.model("bert", argument, [1, length, hidden])


class Samples(CalibrationDataReader):
    """A few random inputs."""

    def __init__(self, model, count=2):
        random, (x,) = np.random.default_rng(1), model.graph.input
        shape = [d.dim_value for d in x.type.tensor_type.shape.dim]
        whole = x.type.tensor_type.elem_type == TensorProto.INT64
        self.samples = [{"x": random.integers(0, 2000, shape) if whole else
                         random.standard_normal(shape).astype(np.float32)} for _ in range(count)]

    def get_next(self):
        return self.samples.pop() if self.samples else None


def write(name, directory):
    model = {"resnet50": resnet50, "bert": bert}[name]()
    plain, ready = directory / f"{name}_f32.onnx", directory / f"{name}_ready.onnx"
    onnx.save(model, plain)
    quant_pre_process(str(plain), str(ready), skip_symbolic_shape=True)
    quantize_static(str(ready), str(directory / f"{name}_qdq.onnx"), Samples(model), quant_format=QuantFormat.QDQ,
                    per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    quantize_dynamic(str(ready), str(directory / f"{name}_dynamic.onnx"), weight_type=QuantType.QInt8)
    ready.unlink()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for each in sys.argv[2:] or ("resnet50", "bert"):
        write(each, target)
