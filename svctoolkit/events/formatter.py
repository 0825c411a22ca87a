"""An IPython formatter that shows dicts that are events as trees in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit import display
from svctoolkit.events._display import page
from svctoolkit.events._event import EVENT_TYPES
from svctoolkit.json_types import Json

_OF_EVENTS = ("messageId", "userId", "anonymousId")


def page_of_dict(value: Mapping[str, Json]) -> str | None:
    """Return a dict as a tree if its type and IDs say that it is an event; None for any other dict."""
    kind = value.get("type")
    if kind not in EVENT_TYPES or not any(isinstance(value.get(member), str) for member in _OF_EVENTS):
        return None
    name = value.get("event") or value.get("name")
    title = f"{kind} {name}" if isinstance(name, str) else str(kind)
    return display.bundle(page(value, title), "")["text/html"]


# Any: IPython's formatter
def register(formatter: Any) -> None:
    """Show dicts that are events as trees in notebooks, unless another formatter for dicts is registered."""
    if formatter.for_type(dict) is None:
        formatter.for_type(dict, page_of_dict)


# Any: IPython's formatter
def unregister(formatter: Any) -> None:
    """Show events as dicts again."""
    if formatter.for_type(dict) is page_of_dict:
        formatter.pop(dict)
