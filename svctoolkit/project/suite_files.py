"""Write the starter suites of a project: scenarios, what to expect of them, and snapshots that hold in every run."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from svctoolkit import runner, yamlfile
from svctoolkit.errors import ConfigError, UnsetVariables, WorkspaceWarning
from svctoolkit.json_types import Json
from svctoolkit.project import source_suites, suites
from svctoolkit.project.files import FileNames, write_texts
from svctoolkit.project.source_suites import Draft
from svctoolkit.project.states import TESTED, State
from svctoolkit.project.states import states as states_of
from svctoolkit.project.suites import FOLDER
from svctoolkit.project.varying import Steps, leaf_paths, rules_of, showing_in, steps_of
from svctoolkit.workspace import Source, Workspace

_VARIES = "its result differs from run to run"
_CALM = 5  # runs without a difference after which a suite counts as stable
_CALM_AT_RANDOM = 20  # the same, after one of its scenarios differed: another one may give its result by chance


@dataclass(frozen=True, slots=True)
class Refused:
    """A planned event of a source that a destination refuses, although the plan permits it."""

    source: str
    event: str
    destination: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Group:
    """Scenarios of a source that are written to one file."""

    source: Source
    drafts: Sequence[Draft]
    file: str


@dataclass(frozen=True, slots=True)
class Written:
    """The number of scenarios, the paths that each suite ignores, and the planned events that destinations refuse.

    `without` are rules of tracking plans for which no event could be generated, with the reason.
    """

    scenarios: int = 0
    varying: Mapping[str, Sequence[str]] = field(default_factory=dict)
    refused: Sequence[Refused] = ()
    without: Sequence[str] = ()


def write_suites(
    workspace: Workspace, draft: Path, environ: Mapping[str, str], tests: Mapping[str, list[dict[str, Json]]]
) -> Written:
    """Write suites for what runs to `draft`, the folder of the workspace, and take their snapshots.

    `tests` are the scenarios that the imported project has for its transformations, by key.

    If the workspace's patience with code ends meanwhile, they are written again without what runs that code.
    """
    while True:
        states = states_of(workspace)
        endless = _endless(workspace)
        written = _SuiteFiles(workspace, draft, environ, endless, tests).write(states)
        if _endless(workspace) == endless:
            return written
        shutil.rmtree(draft / FOLDER, ignore_errors=True)


def _endless(workspace: Workspace) -> frozenset[str]:
    return frozenset(workspace.patience.given_up if workspace.patience is not None else ())


class _SuiteFiles:
    """The suites of a workspace that is written to the folder `draft`, without what runs `endless` transformations."""

    def __init__(
        self,
        workspace: Workspace,
        draft: Path,
        environ: Mapping[str, str],
        endless: Set[str],
        tests: Mapping[str, list[dict[str, Json]]],
    ) -> None:
        self._workspace, self._draft, self._environ, self._endless = workspace, draft, environ, endless
        self._tests, self._without = tests, list[str]()
        self._sources = {key: source for key, source in workspace.sources.items() if self._ends(source)}
        self._names = FileNames()

    def _ends(self, source: Source) -> bool:
        reached = (self._workspace.destinations[c.destination] for c in source.connections if c.enabled)
        return not any(d.enabled and d.transformation in self._endless for d in reached)

    def write(self, states: Mapping[str, State]) -> Written:
        """Write suites for what runs, and take their snapshots."""
        texts = self._of_parts(states)
        groups = self._of_sources()
        texts |= {group.file: suites.source_suite(self._workspace, group.source, group.drafts) for group in groups}
        if not texts:
            return Written()
        write_texts(suites.samples() | texts, self._draft)
        served, refused = self._served(), list[Refused]()
        with runner.open_planes() as planes:
            for group in groups:
                outcomes = _run(self._scenarios(group.file, served)[: len(group.drafts)], planes, None)
                text = suites.source_suite(self._workspace, group.source, group.drafts, _expectations(group, outcomes))
                write_texts({group.file: text}, self._draft)
                refused += _refused(group, outcomes)
            scenarios = [scenario for name in texts for scenario in self._scenarios(name, served)]
            begun = datetime.now(UTC)
            recorded = _run(scenarios, planes, runner.Snapshots("new"))
            varying = self._ignore_varying(recorded, begun, served, planes)
        return Written(len(scenarios), varying, refused, self._without)

    def _of_parts(self, states: Mapping[str, State]) -> dict[str, str]:
        """Return the suites of destinations, transformations and plans, by file."""
        workspace, texts = self._workspace, dict[str, str]()
        for key, state in states.items():
            if state.kind in TESTED and (text := suites.suite(workspace, workspace.destinations[key])):
                texts[self._file(key)] = text
        for key in workspace.transformations:
            if key not in self._endless and (text := suites.transformation_suite(workspace, key)):
                texts[self._file(key)] = text
            if key not in self._endless and (text := suites.values_suite(workspace, key)):
                texts[self._file(f"{key}-values")] = text
            if key not in self._endless and (own := self._tests.get(key)):
                texts[self._file(f"{key}-tests")] = suites.tests_suite(workspace, key, own)
        return texts

    def _of_sources(self) -> list[_Group]:
        """Return the scenarios of each source, and of its tracking plan, with the file that each group is for."""
        drafts = source_suites.drafts(self._workspace, self._sources.values(), suites.sample_events())
        groups = [_Group(self._sources[key], found, self._file(f"from-{key}")) for key, found in drafts.items()]
        for key, source in self._sources.items():
            planned, without = suites.plan_drafts(self._workspace, source)
            self._without += [f"{rule} ({key})" for rule in without]
            if planned:
                groups.append(_Group(source, planned, self._file(f"{key}-as-planned")))
        return groups

    def _file(self, name: str) -> str:
        return f"{FOLDER}/{self._names.of(name)}.suite.yaml"

    def _ignore_varying(
        self,
        recorded: Sequence[runner.Outcome],
        begun: datetime,
        served: dict[Path, Workspace],
        planes: runner.Planes,
    ) -> dict[str, list[str]]:
        """Run again what was recorded. Where values differ, the suite ignores them; a scenario that differs still is
        skipped. Code that reads a clock or random numbers would otherwise fail its suite in the next run.
        """
        differing: dict[str, dict[Steps, None]] = {}
        again = _run([outcome.scenario for outcome in recorded], planes, runner.Snapshots())
        for first, second in zip(recorded, again, strict=True):
            paths = dict.fromkeys(steps_of(difference.path) for difference in _new(first, second))
            paths |= dict.fromkeys(_clocks(begun, second))
            if paths:
                of_suite = differing.setdefault(self._name(second.scenario.suite.path), {})
                of_suite.update({} if _all_differs(second, paths) else paths)
        return {name: self._ignore(name, paths, served, planes) for name, paths in differing.items()}

    def _ignore(
        self, name: str, paths: Iterable[Steps], served: dict[Path, Workspace], planes: runner.Planes
    ) -> list[str]:
        """Make a suite ignore the paths that differ, and skip what differs nevertheless; return the ignored paths."""
        data = yamlfile.load(self._draft / name).data
        before, ignored = data.get("ignore", []), list[str]()
        for steps in paths:
            for path in rules_of(steps):
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
        self._skip(name, [int(scenario.written[1]) for scenario in unstable], _VARIES)
        return ignored

    def _is_valid(self, name: str, data: Mapping[str, Any], served: dict[Path, Workspace]) -> bool:
        """Return whether a suite can be loaded: it must not ignore the whole of what a scenario expects."""
        self._rewrite(name, data)
        try:
            self._scenarios(name, served)
        except ConfigError:
            return False
        return True

    def _skip(self, name: str, places: Sequence[int], reason: str) -> None:
        if places:
            data = yamlfile.load(self._draft / name).data
            for place in places:
                data["scenarios"][place]["skip"] = reason
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
    while stable and calm < (_CALM_AT_RANDOM if unstable else _CALM):
        failed = {outcome.scenario.id for outcome in _run(stable, planes, runner.Snapshots()) if not outcome.ok}
        unstable += [scenario for scenario in stable if scenario.id in failed]
        stable = [scenario for scenario in stable if scenario.id not in failed]
        calm = 0 if failed else calm + 1
    return unstable


def _expectations(group: _Group, outcomes: Sequence[runner.Outcome]) -> list[dict[str, Any]]:
    """Return what to expect of each scenario of a source, from the outcomes of one run."""
    keys = _connected(group.source)
    return [
        draft.expectation(outcome.steps[0].results, keys) if outcome.steps else dict(source_suites.ANYTHING)
        for draft, outcome in zip(group.drafts, outcomes, strict=True)
    ]


def _refused(group: _Group, outcomes: Sequence[runner.Outcome]) -> Iterator[Refused]:
    """Yield the planned events that a destination refuses, once for each event and destination."""
    keys = _connected(group.source)
    for draft, outcome in zip(group.drafts, outcomes, strict=True):
        if not draft.planned or not outcome.steps:
            continue
        for key, records in source_suites.by_destination(outcome.steps[0].results["failed"], keys).items():
            for record in records[:1]:
                reason = record.get("error") or record.get("reason") or "unknown reason"
                yield Refused(group.source.key, draft.name.removesuffix(" as planned"), key, str(reason))


def _connected(source: Source) -> list[str]:
    return [connection.destination for connection in source.connections if connection.enabled]


def _new(first: runner.Outcome, second: runner.Outcome) -> list[runner.Difference]:
    """Return the differences of a second run that the first one did not have: only these say that something varies."""
    known = {(difference.path, difference.got) for difference in first.differences}
    return [difference for difference in second.differences if (difference.path, difference.got) not in known]


def _all_differs(outcome: runner.Outcome, paths: Collection[Steps]) -> bool:
    """Return whether every member of a result is among the paths that differ: then there is or is not an event."""
    for step in outcome.steps:
        for name in step.step.expect:
            there = {steps[:3] for steps in map(steps_of, leaf_paths({name: step.results.get(name)}))}
            if len(there) > 1 and there <= {steps[:3] for steps in paths}:
                return True
    return False


def _clocks(moment: datetime, outcome: runner.Outcome) -> Iterator[Steps]:
    for step in outcome.steps:
        yield from showing_in(moment, step.results, step.step.expect)
