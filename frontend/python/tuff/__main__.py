"""`python -m tuff ...`: the `tuff` command, which the package brings along: `python -m tuff doctor`.

`python -m tuff weights DIR...` writes DIR/weights.safetensors from the "init" entries of DIR/signature.json.
"""
import os
import sys

from .library import Error, command_path


def weights(directories):
    from .seeded import write_weights
    if not directories:
        print("tuff weights: Name the bundles: python -m tuff weights DIR...", file=sys.stderr)
        sys.exit(2)
    for directory in directories:
        try:
            write_weights(directory)
        except (OSError, ValueError) as error:
            print(f"tuff weights: {error}", file=sys.stderr)
            sys.exit(10 if isinstance(error, (ValueError, FileNotFoundError)) else 1)


def main():
    if sys.argv[1:2] == ["weights"]:
        weights(sys.argv[2:])
        return
    try:
        command = command_path()
    except Error as error:
        sys.exit(f"tuff: {error}")
    os.execv(command, [str(command), *sys.argv[1:]])


if __name__ == "__main__":
    main()
