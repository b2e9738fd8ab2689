"""Small ONNX files, without the package onnx."""


INT64 = 7


def onnx_model(op, inputs, opset=17, size=3, types={}):
    """An ONNX file: one node of `op` from the named inputs, vectors of 3 floats (of a size with a name), to y. `types` has
    other element types and shapes by name, None for a shape that is not told."""
    def field(number, value):  # of a protobuf message: an integer, or bytes
        return bytes([number << 3, value]) if isinstance(value, int) else bytes([number << 3 | 2, len(value)]) + value

    def extent(size):
        return field(1, field(1, size) if isinstance(size, int) else field(2, size.encode()))

    def described(name):
        element, shape = types.get(name, (1, (size,)))
        told = b"" if shape is None else field(2, b"".join(map(extent, shape)))
        return field(1, name.encode()) + field(2, field(1, field(1, element) + told))
    node = b"".join(field(1, name.encode()) for name in inputs) + field(2, b"y") + field(4, op.encode())
    graph = field(1, node) + b"".join(field(11, described(name)) for name in inputs) + field(12, described("y"))
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))
