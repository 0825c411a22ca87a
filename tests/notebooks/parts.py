"""Looking at an explorer without a browser: its controls by their labels, and the text that it shows."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

from svctoolkit.widgets._base import Explorer


def all_of(widget: Any) -> Iterator[Any]:
    """The widget and everything in it."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from all_of(child)


def control(explorer: Explorer, label: str) -> Any:
    """The one control with this label."""
    (found,) = [widget for widget in all_of(explorer.root) if getattr(widget, "description", None) == label]
    return found


def text(explorer: Explorer) -> str:
    """All that its HTML parts say, as a screen reader would read it: no styles, no tags."""
    values = [widget.value for widget in all_of(explorer.root) if type(widget).__name__ == "HTML"]
    return words("\n".join(values))


def words(value: str) -> str:
    """HTML as text."""
    return html.unescape(re.sub(r"<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", value)))


def saved(explorer: Explorer) -> str:
    """Everything that a notebook saves of it: the state of each widget, and what its views show."""
    states = [widget.get_state() for widget in all_of(explorer.root)]
    return json.dumps([states, explorer._repr_mimebundle_()], default=str, ensure_ascii=False)
