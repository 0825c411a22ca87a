"""Names of events and of users."""

from __future__ import annotations

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping.leaves import trait
from svctoolkit.mapping.people import FIRST_NAME, LAST_NAME
from svctoolkit.mapping.refusals import Misfit, Missing
from svctoolkit.mapping.table import value_of
from svctoolkit.mapping.values import text

_NAME = trait("name")


def event_name(event: Event) -> str:
    """The name of a track event, unchanged. Raises `Missing` or `Misfit` if it has no valid name."""
    return require_name(event.raw.get("event"), "event")


def require_name(name: Json, where: str) -> str:
    """`name`, which the destination requires; `where` is the field that it comes from.

    Raises `Missing` if it is blank, and `Misfit` if it is not a string.
    """
    if name is None or name == "" or (isinstance(name, str) and not name.strip()):
        raise Missing(where, wants="the name of the event")
    if not isinstance(name, str):
        raise Misfit(where, "the name of the event, a string", name)
    return name


def event_key(event: Event) -> str:
    """The event's name as a key for tables of events; empty without one."""
    name = event.raw.get("event")
    return name_key(name) if isinstance(name, str) else ""


def name_key(name: str) -> str:
    """A name as a key: `Product List Viewed` is `product_list_viewed`."""
    return "_".join(name.lower().split())


def full_name(event: Event) -> str:
    """The trait `name`, else first and last name as far as known; empty if neither is."""
    name = value_of(event, _NAME)
    words = (name,) if name else (value_of(event, FIRST_NAME), value_of(event, LAST_NAME))
    return " ".join(text(word) for word in words if word)
