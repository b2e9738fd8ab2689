"""One file per peer: `python -m peers.NAME` speaks the protocol of README.md. A new file here is a new peer."""
import json
import sys

try:
    import ml_dtypes  # noqa: F401  what every peer needs
    import numpy  # noqa: F401
except ImportError as error:
    print(json.dumps({"error": {"kind": "missing", "message": f"{type(error).__name__}: {error}"}}), flush=True)
    sys.exit()
