"""Runs and the runs within them."""

from __future__ import annotations


def is_within(run: str, outer: str) -> bool:
    """Whether a run is another one or in it.

    >>> is_within("r/1", "r"), is_within("r10", "r")
    (True, False)
    """
    return run == outer or run.startswith(f"{outer}/")
