"""A tracking plan: what events may look like, and what is wrong with one that does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json
from svctoolkit.plans.schema.dialect import DEFAULT_OPTIONS, Options
from svctoolkit.plans.schema.javascript import pointer_tokens, text_of
from svctoolkit.plans.schema.node import TooMuch
from svctoolkit.plans.settings import FORWARDING, TYPES, Settings
from svctoolkit.plans.violation import REQUIRED_MISSING, UNPLANNED_EVENT, Violation

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.plans.schema.compiler import Checker

Place = tuple[str | int, ...]


class Verdict(Displayed):
    """What a plan says about one event.

    `dropped` says that the event goes no further; `unchecked` why nothing could be said about it, where that is so;
    `rule` which one it was held against. `plan` is the version that was used.
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
        """What the service adds to the event's `context`: plan, version and violations. None where it adds nothing."""
        return self.plan.mark(self.violations) if self._marks else None

    @property
    def event(self) -> Mapping[str, Json]:
        """The event as it goes on: marked, perhaps altered by `ajvOptions`, or as it came."""
        return mark_event(self._event, self.mark)

    @property
    def change(self) -> Mapping[str, Json] | None:
        """What `change_event` makes `event` of the event as it came with: the mark; with an altered event that, too."""
        return {"event": self._event, "mark": self.mark} if self._is_altered else self.mark

    @property
    def reason(self) -> str:
        """The types of the violations, and the first message: one line."""
        kinds = ", ".join(dict.fromkeys(violation.type for violation in self.violations))
        return f"{kinds}: {self.violations[0].message}" if self.violations else ""

    def __repr__(self) -> str:
        said = self.reason or self.unchecked or "conforms"
        return f"<{'dropped' if self.dropped else 'passes'}: {said}>"


def mark_event(event: Mapping[str, Json], mark: Mapping[str, Json] | None) -> Mapping[str, Json]:
    """The event with a mark in its `context`; itself where there is none, or a context that is no object."""
    context = event.get("context")
    if mark is None or (context is not None and not isinstance(context, Mapping)):
        return event
    return {**event, "context": {**(context or {}), **mark}}


def change_event(event: Mapping[str, Json], change: Mapping[str, Json] | None) -> Mapping[str, Json]:
    """The event as it goes on: see `Verdict.change`."""
    altered = change.get("event") if change is not None else None
    if change is not None and isinstance(altered, Mapping):
        mark = change["mark"]
        return mark_event(altered, mark if isinstance(mark, Mapping) else None)
    return mark_event(event, change)


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """What one event may look like: `schema` is a JSON Schema over the whole event.

    `type` is the event type, `name` the name of a track event (empty for others), `section` where its properties are
    (`properties`, `traits`, `context.traits`). `where` is `file:line:col`, and `locate` gives that of a part of
    the schema by its path in it, where the format tells.
    """

    type: str
    name: str
    schema: Mapping[str, Any]
    section: str = "properties"
    description: str = ""
    where: str = ""
    locate: Callable[[Place, bool], str] | None = field(default=None, repr=False)

    @property
    def title(self) -> str:
        """The rule as texts call it: `track 'Order Done'`, `identify`."""
        return f"{self.type} {self.name!r}" if self.name else self.type

    def __repr__(self) -> str:
        return f"<rule of {self.title}>"

    @property
    def section_path(self) -> Place:
        """The path of the section's schema in `schema`."""
        return tuple(step for name in self.section.split(".") for step in ("properties", name))

    @cached_property
    def body(self) -> Mapping[str, Json]:
        """The schema of the section: properties by name, and what is required."""
        node: Any = self.schema
        for step in self.section_path:
            node = node.get(step, {}) if isinstance(node, Mapping) else {}
        return node if isinstance(node, Mapping) else {}

    def place_of(self, violation: Violation) -> str:
        """`file:line:col` of what the violation breaks, or of the nearest thing around it."""
        path = list(pointer_tokens(violation.schema_path))
        if violation.type == REQUIRED_MISSING:
            path = [*path[:-1], "properties", violation.property]
        return self.place(path)

    def place(self, path: Iterable[str | int], *, key: bool = False) -> str:
        """`file:line:col` of a part of the schema (or of its key), or of the nearest thing around it."""
        if self.locate is None:
            return self.where
        sought = tuple(path), key
        if sought not in self._places:
            self._places[sought] = self.locate(self._steps(sought[0]), key)
        return self._places[sought]

    @cached_property
    def _places(self) -> dict[tuple[Place, bool], str]:
        return {}

    def _steps(self, path: Place) -> Place:
        """A path as the schema has it: a pointer writes the places of lists as text."""
        node: Any = self.schema
        steps: list[str | int] = []
        for step in path:
            if isinstance(node, list):
                step = int(step) if str(step).isdecimal() else step
                node = node[step] if isinstance(step, int) and step < len(node) else None
            else:
                node = node.get(step) if isinstance(node, Mapping) else None
            steps.append(step)
        return tuple(steps)

    def checker(self, options: Options = DEFAULT_OPTIONS) -> Compiled:
        """The compiled schema, or why the service refuses it."""
        if options is DEFAULT_OPTIONS:
            return self._checker
        if options not in self._checkers:
            self._checkers[options] = _compile(self.schema, options)
        return self._checkers[options]

    @cached_property
    def _checker(self) -> Compiled:
        return _compile(self.schema, DEFAULT_OPTIONS)

    @cached_property
    def _checkers(self) -> dict[Options, Compiled]:
        return {}


class Compiled(NamedTuple):
    """A schema ready to check with, or the text of its first refusal."""

    checker: Checker | None
    refusal: str


def rule_schema(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """The schema as the service compiles it: without the `version` that may stand in it."""
    return {key: value for key, value in schema.items() if key != "version"} if "version" in schema else schema


def _compile(schema: Mapping[str, Any], options: Options) -> Compiled:
    from svctoolkit.plans.schema.compiler import Checker  # only where there is an event to check
    from svctoolkit.plans.schema.strictness import refusals

    schema = rule_schema(schema)
    wrong = refusals(schema, options)
    return Compiled(None, wrong[0].message) if wrong else Compiled(Checker(schema, options), "")


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Displayed):
    """A tracking plan: its rules, the first that fits counts. `versions` are other versions of it by number."""

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
        """The rule for an event: a track event's by its exact name, others' by their type alone."""
        kind = event.get("type")
        name = event.get("event") if kind == "track" else kind
        return (self._tracks if kind == "track" else self._others).get(name) if isinstance(name, str) else None

    def rule_by_name(self, name: str) -> Rule | None:
        """The rule of a track event, or of an event type: `Order Done`, `identify`."""
        return self._tracks.get(name) or self._others.get(name)

    @property
    def names(self) -> list[str]:
        """What `rule_by_name` takes, in the order of the rules."""
        return list(dict.fromkeys(rule.name or rule.type for rule in self.rules))

    def for_event(self, event: Mapping[str, Json]) -> Plan:
        """This plan, or the version of it that a generated client says it was made from."""
        context = event.get("context")
        client = context.get("ruddertyper") if isinstance(context, Mapping) else None
        if not isinstance(client, Mapping) or client.get("trackingPlanId") != self.id:
            return self
        version = client.get("trackingPlanVersion")
        return self.versions.get(version, self) if isinstance(version, int) and version > 0 else self

    def check(self, event: Mapping[str, Json], settings: Settings = FORWARDING) -> Verdict:
        """What the plan says about an event, which is never changed: the marked one is a copy.

        As the service: events of a type without rules pass, only track events must be planned, and an event whose rule
        cannot be compiled passes unchecked.
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
        """What the service adds to the context of an event with these violations."""
        return {
            "trackingPlanId": self.id,
            "trackingPlanVersion": self.version,
            "violationErrors": [violation.as_json() for violation in violations],
        }

    def frame(self) -> pd.DataFrame:
        """One row for each planned property: event, type, section, property, types, required, values, where."""
        from svctoolkit.plans.frames import plan_frame

        return plan_frame(self)

    def report(self, events: Iterable[Mapping[str, Json]], settings: Settings = FORWARDING) -> pd.DataFrame:
        """One row for each violation of these events, with the event's place among them."""
        from svctoolkit.plans.frames import violation_frame

        return violation_frame(self, events, settings)

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
    except KeyError:  # a value that JSON does not have: other kinds of mappings, dates
        event = _plain(event)
        return checker.violations(event), event, ""


def _plain(event: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(event, default=_as_json))


def _as_json(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, (tuple, set)) else str(value)
