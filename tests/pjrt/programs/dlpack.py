"""Arrays in and out by DLPack: to NumPy and from it, of several types, after donation, and back to the device."""
import json

import jax
import jax.numpy as jnp
import numpy as np

device = jax.devices()[0]
results = {}
for dtype in ("int8", "int32", "uint8", "float16", "float32"):
    x = jnp.arange(6, dtype=dtype).reshape(2, 3)
    results[dtype] = [np.from_dlpack(x), jax.dlpack.from_dlpack(np.arange(4, dtype=dtype), device=device) + 1]
for dtype in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):  # none of NumPy's own
    x = jnp.arange(6, dtype=jnp.float32).reshape(2, 3).astype(dtype)
    y = jax.dlpack.from_dlpack(x)
    results[dtype] = [str(y.dtype), y.astype(jnp.float32),
                      jax.dlpack.from_dlpack(y, device=device).astype(jnp.float32)]
x = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
results["view"] = np.from_dlpack(jax.jit(jnp.transpose)(x))
results["scalar"] = np.from_dlpack(jnp.float32(2))
results["empty"] = list(np.from_dlpack(jnp.zeros((0, 3))).shape)

x = jnp.arange(4.0) + 1
exported = np.from_dlpack(x)
same = np.from_dlpack(x)
y = jax.jit(lambda x: x * 10, donate_argnums=0)(x)
results["after donation"] = [exported, same, y]
results["devices"] = [jax.dlpack.from_dlpack(np.ones(2, np.float32), device=device).devices() == {device},
                      tuple(int(i) for i in y.__dlpack_device__()) == (1, 0)]
results["round trip"] = jax.dlpack.from_dlpack(y, device=device) + y
print(json.dumps(jax.tree.map(lambda x: np.asarray(x).tolist(), results)))
