"""Tracking plans, and the verdict on an event that is checked against one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.dialect import Options
from svctoolkit.plans.schema.javascript import text_of
from svctoolkit.plans.schema.node import TooMuch
from svctoolkit.plans.settings import FORWARDING, TYPES, Settings
from svctoolkit.plans.violation import UNPLANNED_EVENT, Violation

if TYPE_CHECKING:
    import pandas as pd


class Verdict(Displayed):
    """The result of checking one event against a plan.

    `dropped` says that the event is dropped. `unchecked` is the reason if the event could not be checked. `rule` is
    the rule it was checked against, and `plan` the version that was used.
    """

    __slots__ = ("_event", "_is_altered", "_marks", "dropped", "plan", "rule", "unchecked", "violations")

    def __init__(
        self,
        plan: Plan,
        event: Mapping[str, Json],
        violations: Sequence[Violation],
        dropped: bool,
        marks: bool,
        rule: Rule | None = None,
        unchecked: str = "",
        is_altered: bool = False,
    ) -> None:
        self.plan, self.violations, self.dropped, self.rule, self.unchecked = plan, violations, dropped, rule, unchecked
        self._event, self._marks, self._is_altered = event, marks, is_altered

    @property
    def mark(self) -> dict[str, Json] | None:
        """What RudderStack adds to the event's `context`: plan, version and violations. None if it adds nothing."""
        return self.plan.mark(self.violations) if self._marks else None

    @property
    def event(self) -> Mapping[str, Json]:
        """The event as it continues: with the mark, perhaps altered by `ajvOptions`, or unchanged."""
        return mark_event(self._event, self.mark)

    @property
    def change(self) -> Mapping[str, Json] | None:
        """What `change_event` needs to turn the original event into `event`: the mark, and any altered event."""
        return {"event": self._event, "mark": self.mark} if self._is_altered else self.mark

    @property
    def reason(self) -> str:
        """The types of the violations and the first message, in one line."""
        kinds = ", ".join(dict.fromkeys(violation.type for violation in self.violations))
        return f"{kinds}: {self.violations[0].message}" if self.violations else ""

    # Any: cells of a frame
    def rows(self, place: int, event: Mapping[str, Json]) -> list[dict[str, Any]]:
        """Return one row per violation, for a frame. `place` is the event's index, `event` the original event."""
        return [
            {
                "event": place,
                "event_type": event.get("type"),
                "event_name": event.get("event"),
                "message_id": event.get("messageId"),
                "violation": violation.type,
                "property": violation.property or None,
                "path": violation.path or None,
                "message": violation.message,
                "dropped": self.dropped,
                "where": self.rule.place_of(violation) if self.rule else self.plan.where,
            }
            for violation in self.violations
        ]

    def __repr__(self) -> str:
        message = self.reason or self.unchecked or "conforms"
        return f"<{'dropped' if self.dropped else 'passes'}: {message}>"


def mark_event(event: Mapping[str, Json], mark: Mapping[str, Json] | None) -> Mapping[str, Json]:
    """Return the event with a mark in its `context`; unchanged without a mark or if the context is not an object."""
    context = event.get("context")
    if mark is None or (context is not None and not isinstance(context, Mapping)):
        return event
    return {**event, "context": {**(context or {}), **mark}}


def change_event(event: Mapping[str, Json], change: Mapping[str, Json] | None) -> Mapping[str, Json]:
    """Return the event as it continues: see `Verdict.change`."""
    altered = change.get("event") if change is not None else None
    if change is not None and isinstance(altered, Mapping):
        mark = change["mark"]
        return mark_event(altered, mark if isinstance(mark, Mapping) else None)
    return mark_event(event, change)


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Displayed):
    """A tracking plan. The first rule that matches an event applies. `versions` has its other versions by number."""

    id: str
    rules: Sequence[Rule]
    name: str = ""
    version: int = 1
    where: str = ""
    versions: Mapping[int, Plan] = field(default_factory=dict, repr=False)

    @cached_property
    def _tracks(self) -> dict[str, Rule]:
        return {rule.name: rule for rule in reversed(self.rules) if rule.type == "track"}

    @cached_property
    def _others(self) -> dict[str, Rule]:
        return {rule.type: rule for rule in reversed(self.rules) if rule.type != "track"}

    def rule(self, event: Mapping[str, Json]) -> Rule | None:
        """Return the rule for an event: a track event's by its exact name, others' by their type alone."""
        kind = event.get("type")
        name = event.get("event") if kind == "track" else kind
        return (self._tracks if kind == "track" else self._others).get(name) if isinstance(name, str) else None

    def rule_by_name(self, name: str) -> Rule | None:
        """Return the rule of a track event, or of an event type: `Order Done`, `identify`."""
        return self._tracks.get(name) or self._others.get(name)

    @property
    def names(self) -> list[str]:
        """Return the names that `rule_by_name` accepts, in the order of the rules."""
        return list(dict.fromkeys(rule.name or rule.type for rule in self.rules))

    def for_event(self, event: Mapping[str, Json]) -> Plan:
        """Return this plan, or the version of it that the event's generated client was created from."""
        context = event.get("context")
        client = context.get("ruddertyper") if isinstance(context, Mapping) else None
        if not isinstance(client, Mapping) or client.get("trackingPlanId") != self.id:
            return self
        version = client.get("trackingPlanVersion")
        return self.versions.get(version, self) if isinstance(version, int) and version > 0 else self

    def check(self, event: Mapping[str, Json], settings: Settings = FORWARDING) -> Verdict:
        """Check an event against the plan. The event is never changed: the marked one is a copy.

        As in RudderStack, events of a type without rules pass, only track events must be planned, and an event whose
        rule cannot be compiled passes unchecked.
        """
        plan = self.for_event(event) if self.versions else self
        kind = event.get("type")
        own = settings.of(kind)
        if not own.validates or kind not in TYPES:
            return Verdict(plan, event, (), False, own.marks)
        rule = plan.rule(event)
        violations: Sequence[Violation] = ()
        unchecked, is_altered = "", False
        if rule is not None and rule.schema:
            violations, checked, unchecked = _check(rule, event, own.options)
            is_altered = own.options.alters and checked != event
            event = checked
        elif kind == "track":
            name = text_of(event["event"]) if "event" in event else "undefined"
            violations = (Violation(UNPLANNED_EVENT, f"no schema for event: {name}"),)
        dropped = bool(violations) and own.drops(violations)
        return Verdict(plan, event, violations, dropped, own.marks, rule, unchecked, is_altered)

    def mark(self, violations: Sequence[Violation]) -> dict[str, Json]:
        """Return what RudderStack adds to the context of an event with these violations."""
        return {
            "trackingPlanId": self.id,
            "trackingPlanVersion": self.version,
            "violationErrors": [violation.as_json() for violation in violations],
        }

    def frame(self) -> pd.DataFrame:
        """Return one row per planned property: event, type, section, property, types, required, values, where."""
        from svctoolkit.plans.frames import plan_frame

        return plan_frame(self.rules)

    def report(self, events: Iterable[Mapping[str, Json]], settings: Settings = FORWARDING) -> pd.DataFrame:
        """Return one row per violation of these events, with the event's index."""
        from svctoolkit.plans.frames import violation_frame

        rows = [row for place, event in enumerate(events) for row in self.check(event, settings).rows(place, event)]
        return violation_frame(rows)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __repr__(self) -> str:
        return f"<plan {self.name or self.id!r}, version {self.version}: {len(self.rules)} events>"


def _check(
    rule: Rule, event: Mapping[str, Any], options: Options
) -> tuple[Sequence[Violation], Mapping[str, Any], str]:
    checker, refusal = rule.checker(options)
    if checker is None:
        return (), event, refusal
    if options.alters:
        event = _plain(event)
    try:
        return checker.violations(event), event, ""
    except TooMuch as error:
        return (), event, str(error)
    except KeyError:  # a value that JSON does not have: other mapping types, dates
        event = _plain(event)
        return checker.violations(event), event, ""


def _plain(event: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(event, default=_as_json))


def _as_json(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, (tuple, set)) else str(value)
