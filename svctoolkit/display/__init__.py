"""HTML for notebooks: JSON trees, diffs, pipeline strips, HTTP exchanges, tables, messages.

Every function gives `Html` without scripts and with everything escaped, which can be read, too, where a view strips
styles and classes. `page` puts parts together with the one style; `bundle` is what `_repr_mimebundle_` returns: there
trees have tools, where a page runs scripts.

>>> shown = page(message("2 events received", "ok"), tree({"type": "track"}, "event"))
"""

from __future__ import annotations

from svctoolkit.display._blocks import code, facts, message, pill, table
from svctoolkit.display._diff import diff, diff_text
from svctoolkit.display._document import document
from svctoolkit.display._excerpt import Excerpt
from svctoolkit.display._exchange import exchange
from svctoolkit.display._flow import flow
from svctoolkit.display._html import Html, Kind, box, bundle, columns, fragment, html, more, page, quantity, section
from svctoolkit.display._lights import Leaf, Lights
from svctoolkit.display._strip import Status, Step, status, strip
from svctoolkit.display._style import STYLE
from svctoolkit.display._tools import tree_tools, tree_tools_script
from svctoolkit.display._tree import tree

__all__ = [
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
