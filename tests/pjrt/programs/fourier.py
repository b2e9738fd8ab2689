"""Programs of real arguments and results with complex numbers within: transforms of one to three dimensions, filters,
spectra and their gradients."""
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.signal import fftconvolve

# Made on the host: the cosine of a large power moves with the power's last bit.
n = np.arange(750.0)
signal = jnp.asarray(np.sin(n * 0.37).reshape(3, 250) + 0.1 * np.cos(n[:250] ** 1.5), jnp.float32)
kernel = jnp.asarray(np.exp(-0.05 * n[:250]), jnp.float32)
image = jnp.asarray(np.cos(n[:480] ** 1.3).reshape(2, 12, 20), jnp.float32)
odd = jnp.asarray(np.sin(n[:303] ** 1.2).reshape(1, 303), jnp.float32)


def convolve(x, k):
    return jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(k), n=x.shape[-1])


def power(x):
    return jnp.abs(jnp.fft.fft(x)) ** 2


def low_pass(x):
    y = jnp.fft.fftshift(jnp.fft.fft(x), axes=-1)
    y = jnp.where(jnp.abs(jnp.arange(x.shape[-1]) - x.shape[-1] // 2) < 40, y, 0)
    return jnp.real(jnp.fft.ifft(jnp.fft.ifftshift(y, axes=-1)))


def spectrum(x):
    z = jnp.fft.rfft(x)
    return jnp.log(jnp.abs(z) + 1), jnp.real(jnp.exp(1j * x) * jnp.conj(z.sum()) / (2 + z[..., :1]))


def rotate(x):
    def turn(z, _):
        z = z * jnp.exp(0.1j)
        return z, jnp.abs(z)

    z, sizes = jax.lax.scan(turn, jnp.fft.fft(x), None, length=3)
    return jnp.imag(z), sizes


def total(f):
    return lambda *args: sum(jnp.sum(jnp.tanh(y)) for y in jax.tree.leaves(f(*args)))


results = {
    "convolve": jax.jit(convolve)(signal, kernel),
    "convolved by FFT": [jax.jit(lambda x, k, mode=mode: fftconvolve(x, k, mode))(signal[0], kernel[:37])
                         for mode in ("full", "same", "valid")],
    "convolved planes": jax.jit(lambda x: fftconvolve(x[0], x[1, :5, :7], "same"))(image),
    "power": jax.jit(power)(odd),
    "low_pass": jax.jit(low_pass)(signal),
    "spectrum": jax.jit(spectrum)(signal),
    "rotate": jax.jit(rotate)(odd),
    "planes": jax.jit(lambda x: jnp.real(jnp.fft.ifft2(jnp.fft.fft2(x) * 2)))(image),
    "cube": jax.jit(lambda x: jnp.fft.irfftn(jnp.fft.rfftn(x) ** 2))(image),
    "product": jax.jit(lambda x: jnp.abs((x + 2j * x.T) @ (x - 1j * x.T)))(image[0, :, :12]),
    "assigned": jax.jit(lambda x: jnp.abs(jnp.fft.fft(x).at[..., 3:5].set(1j)))(odd),
    "gradients": [
        jax.jit(jax.grad(total(convolve), argnums=(0, 1)))(signal, kernel),
        jax.jit(jax.grad(total(fftconvolve), argnums=(0, 1)))(signal[0] * 0.1, kernel[:37]),
        jax.jit(jax.grad(total(power)))(odd * 0.05),
        jax.jit(jax.grad(total(low_pass)))(signal),
        jax.jit(jax.grad(total(lambda x: jnp.fft.irfftn(jnp.fft.rfftn(x) ** 2))))(image),
    ],
}
print(json.dumps(jax.tree.map(lambda x: np.asarray(x).ravel().tolist(), results)))
