"""Event types that reach a destination in cloud mode."""

from __future__ import annotations

from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.events import EVENT_TYPES
from svctoolkit.warehouse import is_warehouse
from svctoolkit.workspace import Destination


def accepted_types(destination: Destination) -> list[str]:
    """Return the event types that a destination takes in cloud mode; none for a type that has device mode only."""
    definition = definitions.known(destination.type)
    if definition is None:
        return list(EVENT_TYPES)
    if definition.modes and not {"cloud", "hybrid"} & set(definition.modes):
        return []
    listed = (definition.supported_message_types or {}).get("cloud")
    names = [str(name).lower() for name in listed] if isinstance(listed, list) else list(EVENT_TYPES)
    mapped = destination.type in CATALOGUE and not is_warehouse(destination.type)
    takes = CATALOGUE[destination.type].handlers if mapped else EVENT_TYPES
    return [type for type in EVENT_TYPES if type in names and type in takes]
