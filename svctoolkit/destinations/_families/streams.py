"""What types without HTTP share: streams, queues, sheets and stores that the data-plane server itself writes to.

The Test API refuses them. In a data plane whose delivery mode is `record`, the recorder takes what would be put there:
an unsigned request in the words of the destination's public API, with the event itself where that API wants it encoded.
In other modes nothing is sent. What the service itself puts there is known of its refusals only.
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
    """Where the configuration sends an event: by its name, else its type, else `*`; empty where it says nothing."""
    targets = {row.from_.strip().lower(): row.to.strip() for row in rows if row.from_ and row.to}
    name = event.raw.get("event")
    keys = (name.strip().lower() if isinstance(name, str) else "", event.type, "*")
    return next((targets[key] for key in keys if key in targets), "")


def require_target(event: Event, rows: Iterable[Rows], variable: str) -> str:
    """The same. Raises `NotConfigured` where the rows, which are those of `variable`, have none for the event."""
    target = target_of(event, rows)
    if not target:
        name = event.raw.get("event") or event.type
        raise NotConfigured("event", name, setting=variable)
    return target


def value_named(event: Event, name: str) -> Json:
    """The value of a name in a configuration: of the properties or traits; with dots, a path there or of the event."""
    places = (event.properties, as_object(event.raw.get("traits")), as_object(event.context.get("traits")), event.raw)
    return next((value for place in places if (value := path(name)(place)) is not None), None)
