"""Rich display of events."""

from __future__ import annotations

from collections.abc import Mapping

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.events._event import Event
from svctoolkit.json_types import Json


@shows(Event)
def event_page(event: Event) -> Html:
    """Show type and name, and the whole event as a tree."""
    return page(event.raw, " ".join(word for word in (event.type or "event", event.name) if word))


def page(event: Mapping[str, Json], title: str) -> Html:
    """Show an event as a tree."""
    return display.page(display.tree(event, title))
