"""`python -m tuff ...`: the `tuff` command, which the package brings along: `python -m tuff doctor`.

`python -m tuff weights DIR...` writes DIR/weights.safetensors from the "init" entries of DIR/signature.json.
"""
import os
import sys

from .library import Error, command_path


def main():
    if sys.argv[1:2] == ["weights"] and len(sys.argv) > 2:
        from .seeded import write_weights
        for directory in sys.argv[2:]:
            write_weights(directory)
        return
    try:
        command = command_path()
    except Error as error:
        sys.exit(f"tuff: {error}")
    os.execv(command, [str(command), *sys.argv[1:]])


if __name__ == "__main__":
    main()
