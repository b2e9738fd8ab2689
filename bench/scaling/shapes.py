"""Graphs of about N operations, as StableHLO text. Every shape names what it is made of."""

SMALL = "tensor<8x16xf32>"
HEAD = "module @scaling {{\n  func.func public @main({arguments}) -> ({results}) {{\n"


class Text:
    """A function's body, operation by operation."""

    def __init__(self, arguments):
        self.arguments, self.lines, self.count = arguments, [], 0

    def add(self, text):
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"    {name} = stablehlo.{text}\n")
        return name

    def unary(self, op, x, kind=SMALL):
        return self.add(f"{op} {x} : {kind}")

    def binary(self, op, x, y, kind=SMALL):
        return self.add(f"{op} {x}, {y} : {kind}")

    def module(self, results):
        arguments = ", ".join(f"%{name}: {kind}" for name, kind in self.arguments)
        kinds = ", ".join(kind for _, kind in results)
        names = ", ".join(name for name, _ in results)
        return (HEAD.format(arguments=arguments, results=kinds) + "".join(self.lines)
                + f"    return {names} : {kinds}\n  }}\n}}\n")


def chain(size):
    """Each operation reads the one before it."""
    text, x = Text([("x", SMALL), ("y", SMALL)]), "%x"
    for i in range(size):
        x = text.binary(("add", "multiply", "subtract")[i % 3], x, "%y") if i % 2 else text.unary("tanh", x)
    return text.module([(x, SMALL)])


def wide(size):
    """Operations that nothing connects, added up by a tree."""
    text = Text([("x", SMALL), ("y", SMALL)])
    values = []
    for i in range(size // 4):
        constant = text.add(f"constant dense<{i / 16}> : {SMALL}")
        values.append(text.unary("tanh", text.binary("multiply", "%x", constant)))
    while len(values) > 1:
        pairs = [text.binary("add", a, b) for a, b in zip(values[::2], values[1::2])]
        values = pairs + values[len(values) - len(values) % 2:]
    return text.module([(values[0], SMALL)])


def diamond(size):
    """Two ways from each value to the next, again and again."""
    text, x = Text([("x", SMALL), ("y", SMALL)]), "%x"
    for _ in range(size // 4):
        left = text.binary("multiply", text.unary("tanh", x), "%y")
        x = text.binary("add", left, text.unary("negate", x))
    return text.module([(x, SMALL)])


def dot(text, x, y, x_kind, y_kind, kind):
    return text.add(f"dot_general {x}, {y}, contracting_dims = [1] x [0] : ({x_kind}, {y_kind}) -> {kind}")


def reduce_rows(text, op, x, start):
    kind, rows = SMALL, "tensor<8xf32>"
    row = text.add(f"reduce({x} init: {start}) applies stablehlo.{op} across dimensions = [1] : "
                   f"({kind}, tensor<f32>) -> {rows}")
    return text.add(f"broadcast_in_dim {row}, dims = [0] : ({rows}) -> {kind}")


def transformer(size):
    """Layers of norm, attention and a wider product, each with a residual; 40 operations a layer."""
    layers = max(1, size // 40)
    weights = [(f"w{name}", f"tensor<16x{n}xf32>") for name, n in (("q", 16), ("k", 16), ("v", 16), ("o", 16), ("u", 64))]
    text, x = Text([("x", SMALL), *weights, ("wd", "tensor<64x16xf32>")]), "%x"
    zero = text.add("constant dense<0.0> : tensor<f32>")
    low = text.add("constant dense<0xFF800000> : tensor<f32>")
    scale = text.add(f"constant dense<0.0625> : {SMALL}")

    def norm(x):
        mean = text.binary("multiply", reduce_rows(text, "add", x, zero), scale)
        centred = text.binary("subtract", x, mean)
        square = text.binary("multiply", centred, centred)
        variance = text.binary("multiply", reduce_rows(text, "add", square, zero), scale)
        return text.binary("multiply", centred, text.unary("rsqrt", text.binary("add", variance, scale)))

    def layer(x):
        y = norm(x)
        q, k, v = (dot(text, y, f"%w{name}", SMALL, "tensor<16x16xf32>", SMALL) for name in "qkv")
        scores = text.add(f"dot_general {q}, {k}, contracting_dims = [1] x [1] : ({SMALL}, {SMALL}) -> tensor<8x8xf32>")
        square, rows = "tensor<8x8xf32>", "tensor<8xf32>"
        top = text.add(f"reduce({scores} init: {low}) applies stablehlo.maximum across dimensions = [1] : "
                       f"({square}, tensor<f32>) -> {rows}")
        top = text.add(f"broadcast_in_dim {top}, dims = [0] : ({rows}) -> {square}")
        power = text.unary("exponential", text.binary("subtract", scores, top, square), square)
        total = text.add(f"reduce({power} init: {zero}) applies stablehlo.add across dimensions = [1] : "
                         f"({square}, tensor<f32>) -> {rows}")
        total = text.add(f"broadcast_in_dim {total}, dims = [0] : ({rows}) -> {square}")
        share = text.binary("divide", power, total, square)
        mixed = dot(text, share, v, square, SMALL, SMALL)
        x = text.binary("add", x, dot(text, mixed, "%wo", SMALL, "tensor<16x16xf32>", SMALL))
        up = dot(text, norm(x), "%wu", SMALL, "tensor<16x64xf32>", "tensor<8x64xf32>")
        up = text.unary("tanh", up, "tensor<8x64xf32>")
        return text.binary("add", x, dot(text, up, "%wd", "tensor<8x64xf32>", "tensor<64x16xf32>", SMALL))

    for _ in range(layers):
        x = layer(x)
    return text.module([(x, SMALL)])


def rnn(size):
    """A recurrent network that is written out: a slice of the input, two products and a cell a step; all
    states are the result."""
    steps, state = max(1, size // 8), "tensor<1x16xf32>"
    sequence = f"tensor<{steps}x16xf32>"
    text, h = Text([("x", sequence), ("h", state), ("wx", "tensor<16x16xf32>"), ("wh", "tensor<16x16xf32>")]), "%h"
    states = []
    for step in range(steps):
        x = text.add(f"slice %x [{step}:{step + 1}, 0:16] : ({sequence}) -> {state}")
        product = text.binary("add", dot(text, x, "%wx", state, "tensor<16x16xf32>", state),
                              dot(text, h, "%wh", state, "tensor<16x16xf32>", state), state)
        gate = text.unary("logistic", product, state)
        h = text.binary("add", text.binary("multiply", gate, h, state), text.unary("tanh", product, state), state)
        states.append(h)
    kinds = ", ".join(state for _ in states)
    result = text.add(f"concatenate {', '.join(states)}, dim = 0 : ({kinds}) -> {sequence}")
    return text.module([(result, sequence)])


SHAPES = {"chain": chain, "wide": wide, "diamond": diamond, "transformer": transformer, "rnn": rnn}
