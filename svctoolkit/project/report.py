"""Which parts of an imported workspace run locally, which do not, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from svctoolkit.errors import Problem
from svctoolkit.project.states import State
from svctoolkit.project.suite_files import Refused
from svctoolkit.project.suites import sample_events
from svctoolkit.workspace import Late, Source, TrackingPlan, Transformation, Workspace

_WIDEST = 24  # characters of the column with keys; longer ones move the rest of their line
_SKIPPED = "the whole result, so scenarios are skipped"


@dataclass(frozen=True, slots=True)
class Report:
    """Result of an import.

    `states` says what will happen to the events of each destination (by key); `missing` lists code that was not found,
    `unknown` unsupported parts of the export with their positions, `files` the written files. `scenarios` is the number
    of generated scenarios, `varying` what they ignore, by suite, because it differs from run to run. `policies` are the
    kinds of the proposed policies, `left_out` the destinations that none is about, with the reason. `endless` is code
    that did not end for several events, by transformation. `refused` are events that a tracking plan permits and a
    destination refuses, `without` its rules for which no event could be generated.
    """

    workspace: Workspace
    states: Mapping[str, State]
    missing: Sequence[str] = ()
    unknown: Sequence[Problem] = ()
    files: Sequence[Path] = field(default_factory=list)
    scenarios: int = 0
    varying: Mapping[str, Sequence[str]] = field(default_factory=dict)
    policies: Sequence[str] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    endless: Mapping[str, Late] = field(default_factory=dict)
    refused: Sequence[Refused] = ()
    without: Sequence[str] = ()

    def text(self) -> str:
        """Return the report for a terminal: one line per destination, then what is left to do."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        workspace = self.workspace
        sources, destinations = len(workspace.sources), len(workspace.destinations)
        yield f"workspace {workspace.name}: sources {sources}, destinations {destinations}"
        for key, item in workspace.transformations.items():
            if item.code and not any(d.transformation == key for d in workspace.destinations.values()):
                yield f"  transformation {key}: not used by any destination{self._failure(item)}"
        for key in workspace.libraries:
            if not any(re.search(rf"\b{re.escape(key)}\b", code) for code in self._importing(key)):
                yield f"  library {key}: no transformation imports it"
        for key, plan in workspace.tracking_plans.items():
            checked = [s.key for s in workspace.sources.values() if _checks(workspace, s, plan)]
            count = len(plan.chosen.rules)
            events = "1 event" if count == 1 else f"{count:,} events"
            yield f"  tracking plan {key}: {events}; checks {', '.join(checked) or 'no source'}"
        width = min(max(map(len, self.states), default=0), _WIDEST)
        for key, state in self.states.items():
            yield f"  {key:<{width}}  {workspace.destinations[key].type:<20}  {state.text}"
            yield from (f"    - {note}" for note in state.notes)
        for kind, blocked in workspace.data_plane.event_blocking.items():
            yield f"  blocked for all destinations: {kind} events named {', '.join(map(repr, blocked))}"
        if self.missing:
            yield ""
            yield "code missing from the export; add it with --code FILE_OR_FOLDER, named by id or version:"
            yield from (f"  {name}" for name in self.missing)
        if self.endless:
            yield ""
            yield "code that does not end (what runs it has no suite; correct it in RudderStack, and import again):"
            yield from (f"  {self._endless_text(key, late)}" for key, late in self.endless.items())
        if self.varying:
            yield ""
            yield "ignored by suites, because it differs from run to run:"
            yield from (f"  {suite}: {', '.join(paths) or _SKIPPED}" for suite, paths in self.varying.items())
        if self.refused:
            yield ""
            yield "your plan permits events that destinations refuse (the scenarios expect it: `failed`):"
            yield from (
                f"  {each.event} from {each.source}: {each.destination} refuses it: {self._safe(each.reason)}"
                for each in self.refused
            )
        if self.without:
            yield ""
            yield "rules of tracking plans without a scenario, as no event could be generated:"
            yield from (f"  {self._safe(rule)}" for rule in self.without)
        if self.policies:
            yield ""
            yield f"proposed policies, true of sample events today: {', '.join(self.policies)} (policies.yaml)"
            yield from (f"  none about {key}: {self._safe(reason)}" for key, reason in self.left_out.items())
        if self.unknown:
            yield ""
            yield "not supported here (kept unchanged), or missing from the export:"
            yield from (f"  {problem}" for problem in self.unknown)

    def _failure(self, item: Transformation) -> str:
        """Return what a transformation fails with, if it fails for every sample event."""
        code = self.workspace.transformation(item.key)
        errors = [code.run(event).error for event in sample_events().values()] if code.key not in self.endless else []
        reason = self._safe(str(errors[0])) if errors and all(errors) else ""
        return f"; it fails for every sample event: {reason}" if reason else ""

    def _importing(self, library: str) -> Iterator[str]:
        yield from (item.code for item in self.workspace.transformations.values())
        yield from (other.code for key, other in self.workspace.libraries.items() if key != library)

    def _safe(self, text: str) -> str:
        return self.workspace.masker.text(text).partition("\n")[0]

    def _endless_text(self, key: str, late: Late) -> str:
        item, limit = self.workspace.transformations[key], self.workspace.limits.time
        file = f" ({item.file.as_posix()})" if item.file else ""
        return f"transformation {item.name!r}{file}: over {limit:g} s for {late.events} events; the first: {late.first}"


def _checks(workspace: Workspace, source: Source, plan: TrackingPlan) -> bool:
    link = workspace.plan_link(source)
    return link is not None and link.plan is not None and link.plan.id == plan.chosen.id
