"""What an explorer is made of, and what a notebook saves of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import ipywidgets


def everything(widget: Any) -> Iterator[Any]:
    """The widget and all in it."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from everything(child)


def html_parts(explorer: Any) -> list[Any]:
    """The places where it shows HTML."""
    return [widget for widget in everything(explorer.root) if isinstance(widget, ipywidgets.HTML)]


def saved(explorer: Any) -> str:
    """All that a notebook saves of it: the state of each widget, and what its views show."""
    states = [widget.get_state() for widget in everything(explorer.root)]
    return json.dumps([states, explorer._repr_mimebundle_()], default=str, ensure_ascii=False)
