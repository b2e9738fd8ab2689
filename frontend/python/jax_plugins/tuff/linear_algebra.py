"""Linear algebra on tuff: what JAX lowers to calls of LAPACK for its own CPU backend. tuff knows these calls, whose names
JAX keeps from version to version, and makes them on the host (frontend/stablehlo/import/import_host.cpp).
"""
PLATFORM = "tuff"
# Cholesky factors and triangular systems are operations of StableHLO.
PRIMITIVES = ("lu_p", "geqrf_p", "geqp3_p", "householder_product_p", "ormqr_p", "eigh_p", "eig_p", "svd_p", "schur_p",
              "hessenberg_p", "tridiagonal_p", "tridiagonal_solve_p")


def register():
    """Gives the primitives, as far as this JAX has them, the lowerings of its CPU backend. Raises where it keeps them
    otherwise than those that are known."""
    import jax
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg
    try:
        lowerings = mlir._platform_specific_lowerings
        for primitive in (getattr(linalg, name) for name in PRIMITIVES if hasattr(linalg, name)):
            if primitive in lowerings["cpu"]:
                lowerings[PLATFORM][primitive] = lowerings["cpu"][primitive]
    except (AttributeError, KeyError) as error:
        raise NotImplementedError(f"JAX {jax.__version__} keeps its lowerings in a way that tuff does not know ({error!r}); "
                                  "qr, svd, eigh and the like do not run on tuff.") from error
