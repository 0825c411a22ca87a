"""Compare a tracking plan with real events: received events, violations, and planned events that never came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.json_types import Json
from svctoolkit.plans import FORWARDING, Plan, PlanCoverage, Settings, Verdict
from svctoolkit.plans.coverage import EVENTS, PROPERTIES, event_items, plan_items
from svctoolkit.plans.fields import fields, section_of, values_at
from svctoolkit.plans.generate import conforming_events
from svctoolkit.plans.marked_json import marked_lines
from svctoolkit.plans.survey import Survey, event_title, hint
from svctoolkit.plans.text import limits_text
from svctoolkit.server import DataPlane
from svctoolkit.widgets._base import controls
from svctoolkit.widgets._base.grid.grid import Grid

_KEPT = 200  # events kept of each name, those with violations first
_SAMPLES = 20
_NAMES = ("event", "state", "received", "violations", "planned at")
_EVENTS = ("event id", "user", "violations", "first violation")


class PlanExplorer(controls.Explorer):
    """Compares `plan` with `events`: any iterable of events, or a data plane; by default, samples generated from it.

    >>> PlanExplorer(plan, plane)  # doctest: +SKIP

    Choose a planned or unplanned event name to see the volumes of its properties, and one of its events to see the
    violations in place. `settings` decide which events would be dropped.
    """

    def __init__(
        self,
        plan: Plan,
        events: Iterable[Mapping[str, Json]] | DataPlane | None = None,
        *,
        settings: Settings = FORWARDING,
    ) -> None:
        self.state = PlanState(plan, _events_of(plan, events), settings)
        self._name = ""
        self._names = Grid("Names of events", self._choose, height=8)
        self._list = Grid("Events of the name", self._pick, height=8)
        self._rule, self._details = controls.html(), controls.html()
        overview = controls.html(display.page(self.state.summary(), self.state.coverage.picture().html()))
        super().__init__(
            [
                controls.card("Plan and events", overview, self._names.box),
                controls.card("Event", self._rule, self._list.box, self._details),
            ]
        )
        self._names.show(self.state.name_rows(), _NAMES)
        if self.state.titles:
            self._names.mark(0)
            self._choose(0)

    @property
    def events(self) -> list[dict[str, Json]]:
        """The events of the selected name that the search finds, in the order of the table."""
        events = self.state.events.get(self._name, ())
        return [dict(events[number][0]) for number in self._list.found]

    @property
    def coverage(self) -> PlanCoverage:
        """What the events cover of the plan, as `svctoolkit.plans.cover` returns it."""
        return self.state.coverage

    def static(self) -> Html:
        """The overview and the violations."""
        return display.page(self.state.overview(), self.state.findings())

    def __repr__(self) -> str:
        survey = self.state.survey
        return f"<PlanExplorer: {survey.checked:,} events, {survey.violated:,} with violations>"

    def _choose(self, number: int) -> None:
        name = self._name = self.state.titles[number]
        self._rule.value = display.page(self.state.properties(name), self.state.findings(name))
        self._list.show(self.state.event_rows(name), _EVENTS)
        if self.state.events.get(name):
            self._list.mark(0)
            self._pick(0)
        else:
            self._select(event=name)
            self._details.value = display.page(display.message("No event with this name was received.", "info"))

    def _pick(self, number: int) -> None:
        event, _ = self.state.events[self._name][number]
        self._select(event=self._name, event_id=str(event.get("messageId", "")))
        self._details.value = display.page(self.state.event(self._name, number))


def _events_of(plan: Plan, events: Iterable[Mapping[str, Any]] | DataPlane | None) -> Iterable[Mapping[str, Any]]:
    if events is None:
        return conforming_events(plan, _SAMPLES)
    if not isinstance(events, DataPlane):
        return events
    masker = events.workspace.masker  # a saved notebook contains everything shown
    return (masker.mask(dict(received.event)) for received in events.received)


class PlanState:
    """The content of an explorer, without widgets: a survey of the events, and some of them in full."""

    def __init__(self, plan: Plan, events: Iterable[Mapping[str, Json]], settings: Settings) -> None:
        self.plan, self.survey = plan, Survey(plan, settings)
        self.events: dict[str, list[tuple[Mapping[str, Any], Verdict]]] = {}
        self._volumes: Counter[tuple[str, str]] = Counter()
        self._touched: set[tuple[str, str]] = set()
        for event in events:
            self._add(event)
        for several in self.events.values():
            several.sort(key=lambda pair: not pair[1].violations)

    def _add(self, event: Mapping[str, Any]) -> None:
        verdict = self.survey.add(event)
        title = verdict.rule.title if verdict.rule else event_title(event)
        several = self.events.setdefault(title, [])
        if len(several) < _KEPT or verdict.violations:
            several.append((event, verdict))
            del several[2 * _KEPT :]
        self._touched.update(event_items(self.plan, event))
        if verdict.rule is not None:
            properties = section_of(verdict.rule, event)
            came = {field.name for field in fields(verdict.rule) if list(values_at(properties, field.path))}
            self._volumes.update((title, name) for name in came)

    @property
    def titles(self) -> list[str]:
        """Planned event names in their order, then unplanned ones."""
        planned = [rule.title for rule in self.plan]
        return [*planned, *(title for title in self.survey.counts if title not in planned)]

    def name_rows(self) -> list[tuple[object, ...]]:
        """A row for each event name: whether planned, number received, number of violations, place in the plan."""
        planned = {rule.title: rule for rule in self.plan}
        rows: list[tuple[object, ...]] = []
        for title in self.titles:
            count, wrong = self.survey.counts[title], sum(finding.count for finding in self.survey.of(title))
            state = "unplanned" if title not in planned else "never received" if not count else ""
            rows.append((title, state, count, wrong, planned[title].where if title in planned else ""))
        return rows

    def event_rows(self, title: str) -> list[tuple[object, ...]]:
        """A row for each event of a name, those with violations first."""
        return [
            (
                event.get("messageId") or f"event {place}",
                event.get("userId") or event.get("anonymousId") or "",
                len(verdict.violations),
                next((f"{v.path} {v.message}".strip() for v in verdict.violations), ""),
            )
            for place, (event, verdict) in enumerate(self.events.get(title, ()), 1)
        ]

    def summary(self) -> Html:
        """The counts in one sentence."""
        return display.message(self._caption(), "warning" if self.survey.violated else "ok")

    def _caption(self) -> str:
        survey = self.survey
        return f"{survey.checked:,} events, {survey.violated:,} with violations, {survey.dropped:,} dropped"

    def overview(self) -> Html:
        """The event names as a table, and the coverage as a picture."""
        return Html(display.table(_NAMES, self.name_rows(), caption=self._caption()) + self.coverage.picture().html())

    @property
    def coverage(self) -> PlanCoverage:
        """What the events cover of the plan."""
        return PlanCoverage(self.plan, self._touched)

    def properties(self, title: str) -> Html:
        """One row for each planned property, with the number of events that have it."""
        rule = next((rule for rule in self.plan if rule.title == title), None)
        if rule is None:
            return display.message(f"{title} is not planned.", "warning")
        total = self.survey.counts[title]
        rows = []
        for field in fields(rule):
            came = self._volumes[title, field.name]
            share = "never" if total and not came else f"{came:,} of {total:,}"
            kind = " or ".join(field.types) or "any"
            rows.append((field.name, kind, "required" if field.required else "", limits_text(field), share))
        return display.table(("property", "type", "required", "values", "received"), rows, caption=f"Planned: {title}")

    def findings(self, title: str = "") -> Html:
        """The violations of one event name or of all, the most frequent first."""
        names = [title] if title else self.titles
        rows = [
            (finding.event, finding.count, finding.path, f"{finding.message} {finding.hint}".strip())
            for name in names
            for finding in self.survey.of(name)
        ]
        if not rows:
            return display.message(
                "All events conform to the plan." if self.survey.checked else "No events received.", "ok"
            )
        return display.table(("event", "events", "at", "violation"), rows, caption="Violations")

    def event(self, title: str, place: int) -> Html:
        """One event as JSON, with its violations in place."""
        event, verdict = self.events[title][place]
        lines: list[Sequence[object]] = []
        for number, line in enumerate(marked_lines(event, verdict.violations), 1):
            message = [f"{v.type}: {v.message} {hint(verdict, v)}".strip() for v in line.violations]
            mark = display.message("\n".join(message), "error") if message else ""
            lines.append((str(number), Html(f"<pre>{display.html(line.text)}</pre>"), mark))
        unplanned = [v for v in verdict.violations if not v.path and v.type == "Unplanned-Event"]
        head = display.message(hint(verdict, unplanned[0]) or "not planned", "warning") if unplanned else Html("")
        return Html(head + display.table(("line", "event", "violation"), lines))

    @property
    def absent(self) -> list[str]:
        """Planned events and properties that were never received."""
        items = [item for item in plan_items(self.plan) if item[0] in (EVENTS, PROPERTIES)]
        return [name for group, name in items if (group, name) not in self._touched]
