"""Events: types, checks, builders, realistic samples.

In requests and in Python code an event is a JSON object, a `dict`. Inside the pipeline it is an `Event`, a read-only
view of that object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.errors import InvalidMessageType
from svctoolkit.events._depth import MAX_DEPTH, may_be_deeper, too_deep
from svctoolkit.events._event import EVENT_TYPES, RECORD, ROOTS, Event, EventType
from svctoolkit.events.builders import alias, group, identify, page, screen, track
from svctoolkit.events.samples import sample, samples
from svctoolkit.json_types import Json

__all__ = [
    "EVENT_TYPES",
    "MAX_DEPTH",
    "RECORD",
    "ROOTS",
    "Event",
    "EventType",
    "alias",
    "check",
    "group",
    "identify",
    "may_be_deeper",
    "page",
    "sample",
    "samples",
    "screen",
    "too_deep",
    "track",
]


def __getattr__(name: str) -> Any:
    if name != "strategies":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # imported lazily, as it needs Hypothesis

    return import_module(f"{__name__}.strategies")


def check(message: object) -> Mapping[str, Json]:
    """Return `message` if it is an event that can be tested.

    Raises `InvalidMessageType` with one of the two specified texts (Test API specification, section Errors). Types are
    case-sensitive.
    """
    if not isinstance(message, (dict, Mapping)) or not isinstance(kind := message.get("type"), str):
        raise InvalidMessageType("message type missing or invalid", field="type")
    if kind not in EVENT_TYPES:
        raise InvalidMessageType("message type is unsupported", field="type")
    return message
