"""Linear algebra of complex matrices, eigenvalues of any matrix, and gradients through them: `eigenvalues.py BITS`, whose
real numbers have 32 or 64 bits.

What is unique is printed as it is; of vectors whose phase is free, what does not depend on it.
"""
import json
import sys

import jax

bits = int(sys.argv[1])
jax.config.update("jax_enable_x64", bits == 64)
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import lax

real, whole = (np.float32, np.complex64) if bits == 32 else (np.float64, np.complex128)


def matrix(*shape, seed=0, dtype=whole):
    """Well conditioned, its eigenvalues and singular values apart from each other."""
    n = np.arange(np.prod(shape))
    values = (np.cos(n * (1.3 + seed)) + 1j * np.sin(n * (0.7 + seed))).reshape(shape)
    diagonal = np.eye(*shape[-2:]) * (2 + 2 * np.arange(shape[-1]))
    return jnp.asarray(values + diagonal if dtype == whole else (values.real + diagonal), dtype)


def hermitian(*shape, seed=0):
    a = matrix(*shape, seed=seed)
    return a + a.mT.conj()


def jit(f, *args):
    return jax.jit(f)(*args)


def projector(vectors):
    """Of each column by itself: the phase is gone."""
    return jnp.einsum("...ik,...jk->...kij", vectors, vectors.conj())


def ordered(w, v):
    """Eigenvalues by their real, then their imaginary parts, and what they belong to."""
    order = jnp.argsort(w.real * 1000 + w.imag)
    return w[order], v[:, order]


def weighted(y):
    angles = jnp.arange(y.size, dtype=real).reshape(y.shape)
    return jnp.sum((y * jnp.exp(1j * angles)).real if jnp.iscomplexobj(y) else y * jnp.sin(angles))


def grad(f, *args):
    """The gradient of a weighted sum of f's results."""
    return jit(jax.grad(lambda *args: sum(weighted(y) for y in jax.tree.leaves(f(*args)))), *args)


tall, wide, square, batch = matrix(7, 4), matrix(3, 5), matrix(5, 5), matrix(3, 4, 4)
b = matrix(5, 2, seed=1)
results = {}
for name, a in (("tall", tall), ("wide", wide), ("square", square), ("batch", batch), ("one", matrix(1, 1))):
    q, r = jit(jnp.linalg.qr, a)
    results[f"qr {name}"] = [jnp.abs(r), q @ r, q.mT.conj() @ q]
    results[f"lu {name}"] = jit(lax.linalg.lu, a)
    s = jit(lambda a: jnp.linalg.svd(a, compute_uv=False), a)
    u, s_too, vt = jit(lambda a: jnp.linalg.svd(a, full_matrices=False), a)
    results[f"svd {name}"] = [s, s_too, (u * s_too[..., None, :]) @ vt, projector(u)]
    full_u, _, full_vt = jit(jnp.linalg.svd, a)
    results[f"svd full {name}"] = [full_u.mT.conj() @ full_u, full_vt @ full_vt.mT.conj()]
for name, a in (("one", hermitian(1, 1)), ("square", hermitian(6, 6)), ("batch", hermitian(2, 3, 4, 4))):
    w, v = jit(jnp.linalg.eigh, a)
    results[f"eigh {name}"] = [w, projector(v), a @ v - w[..., None, :] * v + (1 + 1j)]
    results[f"cholesky {name}"] = jit(jnp.linalg.cholesky, a @ a + 3 * jnp.eye(a.shape[-1], dtype=whole))
for name, a in (("complex", square), ("real", matrix(6, 6, dtype=real)), ("turn", jnp.asarray([[0, -1], [1, 0]], real))):
    w, v = jit(lambda a: ordered(*jnp.linalg.eig(a)), a)
    results[f"eig {name}"] = [w, projector(v), a @ v - w * v + (1 + 1j)]
    results[f"eigvals {name}"] = jit(lambda a: ordered(jnp.linalg.eigvals(a), jnp.eye(len(a)))[0], a)
w, left, right = jit(lambda a: lax.linalg.eig(a), square)
results["eig left"] = left.mT.conj() @ square - w[:, None] * left.mT.conj() + (1 + 1j)
results["eigvals batch"] = jit(lambda a: jnp.sort_complex(jnp.linalg.eigvals(a)), batch)
results["roots"] = jit(lambda p: jnp.sort_complex(jnp.roots(p, strip_zeros=False)), jnp.asarray([1, -6, 11, -6], real))
results["not finite"] = jnp.isnan(jit(jnp.linalg.eigvals, square.at[0, 0].set(jnp.nan)).real)
results["solve"] = [jit(jnp.linalg.solve, square, b), jit(jnp.linalg.inv, batch), jit(jnp.linalg.det, batch)]
results["triangular"] = [jit(lambda a, b: jsl.solve_triangular(a, b, trans=t, lower=low), square, b)
                         for t in (0, 1, 2) for low in (False, True)]
results["schur"] = jit(lambda a: (lambda t, z: [z @ t @ z.mT.conj(), jnp.tril(t, -1), z.mT.conj() @ z])(*jsl.schur(a)), square)
results["expm"] = jit(jsl.expm, square / 8)
results["sqrtm"] = jit(lambda a: (lambda root: root @ root)(jsl.sqrtm(a)), square)
results["hessenberg"] = jit(lambda a: jnp.abs(jsl.hessenberg(a)), square)
results["tridiagonal"] = jit(lambda a: [jnp.abs(x) for x in lax.linalg.tridiagonal(a)[1:3]], hermitian(6, 6))
results["pinv"] = jit(jnp.linalg.pinv, tall)
results["multiply"] = jit(lambda a, c: jsl.qr_multiply(a, c)[0] if hasattr(jsl, "qr_multiply") else c, tall, matrix(2, 7))

results["grad qr"] = grad(lambda a: jnp.abs(jnp.linalg.qr(a)[1]), tall)
results["grad eigh"] = grad(lambda a: (lambda w, v: [w, jnp.abs(v) ** 2])(*jnp.linalg.eigh(a + a.mT.conj())), batch)
results["grad svd"] = grad(lambda a: jnp.linalg.svd(a, compute_uv=False), batch)
results["grad solve"] = [grad(jnp.linalg.solve, square, b), grad(jnp.linalg.det, batch)]
results["grad eigvals"] = [grad(lambda a: ordered(jnp.linalg.eigvals(a), jnp.eye(len(a)))[0], a)
                           for a in (square, matrix(6, 6, dtype=real))]
results["power iteration"] = jit(lambda a: lax.fori_loop(0, 60, lambda _, v: (lambda v: v / jnp.linalg.norm(v))(a @ v),
                                                         jnp.ones(6, whole)), hermitian(6, 6))


def numbers(x):
    """Small and large by the largest of the array; a complex number is two."""
    x = np.ravel(np.asarray(x))
    return (x.view(real) if np.iscomplexobj(x) else x).tolist()


print(json.dumps(jax.tree.map(numbers, results)))
