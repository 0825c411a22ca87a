"""What svctoolkit says of a project with a mistake, and whether the mistake changes anything at all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from svctoolkit.cli import main
from svctoolkit.errors import ToolkitError
from svctoolkit.mutation.baseline import Baseline, measure
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.effects import Sent, outcomes
from svctoolkit.mutation.judge import Judge
from svctoolkit.mutation.project import Project
from svctoolkit.policies import Policies
from svctoolkit.replay import Comparison, Conditions, compare, replay
from svctoolkit.replay.edits import policy_edits
from svctoolkit.runner import Planes, Scenario, collect
from svctoolkit.runner import outcomes as run_scenarios
from svctoolkit.workspace import Workspace
from tests.wrong_greens import corpus
from tests.wrong_greens.projects import POLICIES

#: Kinds of groups of a comparison that are differences.
_SAME = {"accepted", "failed", "filtered", "dropped", "unmapped"}
#: What fails a team's build, as conditions of `replay --before`.
GATE = "changed>0 or new_failures>0 or lost>0 or personal>0"
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
    _comparisons: dict[str, list[Comparison]] = field(default_factory=dict)

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
        """Return what a replay of recorded events before and after the change reports: a failed gate, or a line."""
        line = ""
        for source in self.workspace.sources:
            try:
                with _quiet():
                    after = compare(self.recorded, self.workspace, changed, rows=False, progress=False, source=source)
            except ToolkitError as error:
                return f"replay, exit code: {type(error).__name__}"
            if after.breaches(GATE):
                return "replay, exit code"
            kinds = {group.kind for group in after.groups} - _SAME
            line = line or (f"replay, a line: {sorted(kinds)[0]}" if kinds else "")
        return line

    def comparisons(self, change: Change) -> list[Comparison]:
        """Return the replays of the recorded events, of each source, before and after a change."""
        if change.id not in self._comparisons:
            changed = change.alteration.apply(self.workspace)
            with _quiet():
                self._comparisons[change.id] = [
                    compare(self.recorded, self.workspace, changed, rows=False, progress=False, source=source)
                    for source in self.workspace.sources
                ]
        return self._comparisons[change.id]

    def broken(self, policies: Policies, events: list[dict[str, Any]] | None = None) -> set[tuple[str, str]]:
        """Return the policies that events break (those of the corpus by default), with the destinations."""
        workspace = replace(self.workspace, policies=list(policies.items))
        return self.breaches(workspace, events or self.corpus)

    def breaches(self, workspace: Workspace, events: list[dict[str, Any]] | None = None) -> set[tuple[str, str]]:
        """Return the policies that the corpus breaks, with the destinations."""
        found = set()
        for source in workspace.sources:
            with _quiet():
                result = replay(events or self.corpus, workspace, rows=False, progress=False, source=source)
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


def judge_policies(example: Example, text: str) -> Verdict:
    """Judge an edit of the file for `replay --policies`."""
    try:
        before, after = _policies(POLICIES[example.name]), _policies(text)
        if example.broken(before) == example.broken(after):
            return Verdict("", "")
    except ToolkitError as error:
        return Verdict(f"replay, exit code: {type(error).__name__}", "the verdict of the policies")
    effect = "breaches of policies"
    recorded = example.recorded
    if example.broken(after, recorded) - example.broken(before, recorded):
        return Verdict("replay, exit code", effect)
    edits = policy_edits(before.items, after.items)
    return Verdict("replay, a line: edited policies" if edits else "", effect)


def _policies(text: str) -> Policies:
    with TemporaryDirectory() as folder:
        file = Path(folder, "policies.yaml")
        file.write_text(text, encoding="utf-8")
        return Policies.load(file)


def judge_condition(example: Example, text: str) -> Verdict:
    """Judge other text for `--fail-on`: the gate decides about comparisons with some broken pipelines."""
    try:
        Conditions(text, compares=True)
    except ToolkitError as error:
        return Verdict(f"replay, exit code: {type(error).__name__}", "the verdict of the gate")
    for change in _spread(example.project.changes, _MOST_TRIALS):
        for result in example.comparisons(change):
            if bool(result.breaches(text)) != bool(result.breaches(GATE)):
                return Verdict("", f"the verdict of the gate about {change}")
    return Verdict("", "")


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
    now = {_name(scenario): scenario for scenario in scenarios}
    passing = example.baseline.passing
    same = {s.name for s in passing if _name(s) in now and _content(now[_name(s)]) == _content(s)}
    trials = [c for c in example.project.changes if any(s.name not in same for s in example.baseline.dependents(c))]
    for change in _spread(trials, _MOST_TRIALS):
        if not example.is_noticed_by_suites(change):
            continue
        dependents = [now[_name(s)] for s in example.baseline.dependents(change) if _name(s) in now]
        if Judge(list(now.values())).judge(change, dependents).status != "noticed":
            return f"{change} is not noticed any more"
    return ""


def _name(scenario: Scenario) -> str:
    """Return the name of a scenario, which is the same with the other ending of its file."""
    return scenario.name.replace(".suite.yml::", ".suite.yaml::")


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
