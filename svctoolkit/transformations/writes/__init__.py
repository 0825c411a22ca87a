"""Where user code writes or removes values: places that can be changed to find out which of them matters."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.transformations.writes.write import Write, apply

__all__ = ["Write", "apply", "writes"]


def writes(code: str, language: str) -> Iterator[Write]:
    """Yield the writes and removals of the code, in its order; none if it cannot be parsed."""
    if language == "python":
        from svctoolkit.transformations.writes.python import python_writes

        yield from python_writes(code)
        return
    from svctoolkit.transformations.writes.javascript import javascript_writes  # loads its grammar: 10 ms

    yield from javascript_writes(code)
