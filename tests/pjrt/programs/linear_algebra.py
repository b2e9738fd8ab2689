"""Factorizations, eigenvalues, singular values and systems of equations, batched and with gradients, in f32.

What is unique is printed as it is; of vectors whose sign is free, what does not depend on it.
"""
import json

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import lax


def matrix(*shape, seed=0):
    """Well conditioned, its eigenvalues and singular values apart from each other."""
    values = np.cos(np.arange(np.prod(shape), dtype=np.float32) * (1.3 + seed)).reshape(shape)
    diagonal = np.eye(*shape[-2:], dtype=np.float32) * (2 + 2 * np.arange(shape[-1], dtype=np.float32))
    return jnp.asarray(values + diagonal)


def symmetric(*shape, seed=0):
    a = matrix(*shape, seed=seed)
    return a + a.mT


def jit(f, *args):
    return jax.jit(f)(*args)


def projector(vectors):
    """Of each column by itself: the sign is gone. An element's error is small beside the whole of it, hence one row."""
    whole = jnp.einsum("...ik,...jk->...kij", vectors, vectors)
    return whole.reshape(*whole.shape[:-2], -1)


def weights(x):
    return jnp.sin(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)


def grad(f, *args):
    """The gradient of a weighted sum of f's results."""
    return jit(jax.grad(lambda *args: sum(jnp.sum(weights(y) * y) for y in jax.tree.leaves(f(*args)))), *args)


tall, wide, square = matrix(7, 4), matrix(3, 5), matrix(5, 5)
batch, batch_symmetric = matrix(3, 4, 4), symmetric(2, 3, 4, 4)
b = matrix(5, 2, seed=1)
results = {}

for name, a in (("tall", tall), ("wide", wide), ("square", square), ("batch", batch), ("one", matrix(1, 1))):
    q, r = jit(jnp.linalg.qr, a)
    results[f"qr {name}"] = [jnp.abs(r), q @ r, q.mT @ q]
    results[f"qr raw {name}"] = jit(lambda a: jnp.linalg.qr(a, mode="raw"), a)
    lu, pivots, permutation = jit(lax.linalg.lu, a)
    results[f"lu {name}"] = [lu, pivots, permutation]
    s = jit(lambda a: jnp.linalg.svd(a, compute_uv=False), a)
    u, s_too, vt = jit(lambda a: jnp.linalg.svd(a, full_matrices=False), a)
    results[f"svd {name}"] = [s, s_too, (u * s_too[..., None, :]) @ vt, projector(u)]
    full_u, _, full_vt = jit(jnp.linalg.svd, a)
    results[f"svd full {name}"] = [full_u.mT @ full_u, full_vt @ full_vt.mT]
results["qr complete"] = jit(lambda a: jnp.linalg.qr(a, mode="complete")[0].shape[1:], tall)
results["qr pivoted"] = [jnp.abs(x) for x in jit(lambda a: jsl.qr(a, pivoting=True), square)] if hasattr(lax.linalg, "geqp3") else []

for name, a in (("one", symmetric(1, 1)), ("square", symmetric(6, 6)), ("batch", batch_symmetric)):
    w, v = jit(jnp.linalg.eigh, a)
    results[f"eigh {name}"] = [w, projector(v), a @ v - w[..., None, :] * v + 1]
    results[f"eigvalsh upper {name}"] = jit(lambda a: jnp.linalg.eigvalsh(a, UPLO="U"), a)

results["solve"] = [jit(jnp.linalg.solve, square, b), jit(jnp.linalg.solve, batch, batch)]
results["lu_solve"] = jit(lambda a, b: [jsl.lu_solve(jsl.lu_factor(a), b, trans=t) for t in (0, 1)], square, b)
results["inv"] = jit(jnp.linalg.inv, batch)
results["det"] = jit(lambda a: [jnp.linalg.det(a), jnp.linalg.slogdet(a)], batch)
results["pinv"] = jit(jnp.linalg.pinv, tall)
results["lstsq"] = jit(lambda a, b: jnp.linalg.lstsq(a, b)[0], tall, matrix(7, 2))
results["matrix_rank"] = jit(jnp.linalg.matrix_rank, tall @ tall.T)
results["norms"] = jit(lambda a: [jnp.linalg.norm(a, ord=o) for o in (2, -2, "nuc")] + [jnp.linalg.cond(a)], square)
results["expm"] = jit(jsl.expm, square / 4)
results["schur"] = jit(lambda a: (lambda t, z: [z @ t @ z.T, z.T @ z])(*jsl.schur(a)), square)
results["sqrtm of symmetric"] = jit(lambda a: (lambda w, v: (v * jnp.sqrt(jnp.abs(w))) @ v.T)(*jnp.linalg.eigh(a)), symmetric(4, 4))
results["hessenberg"] = jit(lambda a: jnp.abs(jsl.hessenberg(a)), square)
results["tridiagonal"] = jit(lambda a: [jnp.abs(x) for x in lax.linalg.tridiagonal(a)[1:3]], symmetric(6, 6))
diagonals = [jnp.linspace(0.1 + i, 1.0 + i, 6) for i in range(3)]
results["tridiagonal_solve"] = [jit(lambda *x: lax.linalg.tridiagonal_solve(*x), diagonals[0].at[0].set(0),
                                    diagonals[2] + 3, diagonals[1].at[-1].set(0), matrix(6, 2))]
results["polar"] = jit(lambda a: jsl.polar(a, method="svd"), square)

results["grad qr"] = grad(lambda a: (lambda q, r: [q @ jnp.ones(4), r * jnp.sign(jnp.diag(r))[:, None]])(*jnp.linalg.qr(a)), tall)
results["grad eigh"] = grad(lambda a: (lambda w, v: [w, v ** 2])(*jnp.linalg.eigh(a + a.mT)), batch)
results["grad svd"] = grad(lambda a: jnp.linalg.svd(a, compute_uv=False), batch)
results["grad svd vectors"] = grad(lambda a: (lambda u, s, vt: [u ** 2, s, vt ** 2])(*jnp.linalg.svd(a, full_matrices=False)), square)
results["grad solve"] = [grad(jnp.linalg.solve, square, b), grad(lambda b: jnp.linalg.solve(square, b), b)]
results["grad det"] = grad(jnp.linalg.det, batch)
results["vmap"] = jit(jax.vmap(lambda a: jnp.linalg.eigvalsh(a)), batch_symmetric[0])
results["scan"] = jit(lambda a: lax.scan(lambda a, _: (jnp.linalg.qr(a)[1] @ jnp.linalg.qr(a)[0], jnp.abs(jnp.diag(a))), a, length=8)[1],
                      symmetric(4, 4))
results["not finite"] = jnp.isnan(jnp.stack([jit(jnp.linalg.eigvalsh, symmetric(3, 3) * bad)[0] for bad in (jnp.nan, jnp.inf)]))
print(json.dumps(jax.tree.map(lambda x: np.asarray(x).tolist(), results)))
