"""Programs of complex arguments and results: a filter by FFT, a quantum circuit, a Julia set, linear algebra, sorting,
and gradients through complex numbers."""
import json

import jax
import jax.numpy as jnp
import numpy as np

random = np.random.RandomState(7)


def complex_normal(*shape):
    return jnp.asarray(random.randn(*shape) + 1j * random.randn(*shape), jnp.complex64)


# --- a filter, whose spectrum is an argument -----------------------------------

def filtered(signal, spectrum):
    return jnp.fft.ifft(jnp.fft.fft(signal) * spectrum)


# --- a quantum circuit: its state is carried by a scan and donated ---------------

QUBITS = 5


def apply_gate(state, gate, qubit):
    state = jnp.tensordot(gate, state, axes=[[1], [qubit]])
    return jnp.moveaxis(state, 0, qubit)


def rotation(angle):
    c, s = jnp.cos(angle / 2), jnp.sin(angle / 2)
    turn = jnp.stack([jnp.stack([c + 0j, -s + 0j]), jnp.stack([s + 0j, c + 0j])])
    return turn * jnp.exp(1j * angle / 3)


def layer(state, angles):
    for qubit in range(QUBITS):
        state = apply_gate(state, rotation(angles[qubit]), qubit)
    for qubit in range(QUBITS - 1):  # controlled by the next qubit
        pair = jnp.moveaxis(state, (qubit, qubit + 1), (0, 1))
        state = jnp.moveaxis(pair.at[1, 1].multiply(-1), (0, 1), (qubit, qubit + 1))
    return state, jnp.sum(jnp.abs(state) ** 2)


def circuit(state, angles):
    return jax.lax.scan(layer, state, angles)


def energy(angles, state):
    return jnp.real(jnp.vdot(circuit(state, angles)[0], state))


# --- an iteration with complex state and a predicate -----------------------------

def julia(points):
    def step(carry):
        z, count, i = carry
        inside = jnp.abs(z) < 2
        return jnp.where(inside, z * z + (-0.4 + 0.6j), z), count + inside, i + 1

    return jax.lax.while_loop(lambda carry: carry[2] < 30, step, (points, jnp.zeros(points.shape, jnp.int32), 0))[:2]


# --- linear algebra ---------------------------------------------------------------

def solved(a, b):
    factor = jnp.linalg.cholesky(a @ a.conj().T + 4 * jnp.eye(a.shape[0]))
    y = jax.scipy.linalg.solve_triangular(factor, b, lower=True)
    return y, jax.scipy.linalg.solve_triangular(factor.conj().T, y), jnp.abs(factor @ factor.conj().T)


def loss(w, x):
    y = jnp.tanh(w @ x)
    return jnp.sum(jnp.abs(jnp.exp(1j * y) - y) ** 2) + jnp.real(jnp.sum(jnp.log(2 + y * y)))


def parts(tree):
    return jax.tree.map(lambda x: [np.real(x).ravel().tolist(), np.imag(x).ravel().tolist()], jax.tree.map(np.asarray, tree))


signal, weights = complex_normal(3, 202), complex_normal(6, 6) / 4
state = jnp.zeros((2,) * QUBITS, jnp.complex64).at[(0,) * QUBITS].set(1)
angles = jnp.asarray(random.rand(6, QUBITS) * 3, jnp.float32)
grid = jnp.asarray(np.linspace(-1.3, 1.3, 15)[:, None] + 1j * np.linspace(-1.1, 1.1, 13), jnp.complex64)

results = {
    "filtered": jax.jit(filtered)(signal, complex_normal(202)),
    "circuit": jax.jit(circuit, donate_argnums=0)(state + 0, angles),
    "slopes": jax.jit(jax.grad(energy))(angles, state),
    "julia": jax.jit(julia)(grid)[1],
    "solved": jax.jit(solved)(weights, complex_normal(6, 3)),
    "gradient": jax.jit(jax.grad(loss))(weights, signal[0, :6]),
    "sorted": jax.jit(jnp.sort)(jnp.round(signal[0, :50])),
    "cumulated": [jax.jit(jnp.cumsum)(signal[0]), jax.jit(jnp.cumprod)(signal[0, :20])],
    "reduced": [jax.jit(jnp.prod)(signal[:, :5]), jax.jit(jnp.max)(signal), jax.jit(jnp.mean)(signal)],
    "scattered": jax.jit(lambda x: x.at[jnp.array([1, 3, 1])].add(x[:3]))(signal[0, :7]),
    "convolved": jax.jit(lambda a, b: jnp.convolve(a, b))(signal[0, :20], signal[1, :6]),
    "eager": jnp.concatenate([signal[0, :4], signal[1, 2:3] ** 2.5]) / (1 + 2j),
    "vmap": jax.vmap(lambda z: jax.lax.cond(jnp.abs(z) > 1, jnp.sin, jnp.cosh, z))(signal[2, :9]),
}
print(json.dumps(parts(results)))
