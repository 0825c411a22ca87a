"""Rich displays of definitions and the catalogue."""

from __future__ import annotations

from typing import Any

from svctoolkit import display
from svctoolkit.destinations import _Catalogue
from svctoolkit.destinations._define import DestinationType
from svctoolkit.destinations._definition import Definition
from svctoolkit.destinations._variable import Variable
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.registry import Registry


@shows(Definition)
def definition(kind: Definition) -> Html:
    """Show what the type supports, and its configuration variables."""
    takes = kind.supported_message_types
    events = sorted({name for names in takes.values() for name in _flat(names)}) if takes else ["all six"]
    facts = {"name": kind.name, "connection modes": ", ".join(kind.modes), "event types": ", ".join(events)}
    if kind.sent_by_server:
        facts["sent by the server"] = f"{kind.sent_by_server}; test events cannot run"
    rows = [_variable(name, variable) for name, variable in kind.variables.items()]
    table = display.table(
        ["variable", "label", "kind", "required", "default or options"], rows, caption="Configuration"
    )
    return display.page(display.section(kind.display_name, display.facts(facts)), table)


@shows(DestinationType)
def destination_type(kind: DestinationType) -> Html:
    """Show a type that has a mapping: its event types, settings and quirks."""
    facts: dict[str, object] = {"event types": ", ".join(kind.handlers) or f"none, only {kind.takes}"}
    if kind.docs:
        facts["follows"] = kind.docs
    facts["settings"] = ", ".join(kind.settings.__struct_encode_fields__)
    if kind.quirks:
        facts["quirks"] = " ".join(kind.quirks)
    return display.page(display.section(kind.title, display.facts(facts)))


@shows(_Catalogue)
def catalogue(types: Registry[DestinationType]) -> Html:
    """Show the types that have a mapping, then the names of the others."""
    from svctoolkit.destinations import definitions

    every = {kind.name: kind for kind in definitions.all()}
    rows = [[every[name].display_name, name, ", ".join(every[name].modes)] for name in types]
    rows.sort(key=lambda row: row[0].lower())
    table = display.table(["title", "type", "connection modes"], rows, caption=f"{len(rows)} destination types")
    others = [f"{kind.display_name} ({name})" for name, kind in every.items() if name not in types]
    title = f"{len(others)} more have a definition but no mapping"
    return display.page(table, display.more(title, Html(f"<p>{display.html(', '.join(others))}</p>")))


def _flat(kinds: Any) -> list[str]:
    """Return the event types of a mode; device mode lists them by source type."""
    return [kind for inner in kinds.values() for kind in inner] if isinstance(kinds, dict) else list(kinds)


def _variable(name: str, variable: Variable) -> list[object]:
    kind = f"{variable.kind}, secret" if variable.secret else variable.kind
    values = ", ".join(variable.options) or ("" if variable.default is None else str(variable.default))
    return [name, variable.label, kind, "required" if variable.required else "", values]
