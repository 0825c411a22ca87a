"""Write the starter suites of a project: scenarios, what to expect of them, and snapshots that hold in every run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from svctoolkit import runner, yamlfile
from svctoolkit.errors import UnsetVariables, WorkspaceWarning
from svctoolkit.project import source_suites, suites
from svctoolkit.project.files import FileNames, write_texts
from svctoolkit.project.source_suites import Draft
from svctoolkit.project.states import TESTED, State
from svctoolkit.workspace import Source, Workspace

_VARIES = "its result differs from run to run"
_TAIL = 2  # steps of a path that say what varies, such as `context.processed_at`


@dataclass(frozen=True, slots=True)
class Written:
    """The number of scenarios, and the paths that each suite ignores."""

    scenarios: int = 0
    varying: Mapping[str, Sequence[str]] = field(default_factory=dict)


class SuiteFiles:
    """The suites of a workspace that is written to the folder `draft`."""

    def __init__(self, workspace: Workspace, draft: Path, environ: Mapping[str, str]) -> None:
        self._workspace, self._draft, self._environ = workspace, draft, environ
        self._names = FileNames()

    def write(self, states: Mapping[str, State]) -> Written:
        """Write suites for what runs, and take their snapshots."""
        texts = self._of_parts(states)
        drafts = source_suites.drafts(self._workspace, suites.sample_events())
        of_sources = {key: self._file(f"from-{key}") for key in drafts}
        sources = self._workspace.sources
        texts |= {
            name: suites.source_suite(self._workspace, sources[key], drafts[key]) for key, name in of_sources.items()
        }
        if not texts:
            return Written()
        write_texts(suites.samples() | texts, self._draft)
        served = self._served()
        with runner.open_planes() as planes:
            for key, name in of_sources.items():
                expectations = self._expectations(sources[key], drafts[key], name, served, planes)
                text = suites.source_suite(self._workspace, sources[key], drafts[key], expectations)
                write_texts({name: text}, self._draft)
            scenarios = [scenario for name in texts for scenario in self._scenarios(name, served)]
            _run(scenarios, planes, runner.Snapshots("new"))
            varying = self._ignore_varying(scenarios, served, planes)
        return Written(len(scenarios), varying)

    def _of_parts(self, states: Mapping[str, State]) -> dict[str, str]:
        """Return the suites of destinations, transformations and plans, by file."""
        workspace, texts = self._workspace, dict[str, str]()
        for key, state in states.items():
            if state.kind in TESTED and (text := suites.suite(workspace, workspace.destinations[key])):
                texts[self._file(key)] = text
        for key in workspace.transformations:
            if text := suites.transformation_suite(workspace, key):
                texts[self._file(key)] = text
        for key in workspace.sources:
            if text := suites.plan_suite(workspace, key):
                texts[self._file(f"{key}-as-planned")] = text
        return texts

    def _file(self, name: str) -> str:
        return f"suites/{self._names.of(name)}.suite.yaml"

    def _expectations(
        self, source: Source, drafts: Sequence[Draft], name: str, served: dict[Path, Workspace], planes: runner.Planes
    ) -> list[dict[str, Any]]:
        """Run the scenarios of a source once, and return what to expect of each."""
        outcomes = _run(self._scenarios(name, served)[: len(drafts)], planes, None)
        keys = [connection.destination for connection in source.connections if connection.enabled]
        return [
            draft.expectation(outcome.steps[0].results, keys) if outcome.steps else dict(source_suites.ANYTHING)
            for draft, outcome in zip(drafts, outcomes, strict=True)
        ]

    def _ignore_varying(
        self, scenarios: Sequence[runner.Scenario], served: dict[Path, Workspace], planes: runner.Planes
    ) -> dict[str, list[str]]:
        """Run again what was recorded. Where values differ, the suite ignores them; a scenario that differs still is
        skipped. Code that reads a clock or random numbers would otherwise fail its suite in the next run.
        """
        varying: dict[str, list[str]] = {}
        for outcome in _run(scenarios, planes, runner.Snapshots()):
            if not outcome.ok:
                paths = [_tail(difference.path) for difference in outcome.differences]
                varying.setdefault(self._name(outcome.scenario.suite.path), []).extend(paths)
        for name, paths in varying.items():
            varying[name] = list(dict.fromkeys(path for path in paths if path))
            data = yamlfile.load(self._draft / name).data
            ignored = [*dict.fromkeys([*data.get("ignore", []), *varying[name]])]
            self._rewrite(name, {**data, "ignore": ignored} if ignored else data)
            again = self._scenarios(name, served)
            _run(again, planes, runner.Snapshots("all"))
            failed = {o.scenario.name for o in _run(again, planes, runner.Snapshots()) if not o.ok}
            self._skip(name, [int(scenario.written[1]) for scenario in again if scenario.name in failed])
        return varying

    def _skip(self, name: str, places: Sequence[int]) -> None:
        if places:
            data = yamlfile.load(self._draft / name).data
            for place in places:
                data["scenarios"][place]["skip"] = _VARIES
            self._rewrite(name, data)

    def _rewrite(self, name: str, data: Mapping[str, Any]) -> None:
        head = {key: value for key, value in data.items() if key != "scenarios"}
        write_texts({name: yamlfile.dump({**head, "scenarios": data["scenarios"]})}, self._draft)

    def _name(self, path: Path) -> str:
        return path.resolve().relative_to(self._draft.resolve()).as_posix()

    def _scenarios(self, name: str, served: dict[Path, Workspace]) -> list[runner.Scenario]:
        with _without_notes():
            return list(runner.load(self._draft / name, workspaces=served, environ=self._environ).scenarios)

    def _served(self) -> dict[Path, Workspace]:
        """Return the workspace as it was written, by its file; without SVC_ENV, which applies to other workspaces."""
        file = self._draft / "workspace.yaml"
        with _without_notes():
            return {file.resolve(): Workspace.load(file, environ=self._environ, environment="")}


@contextmanager
def _without_notes() -> Iterator[None]:
    """Ignore notes about unknown types and variables, and unset secrets: the report lists them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkspaceWarning)
        warnings.simplefilter("ignore", UnsetVariables)
        yield


def _run(
    scenarios: Sequence[runner.Scenario], planes: runner.Planes, snapshots: runner.Snapshots | None
) -> list[runner.Outcome]:
    notices = runner.run(scenarios, planes, snapshots=snapshots)
    return [notice for notice in notices if isinstance(notice, runner.Outcome)]


def _tail(path: Sequence[str | int]) -> str:
    """Return the end of a path that names what varies, without places in lists: `context.processed_at`."""
    return ".".join(step for step in [str(step) for step in path if isinstance(step, str)][-_TAIL:])
