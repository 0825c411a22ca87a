"""Tools for trees in pages that run scripts: search, expand and collapse all, copy path and value."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_LEAST = 8  # smallest number of tree members that gets tools, as in tree_tools.js
_COMMENT = re.compile(r"/\*.*?\*/|\s//\s.*?$", re.S | re.M)


@cache
def tree_tools() -> str:
    """The tools as a JavaScript module that exports `attach(root)`, for an element that contains trees."""
    return (Path(__file__).parent / "tree_tools.js").read_text("utf-8")


@cache
def tree_tools_script() -> str:
    """The same as a plain script, which a page may include several times: `svcTreeTools(root)` is `attach`."""
    lines = _COMMENT.sub("", tree_tools()).replace("export function", "function").splitlines()
    code = "\n".join(filter(None, map(str.strip, lines)))
    return f"window.svcTreeTools??=(()=>{{\n{code}\nreturn attach\n}})();"


def with_tools(html: str) -> str:
    """A page for a single output, with tools for its trees if they are large enough to search.

    Where scripts are blocked, it is the same page without tools.
    """
    if 'class="tree"' not in html or html.count("<li>") < _LEAST:
        return html
    return f"{html}<script>{tree_tools_script()}svcTreeTools(document.currentScript.parentElement)</script>"
