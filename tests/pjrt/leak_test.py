"""Ten thousand steps hold no more memory than one thousand: `python leak_test.py PLUGIN [STEPS]`. 77: skipped, no JAX.

An MLP by optax's Adam with donated state; what the process has in memory (RSS) and what the device counts may differ
by 1 MiB between a tenth of the steps and all of them.
"""
import functools
import os
import pathlib
import sys

# The package registers the plugin, since JAX donates only to platforms that it is told of.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "frontend" / "python"))
os.environ["TUFF_PJRT_PLUGIN"] = sys.argv[1]
os.environ["JAX_PLATFORMS"] = "tuff"
os.environ.setdefault("TUFF_DEVICE", "cpu")
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
except ImportError:
    print("skipped: this Python has no JAX or no optax; set TUFF_JAX_PYTHON to one that has")
    sys.exit(77)

LIMIT_BYTES = 1 << 20


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(steps):
    generator = np.random.default_rng(0)
    params = {f"w{i}": jnp.asarray(generator.normal(size=(64, 64)) * 0.1, jnp.float32) for i in range(3)}
    optimizer = optax.adam(1e-3)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, x):
        def loss(params):
            y = x
            for weight in params.values():
                y = jnp.tanh(y @ weight)
            return ((y - x) ** 2).mean()
        value, gradient = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, updates), state, value

    state = optimizer.init(params)
    seen = {}
    for i in range(1, steps + 1):
        x = generator.normal(size=(32, 64)).astype(np.float32)
        params, state, value = step(params, state, x)
        if i in (steps // 10, steps):
            float(value)
            del x
            seen[i] = resident_bytes(), jax.devices()[0].memory_stats()["bytes_in_use"]
            print(f"step {i}: loss {float(value):.6f}, resident {seen[i][0]}, in use {seen[i][1]}", flush=True)
    growth = [late - early for early, late in zip(seen[steps // 10], seen[steps])]
    print(f"growth: resident {growth[0]}, in use {growth[1]} bytes")
    return max(growth) > LIMIT_BYTES


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[2]) if len(sys.argv) > 2 else 10000))
