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

_KEPT = 200  # events kept of each name, those with violations first
_SAMPLES = 20


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
        names = self.state.titles
        self._name = controls.choice("Event", [(self.state.label(name), name) for name in names])
        self._event = controls.listing("Events, those with violations first", [], rows=8)
        self._rule, self._details = controls.html(), controls.html()
        self._name.observe(self._choose, "value")
        self._event.observe(self._pick, "value")
        super().__init__(
            [
                controls.card("Plan and events", controls.html(display.page(self.state.overview()))),
                controls.card("Event", self._name, self._rule, self._event, self._details),
            ]
        )
        self._choose({"new": names[0] if names else ""})

    @property
    def events(self) -> list[dict[str, Json]]:
        """The events of the selected name, those with violations first."""
        return [dict(event) for event, _ in self.state.events.get(self._name.value, ())]

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

    def _choose(self, change: dict[str, Any]) -> None:
        name = change["new"]
        self._rule.value = display.page(self.state.properties(name), self.state.findings(name))
        options = [(self.state.event_label(name, n), n) for n in range(len(self.state.events.get(name, ())))]
        self._event.options = options
        self._event.value = options[0][1] if options else None
        self._show(name, self._event.value)

    def _pick(self, change: dict[str, Any]) -> None:
        self._show(self._name.value, change["new"])

    def _show(self, name: str, place: int | None) -> None:
        one = {} if place is None else {"event_id": str(self.state.events[name][place][0].get("messageId", ""))}
        self._select(event=name, **one)
        text = (
            display.message("No event with this name was received.", "info")
            if place is None
            else self.state.event(name, place)
        )
        self._details.value = display.page(text)


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

    def label(self, title: str) -> str:
        """The list entry of an event name, with its volume and violations."""
        wrong = sum(finding.count for finding in self.survey.of(title))
        return f"{title}: {self.survey.counts[title]:,} events" + (f", {wrong:,} violations" if wrong else "")

    def event_label(self, title: str, place: int) -> str:
        event, verdict = self.events[title][place]
        count = len(verdict.violations)
        name = event.get("messageId") or f"event {place + 1}"
        return f"{name}: {display.quantity(count, 'violation') if count else 'conforms'}"

    def overview(self) -> Html:
        """One row for each event name: whether planned, number received, number of violations."""
        planned = {rule.title: rule for rule in self.plan}
        rows = []
        for title in self.titles:
            count, found = self.survey.counts[title], self.survey.of(title)
            state = "unplanned" if title not in planned else "never received" if not count else ""
            where = planned[title].where if title in planned else ""
            rows.append((title, state, count, sum(finding.count for finding in found), where))
        survey = self.survey
        caption = f"{survey.checked:,} events, {survey.violated:,} with violations, {survey.dropped:,} dropped"
        table = display.table(("event", "state", "received", "violations", "planned at"), rows, caption=caption)
        return Html(table + self.coverage.picture().html())

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
            said = [f"{v.type}: {v.message} {hint(verdict, v)}".strip() for v in line.violations]
            mark = display.message("\n".join(said), "error") if said else ""
            lines.append((str(number), Html(f"<pre>{display.html(line.text)}</pre>"), mark))
        unplanned = [v for v in verdict.violations if not v.path and v.type == "Unplanned-Event"]
        head = display.message(hint(verdict, unplanned[0]) or "not planned", "warning") if unplanned else Html("")
        return Html(head + display.table(("line", "event", "violation"), lines))

    @property
    def absent(self) -> list[str]:
        """Planned events and properties that were never received."""
        items = [item for item in plan_items(self.plan) if item[0] in (EVENTS, PROPERTIES)]
        return [name for group, name in items if (group, name) not in self._touched]
