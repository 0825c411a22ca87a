"""The entry point of the `svctoolkit` command; `python -m svctoolkit` is the same."""

from __future__ import annotations

import gc
import sys

_NEW_OBJECTS = 10_000  # how many more than before start a garbage collection; Python's default is 700


def main() -> int:
    """Run `svctoolkit` with the arguments of the process and return its exit code.

    The command line is imported here, so that Ctrl-C during the import is reported like any other.

    Garbage is collected rarely, and not at the end: a short command makes none, but Python would look at the objects of
    hundreds of modules again and again, which takes a third of the time of `svctoolkit run`.
    """
    gc.set_threshold(_NEW_OBJECTS)
    try:
        from svctoolkit.cli import main as run

        status = run()
    except KeyboardInterrupt:  # during the import: `run` handles all others
        sys.stderr.write("svctoolkit: interrupted\n")
        status = 2
    # After an interrupt in code compiled from a string (as dataclasses are), CPython exits with 130 unless more runs.
    eval("0")
    gc.freeze()
    return status


if __name__ == "__main__":
    sys.exit(main())
