"""The command `rer`, as `rer` or `python -m rer`."""

import sys

from rer import _rer


def main() -> int:
    """Runs the command with the words of the command line; its exit code."""
    return _rer.command(["rer", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
