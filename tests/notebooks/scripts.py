"""The one script that outputs may have."""

from __future__ import annotations

from svctoolkit import display


def without_tools(html: str) -> str:
    """The page without the tools of trees, which stand behind everything else."""
    page, script, rest = html.partition(f"<script>{display.tree_tools_script()}")
    assert rest == ("svcTreeTools(document.currentScript.parentElement)</script>" if script else "")
    return page
