"""The files of the page, and the headers of all its answers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
TYPES = {".js": "text/javascript", ".css": "text/css"}


@cache
def names() -> frozenset[str]:
    """The names of the files."""
    return frozenset(file.name for file in (files(__package__) / "static").iterdir())


@cache
def static(name: str) -> str:
    """The text of a file."""
    return (files(__package__) / "static" / name).read_text("utf-8")
