"""What every peer shares: the line protocol of `tuff bench` (README.md) and reading bundles."""
from .bundle import Bundle
from .serve import Unsupported, serve

__all__ = ["Bundle", "Unsupported", "serve"]
