"""Widgets as users see them, found by their labels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import ipywidgets


def control(explorer: Any, label: str) -> Any:
    """The control with this label."""
    found = [widget for widget in _all(explorer.root) if getattr(widget, "description", None) == label]
    assert found, f"no control is labelled {label!r}"
    return found[0]


def fill(explorer: Any, label: str, value: Any) -> None:
    """Set a control's value, as a user would by typing or choosing."""
    control(explorer, label).value = value


def click(explorer: Any, label: str) -> None:
    """Click a button; fail if it is disabled."""
    button = control(explorer, label)
    assert not button.disabled
    button.click()


def shown(explorer: Any) -> str:
    """All HTML that the explorer shows, without styles."""
    parts = [widget.value for widget in _all(explorer.root) if isinstance(widget, ipywidgets.HTML)]
    return re.sub(r"<style>.*?</style>", "", "".join(parts), flags=re.S)


def words(html: str) -> str:
    """The text of HTML, on one line."""
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", html, flags=re.S)).split())


def html_parts(explorer: Any) -> list[Any]:
    """The HTML widgets that it shows."""
    return [widget for widget in _all(explorer.root) if isinstance(widget, ipywidgets.HTML)]


def saved(explorer: Any) -> str:
    """Everything that a notebook saves of it: the state of each widget, and what its views show."""
    states = [widget.get_state() for widget in _all(explorer.root)]
    return json.dumps([states, explorer._repr_mimebundle_()], default=str, ensure_ascii=False)


def _all(widget: Any) -> Iterator[Any]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _all(child)


def grid(explorer: Any, label: str) -> Any:
    """The grid with this label."""
    found = [widget for widget in _all(explorer.root) if type(widget).__name__ == "GridView" and widget.label == label]
    assert found, f"no grid is labelled {label!r}"
    return found[0]


def lines(explorer: Any, label: str) -> list[str]:
    """The rows of a grid that the page has, as text."""
    return ["  ".join(cells) for cells in grid(explorer, label).page["cells"]]


def pick(explorer: Any, label: str, number: int) -> None:
    """Select a row of a grid by its key, by default its number in the original order."""
    grid(explorer, label).picked = number


def search(explorer: Any, label: str, text: str) -> None:
    """Search in a grid."""
    grid(explorer, label).search = text
