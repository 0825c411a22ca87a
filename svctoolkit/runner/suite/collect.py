"""Find the scenarios in the files and folders that the user names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import ConfigError, Problem, UnknownName
from svctoolkit.inputs import Inputs, is_suite
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.load import load
from svctoolkit.runner.suite.model import Scenario, Suite
from svctoolkit.runner.suite.select import expression, find
from svctoolkit.workspace import Workspace


class Loaded:
    """The suites and workspaces of an earlier `collect`, for the next one: files that are unchanged are not read again.

    `content` has the parsed files of the last run that was complete, to compare the next one with.
    """

    def __init__(self) -> None:
        self.workspaces: dict[Path, Workspace] = {}
        self._suites: dict[Path, list[Suite]] = {}
        self._variables: Mapping[str, Json] | None = None
        self._content: dict[Path, Json] = {}

    def begin(self, variables: Mapping[str, Json] | None) -> None:
        """Drop what has changed. Suites with other variables than before are loaded again."""
        self.workspaces = {file: w for file, w in self.workspaces.items() if not _inputs(w.inputs.values()).changed()}
        same = variables == self._variables
        self._suites = {file: suites for file, suites in self._suites.items() if same and not _changed(suites)}
        self._variables = variables

    def suites(self, file: Path) -> list[Suite] | None:
        """Return the suites of a file if they are current. Their inputs are recorded as if they were read again."""
        suites = self._suites.get(file)
        for suite in suites or ():
            inputs.replay(_inputs_of(suite))
        return suites

    def keep(self, file: Path, suites: list[Suite]) -> None:
        """Keep the suites of a file for the next time."""
        self._suites[file] = suites

    def complete(self) -> None:
        """Take the present content of suites and workspaces as that of the last run."""
        suites = [suite for suites in self._suites.values() for suite in suites]
        self._content = {suite.path.resolve(): suite.document.data for suite in suites}
        files = [file for file in self.workspaces if file.is_file()]  # not the folders of rudder-cli projects
        self._content |= {file: yamlfile.load(file).data for file in files}

    def content(self, file: Path) -> Json:
        """Return what a file contained in the last run; None if it was not part of it."""
        return self._content.get(file)


def _inputs(parts: Iterable[Inputs]) -> Inputs:
    together = Inputs()
    for part in parts:
        together.add(part)
    return together


def _inputs_of(suite: Suite) -> Inputs:
    return _inputs([suite.inputs, *suite.workspace.inputs.values(), *(s.inputs for s in suite.scenarios)])


def _changed(suites: Iterable[Suite]) -> bool:
    return any(_inputs_of(suite).changed() for suite in suites)


def collect(
    targets: Sequence[str], *, variables: Mapping[str, Json] | None = None, loaded: Loaded | None = None
) -> tuple[list[Suite], list[Scenario]]:
    """Return the suites and scenarios in `targets`: files, folders, or `FILE::ID` for one scenario (or all its rows).

    `variables` replace the suites' variables of the same names. `loaded` has what an earlier call has loaded. Raises
    `ConfigError` with the problems of all files together, and `UnknownName` for an id that no scenario has, or a
    variable that no suite has.
    """
    targets_by_path = _targets(targets)
    loaded = loaded or Loaded()
    loaded.begin(variables)
    suites: list[Suite] = []
    problems: dict[Problem, None] = {}  # a dict, so that problems of a shared workspace are reported once
    for file, _ in targets_by_path.values():
        try:
            suites += _load(file, loaded, variables)
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


def _load(file: Path, loaded: Loaded, variables: Mapping[str, Any] | None) -> list[Suite]:
    suites = loaded.suites(file)
    if suites is None:
        if is_suite(file):
            suites = [load(file, workspaces=loaded.workspaces, variables=variables)]
        else:
            from svctoolkit.runner.suite.projects import project

            suites = project(file)
        loaded.keep(file, suites)
    return suites


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
