"""Reports of a run of changes: `render(result, name, mask)` returns the text of one."""

from __future__ import annotations

from collections.abc import Callable

from svctoolkit.mutation.reports import github, html, json, junit, markdown
from svctoolkit.mutation.result import Result

#: A report by name: returns the text for a result, in which `mask` has removed secrets from every text.
REPORTS: dict[str, Callable[[Result, Callable[[str], str]], str]] = {
    "github": github.text,
    "html": html.text,
    "json": json.text,
    "junit": junit.text,
    "markdown": markdown.text,
}

__all__ = ["REPORTS"]
