"""Inputs without effect: unused columns, misspelt members and integrations of events, unused scripted answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET

from svctoolkit.destinations import definitions
from svctoolkit.errors import Problem
from svctoolkit.expect.names import is_typo, near_consent, near_context, near_member, near_object, unknown_member
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.model import Place, Places, Scenario, Step, Suite, as_list, within
from svctoolkit.runner.suite.variables import references
from svctoolkit.runner.suite.webhooks import webhooks_of
from svctoolkit.yamlfile import Document

if TYPE_CHECKING:
    from svctoolkit.runner.suite.cases import Row


_ABOUT_ROW = ("id", "tags", "skip", "xfail")
_REMARKS = ("comment", "comments", "description", "note", "notes", "remark", "why")


class Columns:
    """Which columns of rows are used. Rows in a file may be used by several scenarios of the suite.

    `everywhere` is what applies to all scenarios and may use columns, too.
    """

    def __init__(self, everywhere: Json) -> None:
        self._everywhere = set(references(everywhere))
        self._rows: dict[Path | Place, _Rows] = {}

    def use(self, place: Place, raw: Mapping[str, Json], rows: Iterable[Row], folder: Path) -> None:
        """Note what a scenario, at `place`, uses of its rows."""
        file = raw.get("cases")
        known = self._rows.setdefault((folder / file).resolve() if isinstance(file, str) else place, _Rows(place))
        known.is_matrix = "matrix" in raw
        known.columns |= dict.fromkeys(name for row in rows for name in row.values)
        known.used |= {*references({k: v for k, v in raw.items() if k not in ("name", "id", "cases", "matrix")})}
        known.shown |= {*references([raw.get("name"), raw.get("id")])}

    def problems(self, document: Document) -> Iterator[Problem]:
        """Yield the columns that are used nowhere, or only in names although no other one is used."""
        for rows in self._rows.values():
            columns = [name for name in rows.columns if name not in (*_ABOUT_ROW, *_REMARKS)]
            used = rows.used | self._everywhere
            what = "axis" if rows.is_matrix else "column"
            for name in columns:
                if name in used or (name in rows.shown and used & {*columns}):
                    continue
                where = "only in the name" if name in rows.shown else "nowhere"
                text = f"the {what} {name!r} is used {where}, so it tests nothing: write $({name}), or remove it"
                at = (*rows.place, "matrix", name) if rows.is_matrix else (*rows.place, "cases")
                yield document.problem(at, text, key=True)


@dataclass
class _Rows:
    place: Place
    is_matrix: bool = False
    columns: dict[str, None] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)  # names of variables in the scenario's name


def event_typos(scenario: Scenario, step: Step) -> Places:
    """Yield the misspelt members of the events that a step sends, unless it expects that they are refused."""
    if step.pending is not None or {"response", "status", "error", "failed"} & step.expect.keys():
        return
    key = "send" if step.spec.send is not UNSET else "event"
    written = getattr(step.spec, key)
    events = [] if written is UNSET or webhooks_of(step) else as_list(written)
    for number, event in enumerate(events):
        if isinstance(event, Mapping):
            at: Place = (key, number) if isinstance(written, list) else (key,)
            yield from within(at, _event_typos(event, scenario))


def unknown_members(suites: Iterable[Suite]) -> Iterator[str]:
    """Yield a line for each member of an event that belongs to no event of its type: only user code could read it."""
    for suite in suites:
        yield from dict.fromkeys(line for scenario in suite.scenarios for line in _unknown_members(scenario))


def _unknown_members(scenario: Scenario) -> Iterator[str]:
    for step in scenario.steps:
        key = "send" if step.spec.send is not UNSET else "event"
        written = getattr(step.spec, key)
        if written is UNSET or step.pending is not None or webhooks_of(step):
            continue
        for number, event in enumerate(as_list(written)):
            if not isinstance(event, Mapping):
                continue
            at: Place = (key, number) if isinstance(written, list) else (key,)
            for name, value in event.items():
                if value not in ({}, None) and (why := unknown_member(name, str(event.get("type")))):
                    place = scenario.suite.document.where([*step.place, *at, name], key=True)
                    yield f"{place}: {name!r} {why}: few destinations read it, if any"


def _event_typos(event: Mapping[str, Json], scenario: Scenario) -> Places:
    for name in event:
        near = near_member(name) or (near_object(name) if isinstance(event[name], Mapping) else "")
        if near and near not in event:
            yield (name,), f"an event has no member {name!r}. Did you mean {near!r}?"
    context = event.get("context")
    for name in context if isinstance(context, Mapping) else ():
        if isinstance(context, Mapping) and (near := near_context(name)) and near not in context:
            yield ("context", name), f"the context has no member {name!r}. Did you mean {near!r}?"
    consent = context.get("consentManagement") if isinstance(context, Mapping) else None
    consents = consent if isinstance(consent, Mapping) else {}
    for name in consents:
        if (near := near_consent(name)) and near not in consents:
            text = (
                f"consents have no member {name!r}, so it keeps the event from no destination. Did you mean {near!r}?"
            )
            yield ("context", "consentManagement", name), text
    integrations = event.get("integrations")
    for name in integrations if isinstance(integrations, Mapping) else ():
        known = _integrations(scenario)
        near = next((other for other in known if is_typo(name, other)), "")
        if name not in known and near:
            text = f"no integration is called {name!r}, so this switches nothing. Did you mean {near!r}?"
            yield ("integrations", name), text


def _integrations(scenario: Scenario) -> dict[str, None]:
    """Return the names that `integrations` may have: `All`, display names of types, and names of destinations."""
    own = [name for d in scenario.suite.workspace.destinations.values() for name in (d.name, d.key)]
    shown = [definitions.get(name).display_name for name in definitions.names()]
    return dict.fromkeys(("All", *shown, *own))


def silent_scripts(scenario: Scenario) -> Places:
    """Yield the recorder's responses for destinations that make no requests."""
    if not scenario.recorder:
        return
    from svctoolkit.warehouse import is_warehouse  # 30 ms, and most suites script nothing

    for key in scenario.recorder:
        destination = scenario.suite.workspace.destinations.get(key)
        if destination is not None and is_warehouse(destination.type):
            text = f"{key!r} is a warehouse: its tables are loaded here without a request, so nothing is answered"
            yield ("recorder", key), f"{text}. Remove it"
