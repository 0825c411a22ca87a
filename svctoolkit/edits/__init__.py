"""Changes of user code: each is one edit of a source text."""

from __future__ import annotations

from svctoolkit.edits.edit import Edit

__all__ = ["Edit", "edits_of"]


def edits_of(code: str, language: str | None) -> list[Edit]:
    """Return the changes of a source text that parse. Code in an unknown language is not changed."""
    if language == "python":
        from svctoolkit.edits import python

        return [*python.edits(code)]
    if language == "javascript":
        from svctoolkit.edits import javascript

        return [*javascript.edits(code)]
    return []
