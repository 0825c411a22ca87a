"""Whether a change of code has an effect on an event: one of the suites, or one made up for the purpose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import UNSET

from svctoolkit.edits import edits_of
from svctoolkit.json_types import Json
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.code_changes import NewCode, code_place
from svctoolkit.project.made_up import MOST, combinations, variations
from svctoolkit.project.suites import sample_events
from svctoolkit.runner import Scenario
from svctoolkit.runner.suite.webhooks import is_webhook
from svctoolkit.transformations import Output
from svctoolkit.workspace import Library, Transformation, Workspace

#: Code whose result depends on more than its event and metadata: made-up events alone cannot show a change of it.
_OTHER_INPUT = re.compile(r"\b(?:transformBatch|fetch|fetchV2|geolocation|getCredential|requests)\b")

#: The number of made-up events up to which all of them are tried.
_ALL = 12_000

#: What replaces a statement to see whether any event gets there.
_MARK = "svctoolkit: reached"
_RAISE = {"javascript": f"throw new Error('{_MARK}');", "python": f"raise RuntimeError('{_MARK}')"}


class CodeEffects:
    """Compares what code returns with and without a change, for events of the scenarios and made-up ones."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._scenarios = scenarios
        self._events: dict[tuple[int, str], Sequence[Mapping[str, Json]]] = {}
        self._before: dict[tuple[int, str, int], list[Output]] = {}
        self._explored: dict[tuple[int, frozenset[str]], bool] = {}

    def tried_without(self, change: Change) -> int:
        """Return the number of events that were tried if all have the same result with a change; else 0.

        Also 0 if the events alone cannot show it, because the code depends on metadata, requests or whole batches,
        mentions too many members and values to try each with each, or has statements that no event reaches.
        """
        count = 0
        for workspace in {id(s.suite.workspace): s.suite.workspace for s in self._scenarios}.values():
            changed = change.alteration.apply(workspace)
            keys = differing(workspace, changed)
            for key in keys:
                tried = self._tried(workspace, changed, key)
                if not tried:
                    return 0
                count += tried
            if keys and not self._is_explored(workspace, keys, change.items):
                return 0
        return count

    def _is_explored(self, workspace: Workspace, keys: Sequence[str], items: frozenset[str]) -> bool:
        """Return whether the tried events reach every statement of the code: a regular expression may let none in."""
        known = self._explored.get((id(workspace), items))
        if known is None:
            known = all(
                any(self._reaches(workspace, key, probe) for key in keys) for probe in _probes(workspace, items)
            )
            self._explored[id(workspace), items] = known
        return known

    def _reaches(self, workspace: Workspace, key: str, probe: NewCode) -> bool:
        changed, events = probe.apply(workspace), self._events[id(workspace), key]
        return any(
            output.error is not None and _MARK in str(output.error.message)
            for start, end in _parts(len(events))
            for output in run_code(changed, key, events[start:end])
        )

    def _tried(self, workspace: Workspace, changed: Workspace, key: str) -> int:
        if _OTHER_INPUT.search("\n".join(_codes(workspace, key))):
            return 0
        if (id(workspace), key) not in self._events:
            self._events[id(workspace), key] = _all_events(workspace, key, self._scenarios)
        events = self._events[id(workspace), key]
        for start, end in _parts(len(events)):
            part = events[start:end]
            before = self._before.get((id(workspace), key, start))
            if before is None:
                before = self._before[id(workspace), key, start] = run_code(workspace, key, part)
            if any(output.by_metadata or _is_stopped(output) for output in before):
                return 0
            after = run_code(changed, key, part)
            if any(output.by_metadata for output in after) or list(map(plain, before)) != list(map(plain, after)):
                return 0
        return len(events)


def _probes(workspace: Workspace, items: frozenset[str]) -> Iterator[NewCode]:
    """Yield the code of items with an exception in place of each statement that could be removed."""
    of_kinds: dict[str, Mapping[str, Transformation | Library]] = {
        "transformations": workspace.transformations,
        "libraries": workspace.libraries,
    }
    for section, _, key in (name.partition(".") for name in items):
        item = of_kinds.get(section, {}).get(key)
        if item is None:
            continue
        for edit in edits_of(item.code, item.language):
            if edit.kind in ("removed statement", "removed return"):
                raising = replace(edit, new=_RAISE[str(item.language)])
                yield NewCode(code_place(workspace, item), raising)


def _parts(count: int) -> Iterator[tuple[int, int]]:
    """Yield ranges that become longer: most changes show with the first events, and code that hangs must stop soon."""
    start, size = 0, 1
    while start < count:
        yield start, min(start + size, count)
        start, size = start + size, size * 2


def _is_stopped(output: Output) -> bool:
    """Return whether a limit of the sandbox has stopped the code."""
    return output.error is not None and output.error.kind not in ("error", "syntax")


def differing(workspace: Workspace, changed: Workspace) -> list[str]:
    """Return the transformations that differ; all of them if a library does."""
    if changed.libraries != workspace.libraries:
        return [*workspace.transformations]
    old, new = workspace.transformations, changed.transformations
    return [key for key in old if old[key].code != new[key].code]


def events_for(
    workspace: Workspace, key: str, scenarios: Sequence[Scenario], *, most: int = MOST
) -> list[Mapping[str, Json]]:
    """Return the events of the scenarios, samples, and variations of both with what a transformation mentions."""
    language = workspace.transformations[key].language
    return variations(written_events(scenarios, workspace), "\n".join(_codes(workspace, key)), language, most=most)


def _all_events(workspace: Workspace, key: str, scenarios: Sequence[Scenario]) -> Sequence[Mapping[str, Json]]:
    """Return those of `events_for`, and combinations of members; none if they are too many to try all."""
    events = events_for(workspace, key, scenarios, most=_ALL + 1)
    together = _together(workspace, key, scenarios, _ALL - len(events))
    return [*events, *together] if together is not None else ()  # a selection of them would show too little


def many_events(workspace: Workspace, key: str, scenarios: Sequence[Scenario]) -> list[Mapping[str, Json]]:
    """Return those of `events_for`, many more, and the combinations of members if they are not too many."""
    events = events_for(workspace, key, scenarios, most=_ALL)
    return [*events, *(_together(workspace, key, scenarios, _ALL) or ())]


def _together(
    workspace: Workspace, key: str, scenarios: Sequence[Scenario], most: int
) -> Sequence[Mapping[str, Json]] | None:
    code, language = "\n".join(_codes(workspace, key)), workspace.transformations[key].language
    return combinations(written_events(scenarios, workspace), code, language, most=most)


def _codes(workspace: Workspace, key: str) -> list[str]:
    return [workspace.transformations[key].code, *(library.code for library in workspace.libraries.values())]


def written_events(scenarios: Sequence[Scenario], workspace: Workspace) -> list[Mapping[str, Json]]:
    """Return the events of the scenarios, and samples, each once."""
    found: dict[str, Mapping[str, Json]] = {}
    for scenario in scenarios:
        for step in scenario.steps if scenario.suite.workspace is workspace else ():
            written = step.spec.event if step.spec.event is not UNSET else step.spec.send
            for event in written if isinstance(written, list) else [written]:
                if isinstance(event, Mapping) and not is_webhook(event):
                    found.setdefault(json.dumps(event, sort_keys=True, default=str), event)
    return [*found.values(), *sample_events().values()]


def run_code(workspace: Workspace, key: str, events: Sequence[Mapping[str, Json]]) -> list[Output]:
    """Return the outcome of a transformation alone for each event."""
    # Code for whole batches assigns its results by these ids.
    numbered = [{**event, "messageId": f"m-{number}"} for number, event in enumerate(events)]
    return list(workspace.transformation(key).run(numbered))


def plain(output: Output) -> Json:
    """Return the events of an outcome, or the message of its error."""
    return str(output.error.message) if output.error is not None else list(output.events)
