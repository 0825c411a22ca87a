"""Results as complete pages, in a string or in a file."""

from __future__ import annotations

from pathlib import Path

from svctoolkit.displayed import render
from svctoolkit.errors import ConfigError


class PageOut:
    """Adds a page, and a `repr` of several lines, to classes with the views `document` and `text`."""

    __slots__ = ()

    def to_html(self, path: Path | str | None = None) -> str:
        """Return a self-contained page; write it to `path`, if given, and create its parent folders.

        Raises `ConfigError` if it cannot be written.
        """
        text = render(self, "document")
        if path is not None:
            _write(Path(path), text)
        return text

    def __repr__(self) -> str:
        return render(self, "text")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=str(path)) from error
