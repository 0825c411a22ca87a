"""Search all definitions, and list them as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from svctoolkit.destinations import CATALOGUE
from svctoolkit.destinations._definition import Definition
from svctoolkit.errors import UnknownName
from svctoolkit.events import EVENT_TYPES

if TYPE_CHECKING:
    import pandas as pd


def find(
    types: Iterable[Definition],
    words: str,
    takes: frozenset[str],
    category: str,
    mode: str,
    batches: bool | None,
    mapped: bool | None,
) -> Iterator[Definition]:
    """See `definitions.find`."""
    for event_type in takes:
        if event_type not in EVENT_TYPES:
            raise UnknownName("event type", event_type, EVENT_TYPES)
    for definition in types:
        text = f"{definition.name} {definition.display_name}".lower()
        if (
            all(word in text for word in words.lower().split())
            and takes <= set(_event_types(definition))
            and (not category or category in (definition.category, *definition.sent_by_server.split()))
            and (not mode or mode in definition.modes)
            and batches in (None, _shares(definition))
            and mapped in (None, _is_mapped(definition))
        ):
            yield definition


def frame(types: Iterable[Definition], secret_keys: Callable[[str], list[str]]) -> pd.DataFrame:
    """See `definitions.frame`."""
    import pandas as pd

    return pd.DataFrame([dict(_row(definition, secret_keys)) for definition in types])


def _row(definition: Definition, secret_keys: Callable[[str], list[str]]) -> Iterator[tuple[str, Any]]:
    known = definition.name in CATALOGUE
    kind = CATALOGUE[definition.name] if known else None
    yield "name", definition.name
    yield "display_name", definition.display_name
    yield "category", definition.category or definition.sent_by_server
    yield "modes", tuple(definition.modes)
    yield "sources", tuple(definition.supported_source_types)
    yield "events", _event_types(definition)
    yield "mapped", _is_mapped(definition)
    yield "shares_requests", _shares(definition)
    yield "judges_answers", bool(kind and kind.judges)
    yield "variables", tuple(definition.variables)
    yield "required", tuple(name for name, variable in definition.variables.items() if variable.required)
    yield "secrets", tuple(secret_keys(definition.name))
    yield "quirks", tuple(kind.quirks) if kind else ()
    yield "docs", kind.docs if kind else ""


def _is_mapped(definition: Definition) -> bool:
    return definition.name in CATALOGUE and bool(CATALOGUE[definition.name].handlers)


def _event_types(definition: Definition) -> tuple[str, ...]:
    listed = (definition.supported_message_types or {}).get("cloud", EVENT_TYPES)
    names = {str(name).lower() for name in listed} if isinstance(listed, (list, tuple)) else set(EVENT_TYPES)
    if "cloud" not in definition.modes:
        names = set()
    takes = CATALOGUE[definition.name].handlers if definition.name in CATALOGUE else EVENT_TYPES
    return tuple(name for name in EVENT_TYPES if name in names and name in takes)


def _shares(definition: Definition) -> bool:
    return definition.name in CATALOGUE and bool(CATALOGUE[definition.name].sharing)
