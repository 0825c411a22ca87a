"""Find the scenarios in the files and folders that the user names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from svctoolkit.errors import ConfigError, Problem, UnknownName
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.load import load
from svctoolkit.runner.suite.model import Scenario, Suite
from svctoolkit.runner.suite.select import expression, find, is_suite
from svctoolkit.workspace import Workspace


def collect(
    targets: Sequence[str], *, variables: Mapping[str, Json] | None = None
) -> tuple[list[Suite], list[Scenario]]:
    """Return the suites and scenarios in `targets`: files, folders, or `FILE::ID` for one scenario (or all its rows).

    `variables` replace the suites' variables of the same names. Raises `ConfigError` with the problems of all files
    together, and `UnknownName` for an id that no scenario has, or a variable that no suite has.
    """
    targets_by_path = _targets(targets)
    workspaces: dict[Path, Workspace] = {}
    suites: list[Suite] = []
    problems: dict[Problem, None] = {}  # a dict, so that problems of a shared workspace are reported once
    for file, _ in targets_by_path.values():
        try:
            suites += _load(file, workspaces, variables)
        except ConfigError as error:
            problems.update(dict.fromkeys(error.problems))
    if problems:
        raise ConfigError(list(problems))
    names = {name for suite in suites for name in suite.common.section("vars", suite.document.data.get("vars", {}))}
    for name in variables or {}:
        if name not in names:
            raise UnknownName("variable", name, names)
    chosen = (_chosen_scenarios(suite, targets_by_path[suite.path.resolve()][1]) for suite in suites)
    return suites, [scenario for scenarios in chosen for scenario in scenarios]


def _load(file: Path, workspaces: dict[Path, Workspace], variables: Mapping[str, Any] | None) -> list[Suite]:
    if is_suite(file):
        return [load(file, workspaces=workspaces, variables=variables)]
    from svctoolkit.runner.suite.projects import project

    return project(file)


def _targets(targets: Sequence[str]) -> dict[Path, tuple[Path, list[str]]]:
    """Return the files by real path, each with its name as given and the requested ids; no ids means the whole file."""
    targets_by_path: dict[Path, tuple[Path, list[str]]] = {}
    for target in targets:
        name, _, id = target.partition("::")
        for file in find([Path(name)], projects=True):
            _, ids = targets_by_path.setdefault(file.resolve(), (file, [id] if id else []))
            if not id:
                ids.clear()
            elif ids and id not in ids:
                ids.append(id)
    return targets_by_path


def _chosen_scenarios(suite: Suite, ids: Sequence[str]) -> Iterator[Scenario]:
    for id in ids:
        if not any(id in (s.id, s.id.partition("[")[0]) for s in suite.scenarios):
            raise UnknownName("scenario", id, [s.id for s in suite.scenarios], where=suite.name)
    for scenario in suite.scenarios:
        if not ids or scenario.id in ids or scenario.id.partition("[")[0] in ids:
            yield scenario


def select(scenarios: Sequence[Scenario], *, tags: str = "", words: str = "") -> list[Scenario]:
    """Return the scenarios that match `tags`, an expression, and `words`, an expression over file, id, title and tags.

    Raises `ConfigError` for an invalid expression.
    """
    by_tag = expression(tags) if tags else None
    by_word = expression(words) if words else None
    chosen = []
    for scenario in scenarios:
        text = f"{scenario.name} {scenario.title} {' '.join(scenario.tags)}".lower()
        if by_tag and not by_tag(scenario.tags.__contains__):
            continue
        if by_word and not by_word(lambda word, text=text: word.lower() in text):  # type: ignore[misc]
            continue
        chosen.append(scenario)
    return chosen
