"""HTML for notebooks: JSON trees, diffs, pipeline strips, HTTP exchanges, tables, messages.

Every function returns `Html` without scripts and with everything escaped. It stays readable in views that strip styles
and classes. `page` combines parts with the shared style. `bundle` is the return value of `_repr_mimebundle_`, which
adds tools to trees in pages that run scripts.

>>> shown = page(message("2 events received", "ok"), tree({"type": "track"}, "event"))
"""

from __future__ import annotations

from svctoolkit.display._blocks import code, facts, message, pill, table
from svctoolkit.display._diff import diff, diff_text
from svctoolkit.display._document import document
from svctoolkit.display._excerpt import Excerpt
from svctoolkit.display._exchange import exchange
from svctoolkit.display._flow import flow
from svctoolkit.display._html import (
    Html,
    Kind,
    box,
    bundle,
    columns,
    fragment,
    heading,
    html,
    more,
    page,
    quantity,
    section,
)
from svctoolkit.display._lights import Leaf, Lights
from svctoolkit.display._strip import Status, Step, status, strip
from svctoolkit.display._style import PICTURE_STYLE, STYLE
from svctoolkit.display._tools import tree_tools, tree_tools_script
from svctoolkit.display._tree import tree

__all__ = [
    "PICTURE_STYLE",
    "STYLE",
    "Excerpt",
    "Html",
    "Kind",
    "Leaf",
    "Lights",
    "Status",
    "Step",
    "box",
    "bundle",
    "code",
    "columns",
    "diff",
    "diff_text",
    "document",
    "exchange",
    "facts",
    "flow",
    "fragment",
    "heading",
    "html",
    "message",
    "more",
    "page",
    "pill",
    "quantity",
    "section",
    "status",
    "strip",
    "table",
    "tree",
    "tree_tools",
    "tree_tools_script",
]
