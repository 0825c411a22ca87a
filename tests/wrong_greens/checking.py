"""What svctoolkit says of a project with a mistake, and whether the mistake changes anything at all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from svctoolkit.cli import main
from svctoolkit.errors import ToolkitError
from svctoolkit.mutation.baseline import Baseline, measure
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.effects import Sent, outcomes
from svctoolkit.mutation.judge import Judge
from svctoolkit.mutation.project import Project
from svctoolkit.replay import compare, replay
from svctoolkit.runner import Planes, Scenario, collect
from svctoolkit.runner import outcomes as run_scenarios
from svctoolkit.workspace import Workspace
from tests.wrong_greens import corpus

#: Kinds of groups of a comparison that are differences.
_SAME = {"accepted", "failed", "filtered", "dropped", "unmapped"}
#: Broken pipelines with which a silent change of a suite is tried.
_MOST_TRIALS = 12


class Verdict(NamedTuple):
    """`noticed_by` names the check (empty: none); `effect` what the mistake changes (empty: nothing)."""

    noticed_by: str
    effect: str


@dataclass
class Example:
    """A project without a mistake: loaded once, with its scenarios and what it does with the corpus."""

    name: str
    folder: Path
    project: Project
    baseline: Baseline
    recorded: list[dict[str, Any]]
    corpus: list[dict[str, Any]]
    notes: int
    _before: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    _noticed: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def load(cls, name: str, folder: Path, recorded: list[dict[str, Any]], events: list[dict[str, Any]]) -> Example:
        with chdir(folder), _quiet():
            project = Project.load([str(folder / "suites")])  # absolute: the current folder changes
            baseline = Baseline()
            for outcome, lines in measure(project.scenarios):
                baseline.add(outcome, lines)
        assert not baseline.failed, baseline.failed[0]
        return cls(name, folder, project, baseline, recorded, events, notes(folder))

    @property
    def workspace(self) -> Workspace:
        return self.project.suites[0].workspace

    def is_noticed_by_suites(self, change: Change) -> bool:
        if change.id not in self._noticed:
            verdict = Judge(self.baseline.passing).judge(change, self.baseline.dependents(change))
            self._noticed[change.id] = verdict.status == "noticed"
        return self._noticed[change.id]

    def differs(self, changed: Workspace, items: frozenset[str] = frozenset()) -> str:
        """Return where the corpus shows a difference: another fate, event or payload at a destination.

        `items` are those of the workspace that changed (none: any of them).
        """
        if (before := _ways(self.workspace)) != (after := _ways(changed)):
            return f"connections: {' to '.join(min(before ^ after))}"
        for source, key in sorted(before):
            if items and not self._uses(source, key, items):
                continue
            if (source, key) not in self._before:
                self._before[source, key] = self._outcomes(self.workspace, source, key)
            if self._outcomes(changed, source, key) != self._before[source, key]:
                return f"events of {source} at {key}"
        return ""

    def _uses(self, source: str, key: str, items: frozenset[str]) -> bool:
        code = self.workspace.destinations[key].transformation
        used = {f"sources.{source}", f"destinations.{key}", f"transformations.{code}"}
        return bool(used & items) or any(not item.startswith(("sources.", "dest", "transf")) for item in items)

    def _outcomes(self, workspace: Workspace, source: str, key: str) -> list[Any]:
        sent = [Sent(source, event, corpus.NOW) for event in self.corpus]
        with _quiet():
            return outcomes(workspace, key, sent)

    def is_noticed_by_replay(self, changed: Workspace) -> str:
        """Return what a replay of recorded events before and after the change reports."""
        for source in self.workspace.sources:
            try:
                with _quiet():
                    after = compare(self.recorded, self.workspace, changed, rows=False, progress=False, source=source)
            except ToolkitError as error:
                return f"replay: {type(error).__name__}"
            kinds = {group.kind for group in after.groups} - _SAME
            if kinds:
                return f"replay: {sorted(kinds)[0]}"
        return ""

    def breaches(self, workspace: Workspace) -> set[tuple[str, str]]:
        """Return the policies that the corpus breaks, with the destinations."""
        found = set()
        for source in workspace.sources:
            with _quiet():
                result = replay(self.corpus, workspace, rows=False, progress=False, source=source)
            found |= {(group.before, group.destination) for group in result.groups if group.kind == "breach"}
        return found


def judge_change(example: Example, change: Change) -> Verdict:
    """Judge one of the changes that `mutate` makes."""
    changed = change.alteration.apply(example.workspace)
    effect = example.differs(changed, change.items)
    if not effect:
        return Verdict("", "")
    if example.is_noticed_by_suites(change):
        return Verdict("run", effect)
    return Verdict(example.is_noticed_by_replay(changed), effect)


def judge_files(example: Example, edits: Mapping[Path, str | None]) -> Verdict:
    """Judge an edit of files (None: the file is removed), which is taken back afterwards."""
    texts = {path: path.read_text(encoding="utf-8") if path.exists() else None for path in edits}
    try:
        _write(edits)
        return _judge_folder(example)
    finally:
        _write(texts)


def _write(texts: Mapping[Path, str | None]) -> None:
    for path, text in texts.items():
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text, encoding="utf-8")


def _judge_folder(example: Example) -> Verdict:
    try:
        with chdir(example.folder), _quiet():
            suites, scenarios = collect([str(example.folder / "suites")])
    except ToolkitError as error:
        return Verdict(f"run: {type(error).__name__}", "the verdict of the project")
    failed = _first_failure(scenarios)
    if failed:
        return Verdict("run", f"the verdict of {failed}")
    workspace = suites[0].workspace if suites else example.workspace
    if notes(example.folder) > example.notes:
        return Verdict("check", _effect(example, workspace, scenarios) or "the verdict of check")
    effect = _effect(example, workspace, scenarios)
    return Verdict(example.is_noticed_by_replay(workspace) if effect else "", effect)


def _effect(example: Example, workspace: Workspace, scenarios: Sequence[Scenario]) -> str:
    """Return what is different although every check passes: the pipeline, or what the suites or policies notice."""
    if effect := example.differs(workspace):
        return effect
    if workspace.policies != example.workspace.policies and (gone := _lost_breach(example, workspace)):
        return gone
    return _lost_verdict(example, scenarios)


def _lost_breach(example: Example, workspace: Workspace) -> str:
    if example.breaches(example.workspace) != example.breaches(workspace):
        return "breaches of policies"
    return ""


def _lost_verdict(example: Example, scenarios: Sequence[Scenario]) -> str:
    """Return a broken pipeline that the scenarios noticed before the edit, and do not notice any more."""
    now = {scenario.name: scenario for scenario in scenarios}
    same = {s.name for s in example.baseline.passing if s.name in now and _content(now[s.name]) == _content(s)}
    trials = [c for c in example.project.changes if any(s.name not in same for s in example.baseline.dependents(c))]
    for change in _spread(trials, _MOST_TRIALS):
        if not example.is_noticed_by_suites(change):
            continue
        dependents = [now[s.name] for s in example.baseline.dependents(change) if s.name in now]
        if Judge(list(now.values())).judge(change, dependents).status != "noticed":
            return f"{change} is not noticed any more"
    return ""


def _content(scenario: Scenario) -> str:
    return repr([(step.kind, step.spec) for step in (*scenario.setup, *scenario.steps, *scenario.teardown)])


def _spread(items: Sequence[Change], most: int) -> Sequence[Change]:
    return items[:: max(1, len(items) // most)][:most]


def _first_failure(scenarios: Sequence[Scenario]) -> str:
    planes = Planes()
    try:
        with _quiet():
            failed = (outcome for outcome in run_scenarios(scenarios, planes, fail_fast=True) if not outcome.ok)
            outcome = next(failed, None)
            return "" if outcome is None else outcome.scenario.name
    finally:
        planes.close()


def notes(folder: Path) -> int:
    """Return the number of notes of `check`, or a large one if it fails."""
    output = StringIO()
    with chdir(folder), redirect_stdout(output), redirect_stderr(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = main(["check"])
    lines = output.getvalue().splitlines()
    return 10_000 if code else sum("note" in line or line.startswith("  ") for line in lines)


def _ways(workspace: Workspace) -> set[tuple[str, str]]:
    return {
        (source.key, connection.destination)
        for source in workspace.sources.values()
        for connection in source.connections
        if source.enabled and connection.enabled
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing is printed, and no warning is shown."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
