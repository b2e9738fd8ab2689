"""Derives the polynomial coefficients of the prelude (needs numpy and mpmath).

Each polynomial p(x) = sum c_k x^k is the minimax fit of a target t(x) on an
interval under a weight: max |w(x) (p(x) - t(x))| is least. The coefficients are
then rounded to float one by one, lowest first, and the rest fitted again, so
that later coefficients absorb the rounding of earlier ones.
"""
import sys

import mpmath as mp
import numpy as np

mp.mp.prec = 120


def minimax(xs, target, weight, powers):
    """Lawson's iteration: least squares, reweighted towards the largest errors."""
    scale = np.max(np.abs(xs))
    basis = np.array([(xs / scale) ** p for p in powers]).T * weight[:, None]
    goal = target * weight
    lawson, best = np.full(len(xs), 1.0 / len(xs)), (None, np.inf)
    for _ in range(200):
        root = np.sqrt(lawson)
        c = np.linalg.lstsq(basis * root[:, None], goal * root, rcond=None)[0]
        error = np.abs(basis @ c - goal)
        if np.max(error) < best[1]:
            best = (c, np.max(error))
        lawson = lawson * error
        lawson /= np.sum(lawson)
    return best[0] / scale ** np.array(powers, dtype=float), best[1]


def fit(name, target, weight, low, high, degree, fixed=False):
    k = np.arange(500)
    xs = (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * (k + 0.5) / 500)
    t = np.array([float(target(mp.mpf(x))) for x in xs])
    w = np.array([abs(float(weight(mp.mpf(x)))) for x in xs])
    powers, rest, done = list(range(degree + 1)), t.copy(), []
    _, ideal = minimax(xs, t, w, powers)
    while powers:
        c, _ = minimax(xs, rest, w, powers)
        value = float(c[0]) if fixed else float(np.float32(c[0]))
        done.append(value)
        rest = rest - value * xs ** powers.pop(0)
    print(f"{name}: ideal 2^{np.log2(ideal):.2f}, rounded 2^{np.log2(np.max(np.abs(rest * w))):.2f}")
    for k, c in enumerate(done):
        print(f"  c{k} = {c:.17g}" if fixed else f"  c{k} = {np.float32(c)!s}f")


def main():
    log2e = mp.log(2)
    half = float(log2e / 2) * 1.001
    m = mp
    # exp(r) = 1 + r + r^2 q(r); the weight makes expm1 relatively exact too.
    fit("exp q", lambda r: (m.expm1(r) - r) / r**2, lambda r: r**2 / m.expm1(r), -half, half, 4)
    # log(1 + f) = f - f^2/2 + f^3 p(f)
    fit("log p", lambda f: (m.log1p(f) - f + f * f / 2) / f**3, lambda f: f**3 / m.log1p(f),
        float(m.sqrt(0.5) - 1) * 1.001, float(m.sqrt(2) - 1) * 1.001, 7)
    # erf(x) = x + x p(x^2) below 1; a polynomial in x - 2.5 above.
    fit("erf small", lambda z: m.erf(m.sqrt(z)) / m.sqrt(z) - 1,
        lambda z: m.sqrt(z) / m.erf(m.sqrt(z)), 1e-9, 1.0, 6)
    fit("erf large (x - 2.5)", lambda t: m.erf(t + 2.5), lambda t: m.mpf(1), -1.5, 1.42, 12)
    # sin r = r + r^3 s(z), cos r = 1 - z/2 + z^2 c(z)
    q = float(m.pi / 4) ** 2 * 1.001
    fit("sin", lambda z: (m.sin(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z) ** 3,
        lambda z: m.sqrt(z) ** 3 / m.sin(m.sqrt(z)), 1e-9, q, 2)
    fit("cos", lambda z: (m.cos(m.sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2 / m.cos(m.sqrt(z)), 1e-9, q, 2)
    # atan t = t + t^3 a(z) for |t| <= 1/2
    fit("atan", lambda z: (m.atan(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z) ** 3,
        lambda z: m.sqrt(z) ** 3 / m.atan(m.sqrt(z)), 1e-9, 0.2501, 5)
    # log2(1 + u) = u (1/ln 2 + u a(u)); a in fixed point
    c0 = 1 / m.log(2)
    fit("log2 a", lambda u: (m.log(1 + u, 2) / u - c0) / u, lambda u: u,
        float(m.sqrt(0.5) - 1), float(m.sqrt(2) - 1), 11, fixed=True)
    # x^(-1/3) on [1, 2], the guess of cbrt
    fit("cbrt guess", lambda x: m.mpf(x) ** (-m.mpf(1) / 3), lambda x: m.cbrt(x), 1.0, 2.0, 2)
    fit("exp2 q", lambda r: (m.mpf(2) ** r - 1) / r, lambda r: r, -0.5001, 0.5001, 5)


if __name__ == "__main__":
    sys.exit(main())
