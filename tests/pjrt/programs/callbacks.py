"""Callbacks into Python: in jit, scan, while, cond, vmap and grad, ordered and not, with every element type and errors."""
import contextlib
import functools
import gc
import io
import json
import logging
import weakref

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify, io_callback

logging.getLogger("jax").setLevel(logging.CRITICAL)  # it tells of every exception that a callback raises
seen = []


def note(*values):
    seen.append([np.asarray(value).tolist() for value in values])


def noted():
    """What was noted since the last time."""
    jax.effects_barrier()
    notes, seen[:] = list(seen), []
    return notes


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def sine(x, **how):
    return jax.pure_callback(lambda x: np.sin(np.asarray(x)), like(x), x, **how)


@jax.custom_vjp
def host_square(x):
    return jax.pure_callback(lambda x: np.asarray(x) ** 2, like(x), x, vmap_method="expand_dims")


host_square.defvjp(lambda x: (host_square(x), x),
                   lambda x, g: (jax.pure_callback(lambda x, g: 2 * np.asarray(x) * np.asarray(g), like(x), x, g,
                                                  vmap_method="broadcast_all"),))


def complex_numbers(x):
    """Complex in, complex out, and a mixture."""
    def turn(z, x):
        return np.conj(z) * x, np.abs(z), z[0]
    z = x + 1j * x[::-1]
    return [part(y) for y in jax.pure_callback(turn, (like(z), like(x), like(z[0])), z, x) for part in (jnp.real, jnp.imag)]


@jax.jit
def in_scan(x):
    def step(total, row):
        jax.debug.callback(note, total, ordered=True)
        total = total + sine(row).sum()
        return total, io_callback(lambda t: np.float32(t) * 2, like(total), total, ordered=True)
    return lax.scan(step, jnp.float32(0), x)


@jax.jit
def in_while(n):
    def body(state):
        i, x = state
        jax.debug.callback(note, i)
        return i + 1, sine(x) + 1
    return lax.while_loop(lambda state: state[0] < n, body, (0, jnp.float32(0.5)))


@jax.jit
def in_cond(i, x):
    def branch(name):
        def run(x):
            jax.debug.callback(functools.partial(note, name), x, ordered=True)
            return sine(x) if name == "sine" else x * 2
        return run
    return lax.switch(i, [branch("sine"), branch("double"), branch("twice")], x)


@jax.jit
def loops_in_loops(x):
    def inner(j, carry):
        i, x = carry
        jax.debug.callback(note, i, j, ordered=True)
        lax.cond((i + j) % 2 == 0, lambda: jax.debug.callback(note, "even", ordered=True), lambda: None)
        return i, x + 1

    def outer(i, x):
        return lax.fori_loop(0, i, inner, (i, x))[1]
    return lax.fori_loop(0, 4, outer, x)


@jax.jit
def twice_alike(x):
    """Equal loops whose results nobody reads, and yet both happen."""
    for _ in range(2):
        lax.fori_loop(0, 2, lambda i, x: (jax.debug.callback(note, x), x)[1], x)
    return x


@jax.jit
def condition_with_effects(x):
    def below(state):
        jax.debug.callback(note, state[0], ordered=True)
        return state[0] < 3
    return lax.while_loop(below, lambda state: (state[0] + 1, state[1] * 2), (0, x))


def element_types():
    def every(*xs):
        return [np.asarray(x)[::-1].copy() for x in xs]
    xs = [jnp.array([0, 1, 3], dtype) for dtype in ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16",
                                                   "bfloat16", "float32")]
    xs += [jnp.zeros((0, 4)), jnp.float32(3).reshape(1)]
    ys = jax.jit(lambda *xs: jax.pure_callback(every, [like(x) for x in xs], *xs))(*xs)
    return [[str(y.dtype), list(y.shape), np.asarray(y, np.float32).tolist()] for y in ys]


def prints_in_scan(ordered, x):
    """The scan's results, the slope through it, and what is printed in its rounds."""
    def step(total, row):
        total = total * 2 + row.sum()
        jax.debug.print("{row} makes {total}", row=row, total=total, ordered=ordered)
        return total, total

    def scanned(x):
        return lax.scan(step, jnp.float32(0), x)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        numbers = [jax.jit(scanned)(x), jax.jit(jax.vmap(scanned))(jnp.stack([x, -x])) if not ordered else 0]
        numbers.append(jax.jit(jax.grad(lambda x: scanned(x)[0]))(x) if not ordered else 0)
        jax.effects_barrier()
    lines = text.getvalue().splitlines()
    return [numbers, lines if ordered else sorted(lines)]


def error_of(function, *args):
    """Of a program's run: the last line of what Python said, and that the next run is right."""
    try:
        jax.block_until_ready(function(*args))
        jax.effects_barrier()
    except Exception as error:  # pylint: disable=broad-except
        lines = [line for line in str(error).splitlines() if "only odd" in line]
        return [lines[-1].strip() if lines else str(error)]
    return "no error"


def fail_if_even(x):
    if int(x) % 2 == 0:
        raise ValueError("only odd numbers, please")
    return np.asarray(x)


@jax.jit
def checked_sum(x):
    checkify.check(jnp.all(x > 0), "not positive: {least}", least=x.min())
    return x.sum()


def jax_in_callback(x):
    return np.asarray(jnp.dot(x, x) + jax.jit(jnp.sum)(x))


class Big:
    """A callable that is known to be gone."""

    def __call__(self, x):
        return np.asarray(x)


def is_released():
    big = Big()
    gone = weakref.ref(big)
    f = jax.jit(lambda x: jax.pure_callback(big, like(x), x))
    jax.block_until_ready(f(jnp.ones(2)))
    alive = gone() is not None
    f = big = None
    jax.clear_caches()
    gc.collect()
    return [alive, gone() is None]


vector = jnp.arange(1.0, 5.0)
results = {}
results["jit"] = jax.jit(lambda x: sine(x) + 1)(vector)
results["eager"] = sine(vector)
results["no arguments"] = jax.jit(lambda: jax.pure_callback(lambda: np.float32(7), like(jnp.float32(0))))()
results["vmap"] = [jax.vmap(lambda x: sine(x, vmap_method=how))(vector.reshape(2, 2))
                   for how in ("sequential", "expand_dims", "broadcast_all")]
results["grad"] = jax.jit(jax.grad(lambda x: jnp.sum(host_square(x) * vector)))(vector)
results["vmap of grad"] = jax.vmap(jax.grad(host_square))(vector)
results["scan"] = [in_scan(vector.reshape(2, 2)), noted()]
results["while"] = [in_while(3), noted()]
results["cond"] = [[in_cond(i, jnp.float32(0.3)) for i in range(3)], noted()]
results["loops"] = [loops_in_loops(jnp.float32(0)), noted()]
results["twice"] = [twice_alike(jnp.float32(1)), noted()]
results["condition"] = [condition_with_effects(jnp.float32(1)), noted()]
results["complex"] = jax.jit(complex_numbers)(vector)
results["types"] = element_types()
jax.jit(lambda x: [jax.debug.callback(note, x * i) for i in range(4)] and x)(vector)
results["unordered"] = sorted(noted())
jax.jit(jax.vmap(lambda x: jax.debug.callback(note, x)))(vector)
results["vmap of debug"] = sorted(noted())
jax.debug.callback(note, vector)
io_callback(note, None, vector)
results["eager effects"] = noted()
for i in range(3):
    jax.jit(lambda x: io_callback(note, None, x, ordered=True))(vector * i)
results["ordered between programs"] = noted()
compiled = jax.jit(lambda x: (io_callback(note, None, x, ordered=True), x + 1)[1]).lower(vector).compile()
results["prints in a scan"] = [prints_in_scan(ordered, vector.reshape(2, 2)) for ordered in (True, False)]
results["ahead of time"] = [[compiled(vector) for _ in range(3)], noted()]
even = jax.jit(lambda x: jax.pure_callback(fail_if_even, like(x), x))
results["errors"] = [error_of(even, 2), even(3)]
results["error of an effect"] = error_of(jax.jit(lambda x: jax.debug.callback(fail_if_even, x)), 4)
results["wrong shape"] = "shape" in error_of(jax.jit(lambda x: jax.pure_callback(lambda x: np.zeros(3, np.float32), like(x), x)),
                                             vector)[0]
check = jax.jit(checkify.checkify(checked_sum))
results["checkify"] = [str(check(x)[0].get()).splitlines()[:1] for x in (vector, -vector)]
results["jax in a callback"] = jax.jit(lambda x: jax.pure_callback(jax_in_callback, like(x[0]), x) * 2)(vector)
results["donated"] = jax.jit(lambda x: sine(x) + x, donate_argnums=0)(vector + 1)
results["released"] = is_released()
jax.debug.print("the end: {}", vector.sum())
print(json.dumps(jax.tree.map(lambda x: np.asarray(x).tolist() if isinstance(x, (jax.Array, np.ndarray)) else x, results)))
