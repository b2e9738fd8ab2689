"""Seed corpora for the fuzz targets of the readers: `python3 make_seeds.py OUT_DIR [MORE_DIR...]`.

Writes OUT_DIR/TARGET/* and OUT_DIR/TARGET.dict from files of the tests; MORE_DIR adds .mlir, .mlirbc, .onnx and .npy files
found below it (an unpacked conformance suite, say). Files above MAX_BYTES are left out: a fuzzer wants small ones.
Standard library only.
"""
import hashlib
import json
import pathlib
import re
import struct
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
MAX_BYTES = 16000
WORD = re.compile(rb"[A-Za-z_][\w.]{2,}")
SUFFIXES = {".mlir": "stablehlo_text", ".mlirbc": "stablehlo_bytecode", ".npy": "npy", ".onnx": "onnx"}
CACHE_FORMAT = 1  # of backend/cache_entry.cpp
SAVED_FORMAT = 1  # of frontend/saved/layout.h
AS_STORED = b"\xff"  # npy: the caller asks for no element type


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors_seeds():
    yield safetensors({})
    yield safetensors({"a": tensor("F32", [2, 2], 0, 16), "b": tensor("BF16", [3], 16, 22)}, bytes(range(22)))
    yield safetensors({"__metadata__": {"format": "pt"}, "m": tensor("BOOL", [3], 0, 3)}, b"\0\1\2")
    yield safetensors({"e": tensor("I64", [0, 4], 0, 0), "s": tensor("F64", [], 0, 8)}, bytes(8))
    yield safetensors({"q": tensor("F8_E4M3", [4], 0, 4), "h": tensor("F4", [3], 4, 6)}, bytes(6))
    yield safetensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{}}', b"\7")


def npy_seeds():
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n"
    for descr, order, shape, size in [("<f4", "False", "(2, 3)", 24), ("<u2", "False", "(5,)", 10),
                                      ("<i8", "True", "(2, 2)", 32), ("|b1", "False", "()", 1),
                                      ("<f2", "True", "(0, 3)", 0), ("<c8", "False", "(1,)", 8)]:
        text = (header % (descr, order, shape)).encode()
        yield AS_STORED + b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + bytes(size)
        yield b"\5\x93NUMPY\2\0" + struct.pack("<I", len(text)) + text + bytes(size)


def field(number, value):
    """A protobuf field: an integer, or the bytes of a message."""
    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_model(nodes, initializers=b"", opset=17):
    """A model from x, 2x3 floats, to y."""
    shape = b"".join(field(1, field(1, size)) for size in (2, 3))
    value = field(2, field(1, field(1, 1) + field(2, shape)))
    graph = nodes + initializers + field(11, field(1, b"x") + value) + field(12, field(1, b"y"))
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))


def onnx_node(op, inputs, attributes=b"", output=b"y"):
    return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op) + attributes)


def onnx_tensor(name, dtype, dims, raw):
    return field(5, b"".join(field(1, d) for d in dims) + field(2, dtype) + field(8, name) + field(9, raw))


def onnx_seeds():
    """Each way that a file is read by: attributes, initializers, shapes, subgraphs."""
    axis = field(5, field(1, b"axis") + field(3, 1) + field(20, 2))
    ints = lambda name, values: onnx_tensor(name, 7, [len(values)], struct.pack(f"<{len(values)}q", *values))
    yield onnx_model(onnx_node(b"Softmax", [b"x"], axis))
    yield onnx_model(onnx_node(b"Reshape", [b"x", b"s"]), ints(b"s", [3, -1]))
    yield onnx_model(onnx_node(b"Slice", [b"x", b"s", b"e"]), ints(b"s", [0, -1]) + ints(b"e", [2, -9]))
    yield onnx_model(onnx_node(b"MatMul", [b"x", b"w"]), onnx_tensor(b"w", 1, [3, 30], bytes(360)))
    yield onnx_model(onnx_node(b"NonZero", [b"x"]))
    yield onnx_model(onnx_node(b"Pad", [b"x", b"p"]), ints(b"p", [1, 2, 0, 5]))
    yield onnx_model(onnx_node(b"Resize", [b"x", b"", b"r"]), onnx_tensor(b"r", 1, [2], struct.pack("<2f", 2, 1.5)))
    yield onnx_model(onnx_node(b"Einsum", [b"x", b"x"], field(5, field(1, b"equation") + field(4, b"ij,kj->ik"))))
    body = (onnx_node(b"Add", [b"a", b"a"], output=b"b") + onnx_node(b"Identity", [b"c"], output=b"d")
            + b"".join(field(11, field(1, name)) for name in (b"i", b"c", b"a"))
            + b"".join(field(12, field(1, name)) for name in (b"d", b"b")))
    loop = onnx_node(b"Loop", [b"n", b"", b"x"], field(5, field(1, b"body") + field(6, body)))
    yield onnx_model(loop, onnx_tensor(b"n", 7, [], struct.pack("<q", 3)))


def golden_graphs():
    """The graphs of the passes' golden files, one a seed."""
    for path in sorted((TESTS / "passes").rglob("*.ir")):
        for graph in re.split(rb"(?m)^(?=graph )", path.read_bytes()):
            if graph.startswith(b"graph "):
                yield graph[:graph.rfind(b"\n}") + 3]


def golden_kernels():
    """The kernels of the golden files, one a seed."""
    for path in sorted((TESTS / "kernels" / "emit").glob("*.golden")):
        for kernel in re.findall(rb"(?ms)^kernel .*?^\}\n", path.read_bytes()):
            yield kernel


def saved_program(header, pieces=()):
    """As frontend/saved/write.cpp lays it out, but for the digest, which the target sets right."""
    def padded(data, byte):
        return data + byte * (-len(data) % 64)
    text = padded(json.dumps(header).encode(), b" ")
    data = b"".join(padded(piece, b"\0") for piece in pieces)
    sizes = struct.pack("<QQQ", len(text), 64 + len(text) + len(data), 0)
    return b"TUFFPROG" + struct.pack("<II", SAVED_FORMAT, 0) + sizes + bytes(24) + text + data


def saved_programs():
    """With values, constants apart, complex arguments, counted results and code."""
    graph = b'graph main(%0: f32[2,2] "z") {\n  %1 = constant i32[20] apart 0\n  return %0, %1\n}\n'
    header = {"tuff": "0.1.0", "made_for": "cpu", "module": "m.mlir", "graph": [0, len(graph)],
              "constants": [{"dtype": "i32", "shape": [20], "data": [128, 80]}],
              "arguments": [{"name": "z", "weight": True, "fixed": True, "value": [256, 16]}],
              "results": ["a", "b"], "complex_arguments": [True], "complex_results": [True, False],
              "code": {"ab": [320, 8]}}
    yield saved_program(header, [graph, bytes(range(80)), bytes(16), bytes(8)])
    graph = b"graph main(%0: f32[4], %1: i64[]) {\n  return %0, %1\n}\n"
    arguments = [{"name": "x", "init": {"scale": 0.5, "mean": 0}}, {"name": "n"}]
    yield saved_program({"graph": [0, len(graph)], "arguments": arguments, "results": ["y", "n"],
                         "counted": [[0, 0, 1]]}, [graph])


def cache_entries():
    """Entries as backend/cache_entry.cpp writes them, and one that is cut short."""
    for value in (b"", b"value", bytes(range(256)) * 8):
        key = hashlib.sha256(b"spirv\0key").digest()
        entry = (b"TUFFCACH" + struct.pack("<IIQ", CACHE_FORMAT, 0, len(value)) + key + hashlib.sha256(value).digest()
                 + value)
        yield entry
        yield entry[:-1]


def seeds(more):
    """Pairs (target, bytes)."""
    for path in sorted(p for root in [TESTS, *more] for p in root.rglob("*") if p.suffix in SUFFIXES):
        content = path.read_bytes()
        if len(content) <= MAX_BYTES:
            target = SUFFIXES[path.suffix]
            yield target, (AS_STORED if target == "npy" else b"") + content
    for path in sorted(TESTS.glob("models/*/signature.json")):
        yield "signature", path.read_bytes()
    yield from (("graph_text", graph) for graph in golden_graphs())
    yield from (("graphs", graph) for graph in golden_graphs())
    yield from (("kernel_text", kernel) for kernel in golden_kernels())
    yield from (("saved", program) for program in saved_programs())
    yield from (("cache_entry", entry) for entry in cache_entries())
    yield from (("safetensors", content) for content in safetensors_seeds())
    yield from (("npy", content) for content in npy_seeds())
    yield from (("onnx", content) for content in onnx_seeds())


def main(out, more):
    words = {}
    for number, (target, content) in enumerate(seeds(more)):
        folder = out / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed{number:05}").write_bytes(content)
        words.setdefault(target, set()).update(WORD.findall(content))
    for target, found in words.items():
        # Binary words are chance. A dictionary without a line is one that libFuzzer refuses.
        lines = ["# words of the seeds"]
        if target not in ("stablehlo_bytecode", "npy", "onnx"):
            lines += ['"%s"' % word.decode() for word in sorted(found) if len(word) < 40]
        (out / f"{target}.dict").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), [pathlib.Path(p) for p in sys.argv[2:]])
