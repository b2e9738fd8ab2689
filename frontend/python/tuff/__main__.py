"""`python -m tuff weights DIR...`: writes DIR/weights.safetensors from the "init" entries of DIR/signature.json."""
import sys

from .seeded import write_weights

if len(sys.argv) < 3 or sys.argv[1] != "weights":
    sys.exit(__doc__)
for directory in sys.argv[2:]:
    write_weights(directory)
