"""Remarks on a setting of a destination: consents, the schema of a warehouse, the variable of a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from svctoolkit.apply.change import Detail, short
from svctoolkit.rudder_cli import Destination
from svctoolkit.warehouse import is_warehouse
from svctoolkit.workspace import Workspace

#: Settings that say where the tables of a warehouse are.
_PLACES: Final = {
    "namespace": "schema",
    "database": "database",
    "dbname": "database",
    "project": "project",
    "location": "location",
    "host": "server",
    "account": "account",
}
_VARIABLE: Final = re.compile(r"\$\(env:RUDDER_(\w+)\)")


def of(workspace: Workspace, id_: str) -> Destination | None:
    """Return a destination as the project has it; None in a workspace that is not a project."""
    return workspace.project.every_destination.get(id_) if workspace.project else None


def consents(before: Workspace, after: Workspace, id_: str, source: str) -> str:
    """Return the consents that events of a source type need, and needed."""
    was, now = (_consents(_at(of(side, id_), "consent_management", source)) for side in (before, after))
    return f"events of {source} now need {now}, before {was}"


def _at(destination: Destination | None, *path: str) -> Any:
    at = destination.file.spec.get("config") if destination else None
    for step in path:
        at = at.get(step) if isinstance(at, dict) else None
    return at


def _consents(entries: Any) -> str:
    rows = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    names = [f"{text} ({row.get('provider')})" for row in rows for text in row.get("consents") or ()]
    if not names:
        return "no consent"
    return f"the consent{'s' if len(names) > 1 else ''} {', '.join(names)}"


def tables(detail: Detail, type_: str) -> Iterator[str]:
    """Yield where the tables of a warehouse are from now on, if the setting decides that."""
    name = _PLACES.get(detail.path.removeprefix("config."))
    if name is not None and is_warehouse(type_):
        was = f"{name} {short(detail.before)}" if detail.before else f"default {name}"
        now = f"{name} {short(detail.after)}" if detail.after else f"default {name}"
        yield f"its tables are loaded into the {now}; those in the {was} get no new rows"


def secret(detail: Detail, before: Workspace, after: Workspace, id_: str) -> Iterator[str]:
    """Yield which variables a secret comes from, if these are not the same."""
    path = detail.path.removeprefix("config.").split(".")
    was, now = (_variables(of(side, id_), path) for side in (before, after))
    if was != now and (was or now):
        yield f"{path[0]} comes from {now or 'a text in the file'} now, before from {was or 'a text in the file'}"


def _variables(destination: Destination | None, path: list[str]) -> str:
    spec = destination.file.spec_with_references() if destination else None
    at: Any = (spec or {}).get("config")
    for step in path:
        if isinstance(at, list):
            at = at[int(step)] if step.isdigit() and int(step) < len(at) else None
        else:
            at = at.get(step) if isinstance(at, dict) else None
    return ", ".join(f"{{{{ .{name} }}}}" for name in _VARIABLE.findall(at)) if isinstance(at, str) else ""
