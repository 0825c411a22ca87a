"""Check many events against a plan: violations of one kind are grouped, with the number of events."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.plans.fields import ITEMS, fields
from svctoolkit.plans.model import Plan, Verdict
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.settings import FORWARDING, Settings
from svctoolkit.plans.violation import ADDITIONAL_PROPERTIES, UNPLANNED_EVENT, Violation

_PLACE = re.compile(r"/[0-9]+(?=/|$)")


def hint(verdict: Verdict, violation: Violation) -> str:
    """Return a hint on a violation: the nearest planned name, and the position of the rule."""
    rule = verdict.rule
    near = nearest(verdict.plan, rule, violation)
    place = rule.place_of(violation) if rule is not None else ""
    return (f"(rule: {place}){near}" if place else near).strip()


def nearest(plan: Plan, rule: Rule | None, violation: Violation) -> str:
    """Return ` Did you mean 'x'?` for an unplanned name, or an empty string."""
    if violation.type == UNPLANNED_EVENT:
        name = violation.message.partition(": ")[2]
        return did_you_mean(name, [planned.name for planned in plan if planned.name])
    if rule is None or violation.type != ADDITIONAL_PROPERTIES:
        return ""
    above = section_steps(rule.section, violation.path)
    return did_you_mean(violation.property, [field.path[-1] for field in fields(rule) if field.path[:-1] == above])


def section_steps(section: str, path: str) -> tuple[str, ...]:
    """Return the path of a field below its section, from a JSON pointer into the event."""
    steps = path.split("/")[1 + len(section.split(".")) :]
    return tuple(ITEMS if step.isdecimal() else step.replace("~1", "/").replace("~0", "~") for step in steps)


@dataclass(slots=True)
class Finding:
    """Violations of one kind. `path` has `[]` for list indexes; `place` is the position of the first event."""

    event: str
    type: str
    path: str
    property: str
    message: str
    hint: str
    place: str
    count: int = 0
    dropped: int = 0

    def __str__(self) -> str:
        events = f"{self.count:,} event{'s' if self.count != 1 else ''}"
        at = f"{self.path}: " if self.path else ""
        return " ".join(filter(None, [f"{at}{self.type}: {self.message} in {events}", self.hint]))


@dataclass(slots=True)
class Survey:
    """The result of checking many events. `counts` are events by the title of their rule, unplanned ones by name."""

    plan: Plan
    settings: Settings = FORWARDING
    counts: Counter[str] = field(default_factory=Counter)
    findings: dict[tuple[str, ...], Finding] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    checked: int = 0
    violated: int = 0
    dropped: int = 0
    unchecked: Counter[str] = field(default_factory=Counter)

    def add(self, event: Mapping[str, Json], place: str = "") -> Verdict:
        """Check one event; `place` is its position."""
        verdict = self.plan.check(event, self.settings)
        title = verdict.rule.title if verdict.rule else event_title(event)
        self.counts[title] += 1
        self.places.setdefault(title, place)
        self.checked += 1
        self.violated += bool(verdict.violations)
        self.dropped += verdict.dropped
        if verdict.unchecked:
            self.unchecked[verdict.unchecked] += 1
        self._count(title, verdict, place)
        return verdict

    def _count(self, title: str, verdict: Verdict, place: str) -> None:
        kinds: dict[tuple[str, ...], Violation] = {}
        for violation in verdict.violations:
            path = _PLACE.sub("/[]", violation.path)
            kinds.setdefault((title, violation.type, path, violation.property, violation.message), violation)
        for key, violation in kinds.items():
            finding = self.findings.get(key)
            if finding is None:
                _, kind, path, property_name, message = key
                finding = Finding(title, kind, path, property_name, message, hint(verdict, violation), place)
                self.findings[key] = finding
            finding.count += 1
            finding.dropped += verdict.dropped

    def of(self, title: str) -> list[Finding]:
        """Return the findings of one rule, the most frequent first."""
        return sorted((f for f in self.findings.values() if f.event == title), key=lambda f: -f.count)

    @property
    def absent(self) -> list[str]:
        """Return the planned events that did not occur."""
        return [rule.title for rule in self.plan if not self.counts[rule.title]]


def event_title(event: Mapping[str, Json]) -> str:
    """Return the title of an event without a rule, in the form of `Rule.title`."""
    kind = event.get("type")
    return f"{kind} {event.get('event')!r}" if kind == "track" else str(kind)
