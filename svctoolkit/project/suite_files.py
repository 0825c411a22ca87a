"""Write the starter suites of a project: scenarios, what to expect of them, and snapshots that hold in every run."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from svctoolkit import runner, yamlfile
from svctoolkit.errors import ConfigError, UnsetVariables, WorkspaceWarning
from svctoolkit.project import source_suites, suites
from svctoolkit.project.files import FileNames, write_texts
from svctoolkit.project.source_suites import Draft
from svctoolkit.project.states import TESTED, State
from svctoolkit.project.states import states as states_of
from svctoolkit.project.suites import FOLDER
from svctoolkit.workspace import Source, Workspace

_VARIES = "its result differs from run to run"
_TAIL = 2  # steps of a path that say what varies, such as `context.processed_at`
_CALM = 5  # runs without a difference after which a suite counts as stable

Steps: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """The number of scenarios, and the paths that each suite ignores."""

    scenarios: int = 0
    varying: Mapping[str, Sequence[str]] = field(default_factory=dict)


def write_suites(workspace: Workspace, draft: Path, environ: Mapping[str, str]) -> Written:
    """Write suites for what runs to `draft`, the folder of the workspace, and take their snapshots.

    If the workspace's patience with code ends meanwhile, they are written again without what runs that code.
    """
    while True:
        states = states_of(workspace)
        endless = _endless(workspace)
        written = _SuiteFiles(workspace, draft, environ, endless).write(states)
        if _endless(workspace) == endless:
            return written
        shutil.rmtree(draft / FOLDER, ignore_errors=True)


def _endless(workspace: Workspace) -> frozenset[str]:
    return frozenset(workspace.patience.given_up if workspace.patience is not None else ())


class _SuiteFiles:
    """The suites of a workspace that is written to the folder `draft`, without what runs `endless` transformations."""

    def __init__(self, workspace: Workspace, draft: Path, environ: Mapping[str, str], endless: Set[str]) -> None:
        self._workspace, self._draft, self._environ, self._endless = workspace, draft, environ, endless
        self._sources = {key: source for key, source in workspace.sources.items() if self._ends(source)}
        self._names = FileNames()

    def _ends(self, source: Source) -> bool:
        reached = (self._workspace.destinations[c.destination] for c in source.connections if c.enabled)
        return not any(d.enabled and d.transformation in self._endless for d in reached)

    def write(self, states: Mapping[str, State]) -> Written:
        """Write suites for what runs, and take their snapshots."""
        texts = self._of_parts(states)
        drafts = source_suites.drafts(self._workspace, self._sources.values(), suites.sample_events())
        of_sources = {key: self._file(f"from-{key}") for key in drafts}
        sources = self._sources
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
            if key not in self._endless and (text := suites.transformation_suite(workspace, key)):
                texts[self._file(key)] = text
        for key in self._sources:
            if text := suites.plan_suite(workspace, key):
                texts[self._file(f"{key}-as-planned")] = text
        return texts

    def _file(self, name: str) -> str:
        return f"{FOLDER}/{self._names.of(name)}.suite.yaml"

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
        differing: dict[str, dict[Steps, None]] = {}
        for outcome in _run(scenarios, planes, runner.Snapshots()):
            if not outcome.ok:
                paths = dict.fromkeys(_steps(difference.path) for difference in outcome.differences)
                differing.setdefault(self._name(outcome.scenario.suite.path), {}).update(paths)
        return {name: self._ignore(name, paths, served, planes) for name, paths in differing.items()}

    def _ignore(
        self, name: str, paths: Iterable[Steps], served: dict[Path, Workspace], planes: runner.Planes
    ) -> list[str]:
        """Make a suite ignore the paths that differ, and skip what differs nevertheless; return the ignored paths."""
        data = yamlfile.load(self._draft / name).data
        before, ignored = data.get("ignore", []), list[str]()
        for steps in paths:
            for path in dict.fromkeys([".".join(steps[-_TAIL:]), ".".join(steps)]):
                if path in ignored or self._is_valid(name, {**data, "ignore": [*before, *ignored, path]}, served):
                    ignored += [] if path in ignored else [path]
                    break
        kept = [*dict.fromkeys([*before, *ignored])]
        self._rewrite(name, {**data, "ignore": kept} if kept else data)
        scenarios = self._scenarios(name, served)
        _run(scenarios, planes, runner.Snapshots("all"))
        unstable = _unstable(scenarios, planes)
        if len(unstable) == len(scenarios):  # ignoring did not help
            ignored = []
            self._rewrite(name, data)
        self._skip(name, [int(scenario.written[1]) for scenario in unstable])
        return ignored

    def _is_valid(self, name: str, data: Mapping[str, Any], served: dict[Path, Workspace]) -> bool:
        """Return whether a suite can be loaded: it must not ignore the whole of what a scenario expects."""
        self._rewrite(name, data)
        try:
            self._scenarios(name, served)
        except ConfigError:
            return False
        return True

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
            served = Workspace.load(file, environ=self._environ, environment="")
        served.patience = self._workspace.patience
        return {file.resolve(): served}


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
    return [*runner.outcomes(scenarios, planes, snapshots=snapshots)]


def _unstable(scenarios: Sequence[runner.Scenario], planes: runner.Planes) -> list[runner.Scenario]:
    """Run scenarios until several runs in a row add nothing to those that differ from their snapshots; return these.

    Code that drops a random half of its events gives the same result twice in every other comparison.
    """
    stable, unstable, calm = [*scenarios], list[runner.Scenario](), 0
    while stable and calm < _CALM:
        failed = {outcome.scenario.id for outcome in _run(stable, planes, runner.Snapshots()) if not outcome.ok}
        unstable += [scenario for scenario in stable if scenario.id in failed]
        stable = [scenario for scenario in stable if scenario.id not in failed]
        calm = 0 if failed else calm + 1
    return unstable


def _steps(path: Sequence[str | int]) -> Steps:
    """Return a path without places in lists."""
    return tuple(step for step in path if isinstance(step, str))
