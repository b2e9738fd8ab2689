"""while_loop, fori_loop, cond and switch, with trip counts that depend on the data."""
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@jax.jit
def collatz(n):
    def halve_or_grow(carry):
        n, steps = carry
        return lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), steps + 1
    return lax.while_loop(lambda carry: carry[0] != 1, halve_or_grow, (n, 0))[1]


@jax.jit
def newton(a):
    def improve(x):
        return 0.5 * (x + a / x)
    return lax.while_loop(lambda x: jnp.max(jnp.abs(x * x - a)) > 1e-4, improve, jnp.ones_like(a))


@jax.jit
def power_iteration(matrix):
    def multiply(_, x):
        x = matrix @ x
        return x / jnp.linalg.norm(x)
    vector = lax.fori_loop(0, 30, multiply, jnp.ones(matrix.shape[0]))
    return vector @ matrix @ vector


@jax.jit
def dispatch(i, x):
    return lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * x], x)


@jax.jit
def mandelbrot(x, y):
    def iterate(carry):
        i, u, v, count = carry
        u, v = u * u - v * v + x, 2 * u * v + y
        inside = u * u + v * v < 4
        return i + 1, jnp.where(inside, u, 2.0), jnp.where(inside, v, 0.0), count + inside
    zero = jnp.zeros_like(x)
    return lax.while_loop(lambda c: c[0] < 20, iterate, (0, zero, zero, jnp.zeros_like(x, jnp.int32)))[3]


matrix = jnp.cos(jnp.arange(64.0)).reshape(8, 8)
grid = jnp.meshgrid(jnp.linspace(-2.0, 0.47, 9), jnp.linspace(-1.11, 1.13, 7))
results = {
    "collatz": [int(collatz(n)) for n in (1, 6, 27)],
    "batched": jax.vmap(collatz)(jnp.array([7, 9, 97])),
    "newton": newton(jnp.array([2.0, 9.0, 100.0])),
    "power": power_iteration(matrix @ matrix.T),
    "switch": [float(dispatch(i, 0.7)) for i in range(3)],
    "mandelbrot": mandelbrot(*grid),
    "gradient": jax.grad(lambda x: lax.fori_loop(0, 5, lambda i, y: jnp.sin(y) * x, x))(1.2),
    "cumulative": lax.associative_scan(jnp.add, jnp.arange(10.0)),
}
print(json.dumps({name: np.asarray(x).tolist() for name, x in results.items()}))
