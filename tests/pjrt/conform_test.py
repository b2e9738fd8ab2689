"""The conformance checks of pypjrt on the plugin: `python conform_test.py PLUGIN`. 77: skipped, no pypjrt.

Nothing may FAIL; what the plugin does not offer counts as unsupported.
"""
import os
import sys

try:
    from pypjrt import conform
    from pypjrt._loader import Plugin
except ImportError:
    print("skipped: this Python has no pypjrt; pip install pypjrt and set TUFF_JAX_PYTHON")
    sys.exit(77)


def main(argv):
    os.environ.setdefault("TUFF_DEVICE", "cpu")
    return conform.main([argv[0], "-v"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
