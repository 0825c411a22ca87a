"""Checks of what a suite says about simulated destinations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from svctoolkit import simulations
from svctoolkit.errors import did_you_mean
from svctoolkit.expect.compare import is_matchers, json_line
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.model import Place, Places, within
from svctoolkit.runner.suite.results import is_by_destination
from svctoolkit.workspace import Destination, Workspace

_MORE = ("counts", "nobody")


def simulated_destinations(workspace: Workspace) -> dict[str, Destination]:
    """Return the simulated destinations of a workspace by key."""
    return {k: d for k, d in workspace.destinations.items() if workspace.simulation_level(d) != "answers"}


def by_destination(expected: Json, workspace: Workspace) -> dict[str, Json]:
    """Return an expectation by destination; without keys it is about the only simulated one (or, a list, about all).

    >>> by_destination({"counts": {"events": 1}}, Workspace())
    {'': {'counts': {'events': 1}}}
    """
    if is_by_destination(expected, workspace.destinations):
        return dict(expected)
    simulated = list(simulated_destinations(workspace))
    return {simulated[0] if len(simulated) == 1 else "": expected}


def held_problems(expect: Mapping[str, Json], workspace: Workspace, *, pending: bool = False) -> Places:
    """Yield the mistakes in `holds` and `lost`: destinations that are not simulated, and unknown tables.

    A `pending` expectation has values that are not known yet.
    """
    for name in [name for name in ("holds", "lost") if name in expect]:
        expected = by_destination(expect[name], workspace)
        if not simulated_destinations(workspace):
            yield ("expect", name), _hint(workspace)
            continue
        for key, rows in expected.items():
            is_keyed = isinstance(expect[name], Mapping) and key in expect[name]
            path = ("expect", name, key) if is_keyed else ("expect", name)
            if not key and name == "holds":
                keys = list(simulated_destinations(workspace))
                yield path, f"several destinations are simulated: write {{{keys[0]}: ...}}"
            elif key and workspace.simulation_level(workspace.destinations[key]) == "answers":
                yield path, f"destination {key!r} is not simulated: {_why(workspace.destinations[key])}"
            elif key and name == "holds" and not pending:
                yield from _tables(workspace.destinations[key], rows, path)


def _tables(destination: Destination, rows: Json, path: Place) -> Places:
    tables = list(simulations.SIMULATIONS[destination.type].tables)
    if not isinstance(rows, Mapping) or not rows:
        yield path, f"must be a map of tables: {', '.join((*tables, *_MORE))}"
        return
    for table, wanted in rows.items():
        if table not in (*tables, *_MORE):
            near = did_you_mean(str(table), (*tables, *_MORE))
            yield (*path, table), f"{destination.type} has no simulated table {table!r}: {', '.join(tables)}.{near}"
        elif table == "counts" and not isinstance(wanted, Mapping):
            yield (*path, table), f"must be the numbers of rows by table, such as {{{tables[0]}: 1}}"
        elif table == "counts":
            for name in [name for name in wanted if name not in tables]:
                near = did_you_mean(str(name), tables)
                yield (*path, table, name), f"{destination.type} has no simulated table {name!r}.{near}"
        elif table == "nobody" and not (isinstance(wanted, list) and wanted):
            yield (*path, table), "must be a list of ids that no profile has"
        elif not isinstance(wanted, list) and not (isinstance(wanted, Mapping) and is_matchers(wanted)):
            yield (*path, table), "must be a list of rows, or {$contains: [...]} if others may be there"
        elif table == "nobody":
            yield from within((*path, table), _ids(destination, wanted))


def _ids(destination: Destination, wanted: Iterable[Json]) -> Places:
    """Yield the ids of persons that a type does not have: no profile would ever have one."""
    profiles = simulations.SIMULATIONS[destination.type].tables.get("profiles")
    kinds = profiles.id_members if profiles is not None else ()
    for index, ids in enumerate(wanted):
        if not isinstance(ids, Mapping) or not ids:
            yield (index,), f"must be ids of a person, such as {{{next(iter(kinds), 'id')}: ada}}"
            continue
        for name in [name for name in ids if name not in kinds]:
            near = did_you_mean(str(name), kinds)
            has = f"it has {', '.join(kinds)}" if kinds else "it holds no profiles with ids"
            yield (index, name), f"a profile of {destination.type} has no id {name!r}: {has}.{near}"
        for name in [name for name in kinds if ids.get(name, "is") in (None, "", [], {})]:
            yield (
                (index, name),
                f"no profile ever has {json_line(ids[name])} as an id: write the id that must be missing",
            )


def given_problems(workspace: Workspace, given: Mapping[str, Json]) -> Places:
    """Yield the destinations in `given` that do not exist or are not simulated, and rows that have no valid form."""
    for key, state in given.items():
        destination = workspace.destinations.get(key)
        if destination is None:
            yield ("given", key), f"unknown destination {key!r}.{did_you_mean(key, workspace.destinations)}"
        elif workspace.simulation_level(destination) == "answers":
            yield ("given", key), f"destination {key!r} is not simulated: {_why(destination)}"
        else:
            tables = simulations.SIMULATIONS[destination.type].tables
            yield from within(("given", key), simulations.given_problems(tables, state))


def _why(destination: Destination) -> str:
    if not simulations.is_simulated(destination.type):
        types = ", ".join(simulations.SIMULATIONS)
        return f"{destination.type} has no simulation; these types have one: {types}"
    return "set `simulate: simulated` at the destination, or use --simulate"


def _hint(workspace: Workspace) -> str:
    able = [key for key, destination in workspace.destinations.items() if simulations.is_simulated(destination.type)]
    if able:
        return f"no destination is simulated: set `simulate: simulated` at {', '.join(able)}, or use --simulate"
    return f"no destination is simulated: these types have a simulation: {', '.join(simulations.SIMULATIONS)}"
