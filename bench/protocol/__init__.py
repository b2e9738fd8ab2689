"""What every peer shares: the line protocol of `tuff bench` (README.md) and reading bundles."""
from .bundle import Bundle, Unsupported
from .serve import serve

__all__ = ["Bundle", "Unsupported", "serve"]
