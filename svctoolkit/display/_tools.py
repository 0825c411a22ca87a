"""The tools of trees, for pages that run scripts: search, expand and collapse all, copy of path and value."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_LEAST = 8  # members of trees that are worth a search, as in the tools themselves
_COMMENT = re.compile(r"/\*.*?\*/|\s//\s.*?$", re.S | re.M)


@cache
def tree_tools() -> str:
    """The tools as a module of JavaScript, with `attach(root)` for each place that has trees."""
    return (Path(__file__).parent / "tree_tools.js").read_text("utf-8")


@cache
def tree_tools_script() -> str:
    """The same as a plain script that any page may have several times: `svcTreeTools(root)` is `attach`."""
    lines = _COMMENT.sub("", tree_tools()).replace("export function", "function").splitlines()
    code = "\n".join(filter(None, map(str.strip, lines)))
    return f"window.svcTreeTools??=(()=>{{\n{code}\nreturn attach\n}})();"


def with_tools(html: str) -> str:
    """A page that stands alone in an output, with tools for the trees in it, if there is something to search.

    Where scripts are not let in it is the same page without them.
    """
    if 'class="tree"' not in html or html.count("<li>") < _LEAST:
        return html
    return f"{html}<script>{tree_tools_script()}svcTreeTools(document.currentScript.parentElement)</script>"
