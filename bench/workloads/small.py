"""Small programs, loops, indexing and moved data: what stands between the models. The set `small` of sets.json.

Each program takes its inputs alone and is named by its kind: call, loop, index, order, window, move, narrow, reduce.
"""
import jax
import jax.numpy as jnp
from jax import lax


def _windows(x, size, init, combine):
    """Windows of size x size, side by side, over [b, h, w, c]."""
    return lax.reduce_window(x, init, combine, (1, size, size, 1), (1, size, size, 1), "VALID")


def _gradient(loss):
    return jax.grad(lambda x: jnp.sum(loss(x) ** 2))


def _steps(body, x, length):
    return lax.scan(lambda c, _: (body(c), None), x, None, length=length)[0]


def _nested_while(x):
    inner = lambda c: lax.while_loop(lambda s: s[1] < 4, lambda s: (s[0] * 0.97 + jnp.roll(s[0], 1) * 0.02, s[1] + 1), (c, 0))[0]
    return _steps(inner, x, 500)


def _newton(a):
    """Square roots, each to its own precision."""
    a = jnp.abs(a) + 0.5
    step = lambda s, y: lax.while_loop(lambda r: jnp.abs(r * r - y) > 1e-5, lambda r: 0.5 * (r + y / r), s)
    return jax.vmap(step)(a, a)


def _rnn(x, w):
    return lax.scan(lambda h, y: (jnp.tanh(h @ (w * 0.1) + y), h[0, 0]), x[0], x)


def _linear_recurrence(a, b):
    """y[i] = a[i] y[i - 1] + b[i]."""
    combine = lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1])
    return lax.associative_scan(combine, (a, b))[1]


def _best_path(scores, steps):
    """The scores of the best path to each state, and where it came from."""
    step = lambda c, y: (jnp.max(c[:, None] + scores, 0) + y, jnp.argmax(c[:, None] + scores, 0))
    return lax.scan(step, steps[0], steps)[1]


def _edit_distance(a, b):
    """One row of the table after another."""
    def next_row(row, x):
        def next_place(left, at):
            least = jnp.minimum(jnp.minimum(left, row[at + 1]) + 1, row[at] + (x != b[at]))
            return least, least
        first = row[0] + 1
        return jnp.concatenate([first[None], lax.scan(next_place, first, jnp.arange(b.size))[1]]), None
    return lax.scan(next_row, jnp.arange(b.size + 1), a)[0][-1]


def _stencil(x):
    """Five points of a plane."""
    return 4 * x[1:-1, 1:-1] - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]


# name: (function of the inputs, their shapes: floats, or (high, *shape) of integers in [0, high)).
F, I = "f32", "i32"
PROGRAMS = {
    "call_add": (lambda x: x + 1, [(F, 16)]),
    "call_mlp": (lambda x, w: jnp.tanh(jnp.tanh(x @ w) @ w), [(F, 1, 64), (F, 64, 64)]),
    "call_norm": (lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5), [(F, 4, 64)]),
    "loop_scalar": (lambda x: _steps(lambda c: jnp.sin(c) * 0.9 + 0.1, x, 5000), [(F,)]),
    "loop_vector": (lambda x: _steps(lambda c: c * 0.99 + jnp.cos(c) * 0.01, x, 5000), [(F, 64)]),
    "loop_data": (lambda x: lax.while_loop(lambda c: jnp.max(jnp.abs(c)) > 1e-5, lambda c: c * 0.998, x + 2), [(F, 16)]),
    "loop_nested": (_nested_while, [(F, 32)]),
    "loop_branch": (lambda x: _steps(lambda c: lax.cond(c[0] > 0, lambda v: v - 0.7, lambda v: v + 1, c), x, 3000), [(F, 4)]),
    "loop_update": (lambda x: lax.fori_loop(1, 1000, lambda i, c: c.at[i].set(c[i - 1] * 0.5 + 1), x), [(F, 1000)]),
    "loop_newton": (_newton, [(F, 256)]),
    "loop_best_path": (_best_path, [(F, 16, 16), (F, 500, 16)]),
    "loop_edit_distance": (_edit_distance, [(I, 4, 64), (I, 4, 64)]),
    "loop_rnn": (_rnn, [(F, 100, 8, 64), (F, 64, 64)]),
    "index_gather": (lambda x, k: x[k], [(F, 16384, 64), (I, 16384, 16384)]),
    "index_scatter": (lambda x, k, u: x.at[k].add(u), [(F, 65536), (I, 65536, 65536), (F, 65536)]),
    "index_segments": (lambda x, k: jax.ops.segment_sum(x, k, 1000), [(F, 1 << 19), (I, 1000, 1 << 19)]),
    "index_histogram": (lambda x, y: jnp.zeros((64, 64), jnp.int32).at[x, y].add(1), [(I, 64, 1 << 19), (I, 64, 1 << 19)]),
    "index_segment_max": (lambda x, k: jax.ops.segment_max(x, k, 4096), [(F, 1 << 18), (I, 4096, 1 << 18)]),
    "index_along": (lambda x, k: jnp.take_along_axis(x, k, 1), [(F, 2048, 256), (I, 256, 2048, 256)]),
    "order_top_k": (lambda x: lax.top_k(x, 40), [(F, 16, 50257)]),
    "order_cumsum": (lambda x: jnp.cumsum(x, 0), [(F, 4096, 256)]),
    "order_cumsum_line": (lambda x: lax.cumsum(x, reverse=True), [(F, 1 << 20)]),
    "order_recurrence": (_linear_recurrence, [(F, 65536), (F, 65536)]),
    "order_sort": (lambda x: jnp.sort(x, -1), [(F, 64, 4096)]),
    "window_average_gradient": (_gradient(lambda x: _windows(x, 2, 0.0, lax.add)), [(F, 32, 28, 28, 16)]),
    "window_max_gradient": (_gradient(lambda x: _windows(x, 2, -jnp.inf, lax.max)), [(F, 32, 28, 28, 16)]),
    "move_heads": (lambda x: jnp.transpose(x, (0, 2, 1, 3)), [(F, 16, 128, 12, 64)]),
    "move_quarter_turn": (lambda x: jnp.rot90(x) + 0, [(F, 2048, 2048)]),
    "move_channels": (lambda a, b, c: jnp.concatenate([a, b, c], -1), [(F, 8, 56, 56, 64), (F, 8, 56, 56, 32), (F, 8, 56, 56, 16)]),
    "move_nearest": (lambda x: jax.image.resize(x, (8, 128, 128, 16), "nearest"), [(F, 8, 64, 64, 16)]),
    "move_stencil": (_stencil, [(F, 1024, 1024)]),
    "move_pad": (lambda x: jnp.pad(x, 3), [(F, 1024, 1024)]),
    "move_one_hot": (lambda k: jax.nn.one_hot(k, 1000), [(I, 1000, 4096)]),
    "narrow_divide": (lambda x: x // 7 + x % 13, [(I, 1 << 30, 1 << 20)]),
    "narrow_saturate": (lambda x: jnp.clip(x * 3 - 100, 0, 255).astype(jnp.uint8), [(I, 256, 1 << 20)]),
    "narrow_f16": (lambda x: jnp.tanh(x.astype(jnp.float16)) + 1, [(F, 1 << 20)]),
    "reduce_short": (lambda x: jnp.sum(x * x, -1), [(F, 300000, 3)]),
    "reduce_argmax": (lambda x: jnp.argmax(x, 1), [(F, 100000, 20)]),
    "reduce_columns": (lambda x: jnp.sum(x, 0), [(F, 4096, 1024)]),
    "reduce_matvec": (lambda a, x: a @ x, [(F, 2048, 2048), (F, 2048)]),
}
