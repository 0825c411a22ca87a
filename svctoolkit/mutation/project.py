"""The suites of a project, and every change of what they test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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

    `targets` and `variables` are what they were loaded from.
    """

    suites: Sequence[Suite]
    scenarios: Sequence[Scenario]
    changes: Sequence[Change]
    targets: Sequence[str]
    variables: Mapping[str, Json]

    @classmethod
    def load(cls, targets: Sequence[str], variables: Mapping[str, Json] | None = None) -> Project:
        """Return the project of suite files and folders. Raises `ConfigError` as `runner.collect` does."""
        suites, scenarios = collect(targets, variables=variables)
        return cls(suites, scenarios, _numbered(_changes(suites)), list(targets), dict(variables or {}))

    @property
    def workspaces(self) -> list[Workspace]:
        """The workspaces of the suites, each once."""
        return list({id(suite.workspace): suite.workspace for suite in self.suites}.values())

    def mask(self, text: str) -> str:
        """Return a text of a report without the secrets of any suite."""
        for suite in self.suites:
            text = str(suite.masker.mask(text))
        return text


def _changes(suites: Sequence[Suite]) -> list[Change]:
    """Return the changes of all workspaces. What several suites share is changed once, for all of them."""
    merged: dict[object, Change] = {}
    for suite in {id(suite.workspace): suite for suite in suites}.values():
        for change in _of(suite):
            key = change.alteration
            earlier = merged.get(key)
            merged[key] = change if earlier is None else replace(earlier, items=earlier.items | change.items)
    return sorted(merged.values(), key=lambda change: (change.file, change.line))


def _of(suite: Suite) -> Iterator[Change]:
    places = Places(suite)
    yield from code_changes(suite.workspace, places, file_names(suite))
    yield from setting_changes(suite.workspace, places)
    yield from connection_changes(suite.workspace, places)
    yield from plan_changes(suite.workspace, places)


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
