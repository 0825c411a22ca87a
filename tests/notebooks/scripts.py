"""The one script that outputs may contain."""

from __future__ import annotations

from svctoolkit import display


def without_tools(html: str) -> str:
    """The page without the script for trees, which is at its end."""
    page, script, rest = html.partition(f"<script>{display.tree_tools_script()}")
    assert rest == ("svcTreeTools(document.currentScript.parentElement)</script>" if script else "")
    return page
