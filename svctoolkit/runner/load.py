"""From a suite file to scenarios. Everything that is wrong with it is said at once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from svctoolkit import yamlfile
from svctoolkit.errors import InvalidSuite, Problem
from svctoolkit.runner import _format
from svctoolkit.runner._checks import checked, taken
from svctoolkit.runner._model import Scenario, Suite
from svctoolkit.runner._variables import NAME, Variables, names_in
from svctoolkit.runner.compare import printable
from svctoolkit.workspace import Workspace
from svctoolkit.yamlfile import Document

_KINDS = {
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "str": "text",
    "int": "a number",
    "float": "a number",
    "null": "empty",
}


def load(path: Path, *, workspaces: dict[Path, Workspace] | None = None) -> Suite:
    """The suite in a file, with one scenario per row of `cases`.

    `workspaces` keeps workspace files that are loaded already, for suites that share one. Raises `InvalidSuite` or
    `InvalidWorkspace` with every problem, each with its place.
    """
    document = yamlfile.load(path, error=InvalidSuite)
    yamlfile.check(document, _format.schema(), InvalidSuite)
    problems: list[Problem] = []
    workspace = _workspace(path, document, {} if workspaces is None else workspaces)
    suite = Suite(path, document.data.get("suite") or path.name.partition(".suite.")[0], document, workspace)
    variables = _suite_variables(document, problems)
    for index, raw in enumerate(document.data["scenarios"]):
        suite.scenarios += _scenarios(suite, index, raw, variables, problems)
    problems += [document.problem(["tags"], message) for message in taken(document.data.get("tags", []))]
    problems += _same_ids(suite)
    if problems:
        raise InvalidSuite(yamlfile.capped(dict.fromkeys(problems)))  # rows of one scenario share its mistakes
    return suite


def _workspace(path: Path, document: Document, known: dict[Path, Workspace]) -> Workspace:
    written = document.data.get("workspace")
    inline = {key: document.data[key] for key in _format.WORKSPACE_KEYS if key in document.data}
    if written is None:
        return Workspace.of(document.part(inline), folder=path.parent)
    if inline:
        key = next(iter(inline))
        raise InvalidSuite(document.problem([key], f"{key!r} belongs in the workspace file {written}", key=True))
    file = path.parent / written
    if not file.is_file():
        raise InvalidSuite(document.problem(["workspace"], f"no such file: {written} (looked for {file})"))
    found = known.get(file.resolve())
    if found is None:
        found = known[file.resolve()] = Workspace.load(file)
    return found


def _suite_variables(document: Document, problems: list[Problem]) -> dict[str, Any]:
    """The suite's variables; each may use those above it."""
    values: dict[str, Any] = {}
    for name, written in document.data.get("vars", {}).items():
        if not NAME.fullmatch(name):
            problems.append(document.problem(["vars", name], f"{name!r} cannot be a variable's name", key=True))
        known = Variables(values)
        problems += known.unknown(written, document, ("vars", name))
        values[name] = known.applied(written)
    return values


def _scenarios(
    suite: Suite, index: int, raw: Mapping[str, Any], variables: Mapping[str, Any], problems: list[Problem]
) -> Iterator[Scenario]:
    place: tuple[str | int, ...] = ("scenarios", index)
    base = raw.get("id") or _slug(raw["name"]) or f"scenario-{index + 1}"
    body = {key: value for key, value in raw.items() if key != "cases"}
    if "cases" not in raw:
        made = _scenario(suite, place, place, body, base, Variables(variables), problems)
        yield from [made] if made else []
        return
    shared = Variables(variables)
    for number, written in enumerate(raw["cases"]):
        at = (*place, "cases", number)
        problems += shared.unknown(written, suite.document, at)
        row = shared.applied(written)
        known = Variables({**variables, **row})
        own = {key: row[key] for key in ("skip", "xfail") if key in row}
        tagged = {**body, **own, "tags": [*raw.get("tags", []), *row.get("tags", [])]}
        made = _scenario(suite, place, at, tagged, f"{base}[{row.get('id', number + 1)}]", known, problems)
        yield from [made] if made else []


def _scenario(
    suite: Suite,
    place: tuple[str | int, ...],
    at: tuple[str | int, ...],
    raw: Mapping[str, Any],
    id: str,
    variables: Variables,
    problems: list[Problem],
) -> Scenario | None:
    """One scenario; None where there is a problem. `place` is where it is written, `at` where it is its own row."""
    wrong = list(variables.unknown(raw, suite.document, place))
    if wrong:
        problems += wrong
        return None
    values = variables.applied(raw)
    try:
        given = msgspec.convert(values, _format.Scenario)
    except msgspec.ValidationError as error:
        problems.append(_mistyped(error, suite.document, place, at))
        return None
    tags = tuple(dict.fromkeys([*suite.document.data.get("tags", []), *given.tags]))
    made = Scenario(
        suite, id, printable(" ".join(given.name.split())), tags, given, values["expect"], at, given.skip, given.xfail
    )
    found = list(checked(made, place))
    problems += found
    return None if found else made


def _mistyped(error: msgspec.ValidationError, document: Document, place: tuple[str | int, ...], at: Any) -> Problem:
    """A variable of the wrong type, as `Expected `bool`, got `str` - at `$.stages.user_transform`` says it."""
    what, _, where = str(error).partition(" - at `$")
    steps = [int(s) if s.isdigit() else s for s in re.findall(r"[\w-]+", where)]
    expected, got = [_KINDS.get(kind, kind) for kind in re.findall("`([^`]+)`", what)[:2]] or ("something else", "this")
    row = "" if at == place else f" in the row at {document.where(at)}"
    return document.problem([*place, *steps], f"must be {expected}, and the variable is {got}{row}")


def _same_ids(suite: Suite) -> Iterator[Problem]:
    first: dict[str, Scenario] = {}
    for scenario in suite.scenarios:
        other = first.setdefault(scenario.id, scenario)
        if other is not scenario:
            message = (
                f"the scenario in line {other.line} has the id {scenario.id!r} already: give one of them another `id`"
            )
            yield suite.document.problem(scenario.place, message)


def _slug(name: str) -> str:
    """A name as an id: letters, digits and hyphens, so that it can be typed, selected and put in a report."""
    plain = unicodedata.normalize("NFKD", names_in(name)).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_.]+", "-", plain).strip("-.")
