"""Sparse systems of equations: products and solutions by callbacks into NumPy within loops, with gradients, and JAX's own
sparse matrices beside them."""
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse
from jax.scipy.sparse.linalg import cg

# Laplace's operator on a grid and a part that is not symmetric, as rows, columns and values.
SIDE = 9
SIZE = SIDE * SIDE
cells = np.arange(SIZE).reshape(SIDE, SIDE)
pairs = np.concatenate([np.stack([cells[1:].ravel(), cells[:-1].ravel()]), np.stack([cells[:, 1:].ravel(), cells[:, :-1].ravel()])], axis=1)
ROWS = np.concatenate([cells.ravel(), pairs[0], pairs[1]])
COLUMNS = np.concatenate([cells.ravel(), pairs[1], pairs[0]])
values = jnp.asarray(np.concatenate([np.full(SIZE, 4.5), np.full(2 * pairs.shape[1], -1.0)]), jnp.float32)
b = jnp.asarray(np.sin(0.3 * np.arange(SIZE)), jnp.float32)


def dense(values):
    matrix = np.zeros((SIZE, SIZE), np.float64)
    np.add.at(matrix, (ROWS, COLUMNS), np.asarray(values, np.float64))
    return matrix


def on_host(f, *args):
    return jax.pure_callback(f, jax.ShapeDtypeStruct((SIZE,), jnp.float32), *args, vmap_method="sequential")


def product(values, x):
    return on_host(lambda values, x: (dense(values) @ np.asarray(x)).astype(np.float32), values, x)


@jax.custom_vjp
def solve(values, b):
    return on_host(lambda values, b: np.linalg.solve(dense(values), np.asarray(b)).astype(np.float32), values, b)


def solve_forward(values, b):
    x = solve(values, b)
    return x, (values, x)


def solve_backward(saved, dx):
    values, x = saved
    db = on_host(lambda values, dx: np.linalg.solve(dense(values).T, np.asarray(dx)).astype(np.float32), values, dx)
    return -db[ROWS] * x[COLUMNS], db


solve.defvjp(solve_forward, solve_backward)


def conjugate_gradients(values, b):
    """The products within the loop are callbacks."""
    return cg(lambda x: product(values, x), b, tol=1e-6, maxiter=60)[0]


def heat(values, b):
    """Implicit steps in time: a callback in each round of a scan."""
    def step(u, _):
        u = solve(values, u)
        return u, jnp.sum(u)

    return jax.lax.scan(step, b, None, length=5)


indices = jnp.asarray(np.stack([ROWS, COLUMNS], axis=1))
matrix = sparse.BCOO((values, indices), shape=(SIZE, SIZE))
loss = lambda values, b: jnp.sum(solve(values, b) ** 2)
results = {
    "solve": jax.jit(solve)(values, b),
    "gradients": jax.jit(jax.grad(loss, argnums=(0, 1)))(values, b),
    "conjugate gradients": jax.jit(conjugate_gradients)(values, b),
    "heat": jax.jit(heat)(values, b),
    "heat's gradient": jax.jit(jax.grad(lambda b: heat(values, b)[1][-1]))(b),
    "batch": jax.jit(jax.vmap(solve, in_axes=(None, 0)))(values, jnp.stack([b, 2 * b, b ** 2])),
    "sparse product": jax.jit(lambda m, x: m @ x)(matrix, b),
    "sparse conjugate gradients": jax.jit(lambda m, x: cg(lambda x: m @ x, x, tol=1e-6, maxiter=60)[0])(matrix, b),
    "sparse gradient": jax.jit(jax.grad(lambda v, x: jnp.sum(jnp.sin(sparse.BCOO((v, indices), shape=(SIZE, SIZE)) @ x))))(values, b),
    "dense": matrix.todense()[3],
}
print(json.dumps(jax.tree.map(lambda x: np.asarray(x).tolist(), results)))
