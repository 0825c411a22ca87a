"""Shared by types without HTTP: streams, queues, sheets and stores that the data-plane server itself writes to.

The Test API refuses them. In delivery mode `record`, the recorder receives what would be written: an unsigned request
in the format of the destination's public API, with the plain event where that API requires an encoded one. In other
modes nothing is sent. RudderStack's own output for these types is not public; only its error messages are known.
"""

from __future__ import annotations

from collections.abc import Iterable

from svctoolkit.destinations._answers import Answer
from svctoolkit.destinations._settings import Rows
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import NotConfigured, as_object, path

ANSWERS = [Answer("success", 200, {})]


def target_of(event: Event, rows: Iterable[Rows]) -> str:
    """Return the configured target of an event: by its name, else its type, else `*`; empty if there is none."""
    targets = {row.from_.strip().lower(): row.to.strip() for row in rows if row.from_ and row.to}
    name = event.raw.get("event")
    keys = (name.strip().lower() if isinstance(name, str) else "", event.type, "*")
    return next((targets[key] for key in keys if key in targets), "")


def require_target(event: Event, rows: Iterable[Rows], variable: str) -> str:
    """Like `target`, but raises `NotConfigured` if the rows of `variable` have no target for the event."""
    target = target_of(event, rows)
    if not target:
        name = event.raw.get("event") or event.type
        raise NotConfigured("event", name, setting=variable)
    return target


def value_named(event: Event, name: str) -> Json:
    """Return the value of a configured name: in properties or traits, or (as a path with dots) in the event."""
    places = (event.properties, as_object(event.raw.get("traits")), as_object(event.context.get("traits")), event.raw)
    return next((value for place in places if (value := path(name)(place)) is not None), None)
