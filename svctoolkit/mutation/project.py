"""The suites of a project, and every change of what they test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from svctoolkit.json_types import Json
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.code_changes import code_changes
from svctoolkit.mutation.connection_changes import connection_changes
from svctoolkit.mutation.place import Places
from svctoolkit.mutation.plan_changes import plan_changes
from svctoolkit.mutation.setting_changes import setting_changes
from svctoolkit.runner import Scenario, Suite, collect
from svctoolkit.runner.coverage.lines import file_names
from svctoolkit.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Project:
    """Loaded suites, the scenarios to run, and the changes of their workspaces, in the order of files and lines.

    `targets` and `variables` are what they were loaded from, `others` the workspaces that no suite uses.
    """

    suites: Sequence[Suite]
    scenarios: Sequence[Scenario]
    changes: Sequence[Change]
    targets: Sequence[str]
    variables: Mapping[str, Json]
    others: Sequence[Workspace] = ()

    @classmethod
    def load(cls, targets: Sequence[str], variables: Mapping[str, Json] | None = None) -> Project:
        """Return the project of suite files and folders. Raises `ConfigError` as `runner.collect` does."""
        suites, scenarios = collect(targets, variables=variables)
        return cls(suites, scenarios, _numbered(_changes(suites, [])), list(targets), dict(variables or {}))

    @classmethod
    def of_tests(cls, suites: Sequence[Suite], others: Sequence[Workspace]) -> Project:
        """Return the project of tests in Python: the suites next to them, and the workspaces that the tests load."""
        return cls(suites, [], _numbered(_changes(suites, others)), [], {}, others)

    @property
    def workspaces(self) -> list[Workspace]:
        """The workspaces, each once."""
        return [*{id(suite.workspace): suite.workspace for suite in self.suites}.values(), *self.others]

    def mask(self, text: str) -> str:
        """Return a text of a report without the secrets of any suite."""
        for suite in self.suites:
            text = str(suite.masker.mask(text))
        for workspace in self.others:
            text = str(workspace.masker.mask(text))
        return text


def _changes(suites: Sequence[Suite], others: Sequence[Workspace]) -> list[Change]:
    """Return the changes of all workspaces. What several suites share is changed once, for all of them."""
    merged: dict[object, Change] = {}
    by_workspace = {id(suite.workspace): suite for suite in suites}.values()
    all_changes = chain(
        *(_of(suite.workspace, Places.of_suite(suite), file_names(suite)) for suite in by_workspace),
        *(_of(workspace, Places.of_workspace(workspace), {}) for workspace in others),
    )
    for change in all_changes:
        key = change.alteration
        earlier = merged.get(key)
        merged[key] = change if earlier is None else replace(earlier, items=earlier.items | change.items)
    return sorted(merged.values(), key=lambda change: (change.file, change.line))


def _of(workspace: Workspace, places: Places, files: Mapping[str, str]) -> Iterator[Change]:
    yield from code_changes(workspace, places, files)
    yield from setting_changes(workspace, places)
    yield from connection_changes(workspace, places)
    yield from plan_changes(workspace, places)


def _numbered(changes: Sequence[Change]) -> list[Change]:
    """Give each change an id that stays the same when other lines of its file change."""
    seen: Counter[str] = Counter()
    numbered = []
    for change in changes:
        name = f"{change.file} {change.kind} {change.text}"
        seen[name] += 1
        number = f" #{seen[name]}" if seen[name] > 1 else ""
        numbered.append(replace(change, id=f"{name}{number}"))
    return numbered
