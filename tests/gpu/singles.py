"""Models of one operation each, as StableHLO text: what kernels of a kind become, apart from any network."""


def tensor(dtype, *shape):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{dtype}>"


def module(arguments, result, *lines):
    """A function of the typed arguments %a0, %a1, ...; its result is %r."""
    names = ", ".join(f"%a{i}: {argument}" for i, argument in enumerate(arguments))
    body = "".join(f"  {line}\n" for line in lines)
    return f"func.func public @main({names}) -> {result} {{\n{body}  return %r : {result}\n}}\n"


def matmul(m, n, k, dtype="f32", sums=None, transposed=False, batch=()):
    """C = A B, or A B^T; `sums`: the type of C."""
    a = tensor(dtype, *batch, m, k)
    b = tensor(dtype, *batch, n, k) if transposed else tensor(dtype, *batch, k, n)
    c = tensor(sums or dtype, *batch, m, n)
    rank = len(batch)
    batches = f"batching_dims = {list(range(rank))} x {list(range(rank))}, " if batch else ""
    return module([a, b], c, f"%r = stablehlo.dot_general %a0, %a1, {batches}contracting_dims = [{rank + 1}] x "
                             f"[{rank + int(transposed)}] : ({a}, {b}) -> {c}")


def quantised(m, n, k, stored):
    """A times weights that are dequantised: integers and a scale for each column."""
    weights, wide, scales, a, c = (tensor(stored, k, n), tensor("f32", k, n), tensor("f32", n), tensor("f32", m, k),
                                   tensor("f32", m, n))
    return module([a, weights, scales], c,
                  f"%0 = stablehlo.convert %a1 : ({weights}) -> {wide}",
                  f"%1 = stablehlo.broadcast_in_dim %a2, dims = [1] : ({scales}) -> {wide}",
                  f"%2 = stablehlo.multiply %0, %1 : {wide}",
                  f"%r = stablehlo.dot_general %a0, %2, contracting_dims = [1] x [0] : ({a}, {wide}) -> {c}")


def convolution(n, size, cin, cout, window, stride=1, dtype="f32"):
    pad, out = window // 2, -(-size // stride)
    x, w, y = (tensor(dtype, n, size, size, cin), tensor(dtype, window, window, cin, cout),
               tensor(dtype, n, out, out, cout))
    low = max(0, (out - 1) * stride + window - size) - pad
    return module([x, w], y,
                  "%r = stablehlo.convolution(%a0, %a1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
                  f"window = {{stride = [{stride}, {stride}], pad = [[{low}, {pad}], [{low}, {pad}]]}} "
                  f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({x}, {w}) -> {y}")


def reduction(op, init, dims, *shape, dtype="f32"):
    kept = [size for i, size in enumerate(shape) if i not in dims]
    x, y, scalar = tensor(dtype, *shape), tensor(dtype, *kept), tensor(dtype)
    return module([x], y, f"%c = stablehlo.constant dense<{init}> : {scalar}",
                  f"%r = stablehlo.reduce(%a0 init: %c) applies stablehlo.{op} across dimensions = {list(dims)} : "
                  f"({x}, {scalar}) -> {y}")


def softmax(rows, columns, dtype="f32"):
    x, row, scalar = tensor(dtype, rows, columns), tensor(dtype, rows), tensor(dtype)
    return module([x], x, f"%low = stablehlo.constant dense<0xFF800000> : {scalar}" if dtype == "f32" else
                  f"%low = stablehlo.constant dense<0xFC00> : {scalar}",
                  f"%zero = stablehlo.constant dense<0.0> : {scalar}",
                  f"%0 = stablehlo.reduce(%a0 init: %low) applies stablehlo.maximum across dimensions = [1] : "
                  f"({x}, {scalar}) -> {row}",
                  f"%1 = stablehlo.broadcast_in_dim %0, dims = [0] : ({row}) -> {x}",
                  f"%2 = stablehlo.subtract %a0, %1 : {x}", f"%3 = stablehlo.exponential %2 : {x}",
                  f"%4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : "
                  f"({x}, {scalar}) -> {row}",
                  f"%5 = stablehlo.broadcast_in_dim %4, dims = [0] : ({row}) -> {x}",
                  f"%r = stablehlo.divide %3, %5 : {x}")


def attention(heads, rows, columns, depth, dtype="f32"):
    """softmax(Q K^T) V."""
    q, k, s = (tensor(dtype, heads, rows, depth), tensor(dtype, heads, columns, depth),
               tensor(dtype, heads, rows, columns))
    row, scalar = tensor(dtype, heads, rows), tensor(dtype)
    low = "0xFF800000" if dtype == "f32" else "0xFC00"
    return module([q, k, k], q, f"%low = stablehlo.constant dense<{low}> : {scalar}",
                  f"%zero = stablehlo.constant dense<0.0> : {scalar}",
                  f"%s = stablehlo.dot_general %a0, %a1, batching_dims = [0] x [0], contracting_dims = [2] x [2] : "
                  f"({q}, {k}) -> {s}",
                  f"%0 = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : "
                  f"({s}, {scalar}) -> {row}",
                  f"%1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : ({row}) -> {s}",
                  f"%2 = stablehlo.subtract %s, %1 : {s}", f"%3 = stablehlo.exponential %2 : {s}",
                  f"%4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [2] : "
                  f"({s}, {scalar}) -> {row}",
                  f"%5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : ({row}) -> {s}",
                  f"%6 = stablehlo.divide %3, %5 : {s}",
                  f"%r = stablehlo.dot_general %6, %a2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
                  f"({s}, {k}) -> {q}")


def elementwise(op, dtype, *shape, operands=2):
    x = tensor(dtype, *shape)
    names = ", ".join(f"%a{i}" for i in range(operands))
    return module([x] * operands, x, f"%r = stablehlo.{op} {names} : {x}")


def transpose(rows, columns, dtype="f32"):
    x, y = tensor(dtype, rows, columns), tensor(dtype, columns, rows)
    # What follows keeps the transpose from being a view of a caller's argument.
    return module([x, y], y, f"%0 = stablehlo.transpose %a0, dims = [1, 0] : ({x}) -> {y}",
                  f"%r = stablehlo.add %0, %a1 : {y}")


def cumulative_sum(rows, columns):
    x, scalar = tensor("f32", rows, columns), tensor("f32")
    return module([x], x, f"%c = stablehlo.constant dense<0.0> : {scalar}",
                  '%r = "stablehlo.reduce_window"(%a0, %c) <{padding = dense<[[0, 0], '
                  f"[{columns - 1}, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, {columns}>}}> ({{",
                  f"^bb0(%x: {scalar}, %y: {scalar}):", f"  %s = stablehlo.add %x, %y : {scalar}",
                  f"  stablehlo.return %s : {scalar}", f"}}) : ({x}, {scalar}) -> {x}")


def gather_rows(rows, width, count):
    table, ids, y = tensor("f32", rows, width), tensor("i32", count, 1), tensor("f32", count, width)
    return module([table, ids], y,
                  '%r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
                  "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = "
                  f"false, slice_sizes = array<i64: 1, {width}>}}> : ({table}, {ids}) -> {y}")


def sort(rows, columns):
    x, scalar = tensor("f32", rows, columns), tensor("f32")
    return module([x], x, '%r = "stablehlo.sort"(%a0) <{dimension = 1 : i64, is_stable = false}> ({',
                  f"^bb0(%x: {scalar}, %y: {scalar}):",
                  f"  %p = stablehlo.compare LT, %x, %y : ({scalar}, {scalar}) -> tensor<i1>",
                  "  stablehlo.return %p : tensor<i1>", f"}}) : ({x}) -> {x}")


def scatter_add(size, count):
    """x with updates added at indices, of which some are alike."""
    x, ids, updates, scalar = tensor("f32", size), tensor("i32", count, 1), tensor("f32", count), tensor("f32")
    return module([x, ids, updates], x,
                  '%r = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<'
                  "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({",
                  f"^bb0(%x: {scalar}, %y: {scalar}):", f"  %s = stablehlo.add %x, %y : {scalar}",
                  f"  stablehlo.return %s : {scalar}", f"}}) : ({x}, {ids}, {updates}) -> {x}")


def loop(state, steps):
    """x = 0.9 sin(x), so many times."""
    x, scalar = tensor("f32", state), tensor("i32")
    return module([x], x, f"%zero = stablehlo.constant dense<0> : {scalar}", f"%one = stablehlo.constant dense<1> : {scalar}",
                  f"%all = stablehlo.constant dense<{steps}> : {scalar}", f"%factor = stablehlo.constant dense<0.9> : {x}",
                  f"%w:2 = stablehlo.while(%i = %zero, %c = %a0) : {scalar}, {x}", "cond {",
                  f"  %p = stablehlo.compare LT, %i, %all : ({scalar}, {scalar}) -> tensor<i1>",
                  "  stablehlo.return %p : tensor<i1>", "} do {",
                  f"  %s = stablehlo.sine %c : {x}", f"  %n = stablehlo.multiply %s, %factor : {x}",
                  f"  %j = stablehlo.add %i, %one : {scalar}", f"  stablehlo.return %j, %n : {scalar}, {x}", "}",
                  f"%r = stablehlo.add %w#1, %a0 : {x}")


SINGLES = {
    "mm_128": matmul(128, 128, 128), "mm_512": matmul(512, 512, 512), "mm_1024": matmul(1024, 1024, 1024),
    "mm_4096": matmul(4096, 4096, 4096), "mm_1023": matmul(1023, 1023, 1023),
    "mm_128x3072x768": matmul(128, 3072, 768), "mm_128x768x3072": matmul(128, 768, 3072),
    "mm_1024_T": matmul(1024, 1024, 1024, transposed=True), "mm_batched": matmul(197, 197, 64, batch=(48,)),
    "mm_f16_1024": matmul(1024, 1024, 1024, "f16"), "mm_f16_f32_1024": matmul(1024, 1024, 1024, "f16", "f32"),
    "mm_bf16_1024": matmul(1024, 1024, 1024, "bf16", "f32"), "mm_i8_1024": matmul(1024, 1024, 1024, "i8", "i32"),
    "mm_wq8": quantised(128, 4096, 4096, "i8"),
    "mv_f32_4096": matmul(1, 4096, 4096), "mv_f32_4096_T": matmul(1, 4096, 4096, transposed=True),
    "mv_f16_4096": matmul(1, 4096, 4096, "f16"), "mv_f16_4096_T": matmul(1, 4096, 4096, "f16", transposed=True),
    "mv_i8_4096": matmul(1, 4096, 4096, "i8", "i32"), "mv_wq8": quantised(1, 4096, 4096, "i8"),
    "decode_2x2304x768": matmul(2, 2304, 768), "logits_2x50257x768": matmul(2, 50257, 768, transposed=True),
    "conv1": convolution(1, 56, 64, 256, 1), "conv3": convolution(1, 56, 64, 64, 3),
    "conv3_f16": convolution(1, 56, 64, 64, 3, dtype="f16"), "conv7": convolution(1, 224, 3, 64, 7, stride=2),
    "attention_24x64": attention(24, 64, 64, 64), "attention_12x512": attention(12, 512, 512, 64),
    "attention_decode": attention(24, 1, 1024, 64), "attention_f16": attention(24, 128, 128, 64, "f16"),
    "softmax_1024": softmax(1024, 1024), "softmax_2x50257": softmax(2, 50257), "softmax_f16": softmax(1024, 1024, "f16"),
    "sum_all_16M": reduction("add", "0.0", (0,), 1 << 24), "sum_rows": reduction("add", "0.0", (1,), 65536, 64),
    "sum_cols": reduction("add", "0.0", (0,), 65536, 64),
    "add_f32": elementwise("add", "f32", 1 << 22), "add_f16": elementwise("add", "f16", 1 << 22),
    "add_i8": elementwise("add", "i8", 1 << 22), "tanh_f32": elementwise("tanh", "f32", 1 << 22, operands=1),
    "divide_f32": elementwise("divide", "f32", 1 << 22), "transpose_2048": transpose(2048, 2048),
    "cumsum": cumulative_sum(64, 4096), "gather": gather_rows(50257, 768, 128), "sort": sort(16, 1024),
    "scatter_add_1M": scatter_add(1 << 16, 1 << 20), "loop_64x10000": loop(64, 10000),
}
