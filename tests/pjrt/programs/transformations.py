"""vmap, grad, jvp, vjp, Hessians, custom gradients and rematerialisation, nested in each other."""
import json

import jax
import jax.numpy as jnp
import numpy as np


def energy(weights, x):
    return jnp.sum(jnp.tanh(weights @ x) ** 2) + jnp.prod(jnp.cos(x))


@jax.custom_vjp
def clipped(x):
    return x * 2


clipped.defvjp(lambda x: (x * 2, None), lambda _, gradient: (jnp.clip(gradient, -0.5, 0.5),))

weights = jnp.linspace(-1, 1, 12).reshape(3, 4)
points = jnp.sin(jnp.arange(20.0)).reshape(5, 4)
results = {
    "per_example": jax.vmap(jax.grad(energy, argnums=1), (None, 0))(weights, points),
    "hessian": jax.jit(jax.hessian(energy, argnums=1))(weights, points[0]),
    "jacobian": jax.jacfwd(lambda x: jnp.outer(x, x).ravel())(points[0]),
    "jvp": jax.jvp(lambda x: energy(weights, x), (points[1],), (points[2],))[1],
    "vjp": jax.vjp(lambda w: w @ points[1], weights)[1](jnp.ones(3))[0],
    "pairs": jax.vmap(jax.vmap(jnp.dot, (None, 0)), (0, None))(points, points),
    "custom": jax.grad(lambda x: clipped(x).sum() * 3)(points[0]),
    "rematerialised": jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum()))(points[3]),
    "third": jax.grad(jax.grad(jax.grad(lambda x: jnp.exp(-x * x))))(0.3),
}
print(json.dumps({name: np.asarray(x).tolist() for name, x in results.items()}))
