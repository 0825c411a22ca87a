"""How an event shows itself."""

from __future__ import annotations

from collections.abc import Mapping

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.json_types import Json


def page(event: Mapping[str, Json], title: str) -> Html:
    """An event as a tree."""
    return display.page(display.tree(event, title))
