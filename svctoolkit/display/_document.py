"""A complete HTML page in a single file."""

from __future__ import annotations

from html import escape

from svctoolkit.lexical import storable

_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere }
@media (prefers-color-scheme: dark) { body { background: #15181c; color: #e6e8eb } }
"""


def document(title: str, summary: str, body: str) -> str:
    """A self-contained page: a heading, a summary, and the HTML body."""
    return storable(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body><main><h1>{escape(title)}</h1><p>{escape(summary)}</p>\n{body}</main></body></html>\n"
    )
