"""The tracking plan for an explorer's event: selection, verdict, and samples generated from it."""

from __future__ import annotations

from random import Random

from svctoolkit import display
from svctoolkit.display import Html, Step
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.plans import FORWARDING, Link, Plan, Verdict
from svctoolkit.plans.generate import conforming, near_misses
from svctoolkit.plans.survey import hint
from svctoolkit.workspace import Destination, Workspace

NONE = "none"
_SEED = 1


class PlanChoice:
    """The plans of a workspace, each with the handling of violations; one may be selected."""

    def __init__(self, workspace: Workspace, plan: Plan | None = None) -> None:
        self._workspace = workspace
        self.links: dict[str, Link] = {}
        self._of_sources: dict[str, str] = {}
        if plan is not None:
            self.links[plan.name or plan.id] = Link(plan, FORWARDING)
        self._add_plans()
        self.name = next(iter(self.links)) if plan is not None else NONE

    def _add_plans(self) -> None:
        for key in self._workspace.sources:
            link = self._link_of(key)
            if link is not None and link.plan is not None:
                self._of_sources[key] = f"{link.plan.name or link.plan.id}, of source {key}"
                self.links[self._of_sources[key]] = link
        for key, item in self._workspace.tracking_plans.items():
            for plan in item.project.plans.values():
                self.links[f"{plan.name or plan.id} ({key})"] = Link(plan, FORWARDING)

    def _link_of(self, source: str) -> Link | None:
        try:
            return self._workspace.plan_link(self._workspace.sources[source])
        except ToolkitError:
            return None  # the workspace's own check reports problems of the plan

    def follow(self, destination: Destination | None) -> None:
        """Select the plan of the first connected source that has one; otherwise keep the selection."""
        for key, name in self._of_sources.items():
            if any(destination is d for d in self._workspace.destinations_of(self._workspace.sources[key])):
                self.name = name
                return

    @property
    def link(self) -> Link | None:
        """The selected plan; None if nothing is checked."""
        return self.links.get(self.name)

    @property
    def titles(self) -> list[str]:
        """The events with rules in the plan."""
        return [rule.title for rule in self.link.plan] if self.link and self.link.plan else []

    def verdict(self, event: dict[str, Json]) -> Verdict | None:
        """The selected plan's verdict on an event."""
        link = self.link
        return link.plan.check(event, link.settings) if link and link.plan else None

    def samples(self, title: str) -> list[tuple[str, dict[str, Json]]]:
        """Labelled events of one rule: one that conforms, then some with exactly one violation each.

        Raises `NoEvent` if the plan contradicts itself.
        """
        plan = self.link.plan if self.link else None
        rule = next((rule for rule in plan or () if rule.title == title), None)
        if plan is None or rule is None:
            return []
        misses = near_misses(plan, rule, Random(_SEED))
        broken = [(f"breaks {_place(miss.violation.path)}: {miss.violation.message}", miss.event) for miss in misses]
        return [("conforms", conforming(plan, rule, Random(_SEED))), *broken]

    def step(self, verdict: Verdict) -> Step:
        """The data plane's handling of the event before its stages."""
        if verdict.unchecked:
            return Step("tracking_plan", "none", note=f"not checked: {verdict.unchecked}")
        if not verdict.violations:
            return Step("tracking_plan", "ok", note="conforms")
        count = display.quantity(len(verdict.violations), "violation")
        if verdict.dropped:
            return Step("tracking_plan", "dropped", note=f"{count}: the data plane drops the event")
        return Step("tracking_plan", "failed", note=f"{count}; the event continues, marked")

    def violations(self, verdict: Verdict) -> Html:
        """The violations, each with its place, the place of its rule, and the nearest name."""
        mask = self._workspace.masker.text
        rows = [
            (_place(violation.path), violation.type, mask(violation.message), mask(hint(verdict, violation)))
            for violation in verdict.violations
        ]
        name = verdict.plan.name or verdict.plan.id
        return display.table(("at", "violation", "message", "rule"), rows, caption=f"Violations of {name}")


def _place(pointer: str) -> str:
    """A JSON pointer as a dotted path; empty for the event as a whole."""
    return pointer.strip("/").replace("/", ".")


def verdict_page(choice: PlanChoice, verdict: Verdict | None) -> Html:
    """The verdict to show below the event; empty without a plan."""
    if verdict is None:
        return Html("")
    if verdict.unchecked:
        return display.page(display.message(f"not checked: {verdict.unchecked}", "warning"))
    if not verdict.violations:
        return display.page(display.message("the event conforms to the tracking plan", "ok"))
    return display.page(choice.violations(verdict))
