"""jax.random: the same keys give the same numbers on every platform."""
import json

import jax
import jax.numpy as jnp
import numpy as np

key = jax.random.key(42)
keys = jax.random.split(key, 8)
exact = {
    "bits": jax.random.bits(keys[0], (20,)),
    "integers": jax.random.randint(keys[1], (20,), -5, 100),
    "shuffled": jax.random.permutation(keys[2], 50),
    "choice": jax.random.choice(keys[3], 30, (10,), replace=False),
    "words": jax.random.categorical(keys[4], jnp.log(jnp.arange(1.0, 6.0)), shape=(20,)),
    "coins": jax.random.bernoulli(keys[5], 0.3, (20,)),
}
near = {
    "uniform": jax.random.uniform(keys[0], (20,)),
    "normal": jax.random.normal(keys[1], (4, 5)),
    "half": jax.random.normal(keys[1], (20,), jnp.bfloat16).astype(jnp.float32),
    "gamma": jax.random.gamma(keys[2], 2.0, (10,)),
    "truncated": jax.random.truncated_normal(keys[3], -1, 2, (20,)),
    "each": jax.vmap(lambda k: jax.random.exponential(k, (3,)))(keys),
}
print(json.dumps({"exact": {name: np.asarray(x).astype(np.int64).tolist() for name, x in exact.items()},
                  "near": {name: np.asarray(x).tolist() for name, x in near.items()}}))
