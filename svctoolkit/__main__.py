"""The entry point of the `svctoolkit` command; `python -m svctoolkit` is the same."""

from __future__ import annotations

import sys


def main() -> int:
    """Run `svctoolkit` with the arguments of the process and return its exit code.

    The command line is imported here, so that Ctrl-C during the import is reported like any other.
    """
    try:
        from svctoolkit.cli import main as run

        status = run()
    except KeyboardInterrupt:  # during the import: `run` handles all others
        sys.stderr.write("svctoolkit: interrupted\n")
        status = 2
    # After an interrupt in code compiled from a string (as dataclasses are), CPython exits with 130 unless more runs.
    eval("0")
    return status


if __name__ == "__main__":
    sys.exit(main())
