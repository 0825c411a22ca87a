"""Compare two plans: what changed, and whether events that conformed may now violate the plan.

This compares rules and their properties rather than the JSON of the schemas: the same rule can be written in many ways,
and only its meaning shows whether a change is breaking.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.plans.fields import Field, field_name, fields
from svctoolkit.plans.limits import have_other_changes, is_closed, limit_changes, without_notes
from svctoolkit.plans.model import Plan
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.javascript import identity, text_of
from svctoolkit.plans.settings import FORWARDING
from svctoolkit.plans.survey import Survey

#: As in schema registries: `backward`, old events fit the new plan; `forward`, new events fit what readers of the old
#: plan expect; `full`, both.
Compatibility: TypeAlias = Literal["backward", "forward", "full"]


@dataclass(frozen=True, slots=True)
class Change:
    """A change, at `where` in the new plan.

    `breaking`: events that conformed to the old plan may violate this, so it is not backward compatible. `surprising`:
    events that conform to the new plan may violate what the old one said of its properties, so readers of the data
    (destinations, warehouses, models) may fail: it is not forward compatible. Readers ignore names that are new.
    """

    event: str
    property: str
    text: str
    breaking: bool
    where: str = ""
    surprising: bool = False

    def breaks(self, compatibility: Compatibility) -> bool:
        """Whether two plans with this change are not compatible in a direction."""
        backward, forward = compatibility != "forward", compatibility != "backward"
        return (backward and self.breaking) or (forward and self.surprising)

    def __str__(self) -> str:
        subject = f"{self.event}, {self.property}" if self.property else self.event
        effect = "breaking" if self.breaking else "breaking for readers" if self.surprising else "harmless"
        return f"{effect}: {subject}: {self.text}"


def changes(old: Plan, new: Plan) -> list[Change]:
    """Return every change, event by event."""
    return list(_changes(old, new))


def _changes(old: Plan, new: Plan) -> Iterator[Change]:
    before, after = _by_title(old), _by_title(new)
    for title, rule in before.items():
        if title not in after:
            yield Change(title, "", "is no longer planned", rule.type == "track", new.where)
        elif rule.schema != after[title].schema:
            yield from _rule_changes(rule, after[title])
    for title, rule in after.items():
        if title not in before:
            # a type without rules was never checked; an unplanned track event was already a violation
            yield Change(title, "", "is planned now", rule.type != "track", rule.where)


def _by_title(plan: Plan) -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for rule in plan:
        rules.setdefault(rule.title, rule)
    return rules


def _rule_changes(old: Rule, new: Rule) -> Iterator[Change]:
    title = new.title
    if old.section != new.section:
        yield Change(title, "", f"its properties are in {new.section} now, not {old.section}", True, new.where, True)
    before, after = _by_name(old), _by_name(new)
    closed = not _is_open(new)
    for key, field in before.items():
        if key not in after:
            excludes = not _is_open_around(field, new, after)
            yield Change(title, _label(field), "is no longer planned", excludes, new.where, field.required)
        else:
            yield from _field_changes(title, field, after[key])
    for key, field in after.items():
        if key not in before:
            what = "is planned now" + (", and required" if field.required else "")
            yield Change(title, _label(field), what, field.required or _is_open_around(field, old, before), field.where)
    if _is_open(old) and closed:
        yield Change(title, "", "no longer accepts unplanned properties", True, new.where)
    elif not _is_open(old) and not closed:
        yield Change(title, "", "accepts unplanned properties now", False, new.where)
    yield from _limit_changes(title, "", old.body, new.body, new.where)
    if old.section == new.section and (
        have_other_changes(old.body, new.body) or without_notes(_around(old)) != without_notes(_around(new))
    ):
        yield Change(title, "", "its rules have changed in another way", True, new.where, True)


def _limit_changes(
    title: str, name: str, old: Mapping[str, Any], new: Mapping[str, Any], where: str
) -> Iterator[Change]:
    for change in limit_changes(old, new):
        yield Change(title, name, change.text, change.excludes, where, change.allows)


def _around(rule: Rule) -> Any:  # Any: a schema
    """Return the schema of an event without that of its section."""
    schema: dict[str, Any] = dict(rule.schema)
    node = schema
    *steps, last = map(str, rule.section_path)
    for step in steps:
        inner = dict(node.get(step) or {})
        node[step], node = inner, inner
    node.pop(last, None)
    return schema


def _by_name(rule: Rule) -> dict[tuple[str, str], Field]:
    return {(field.name, field.case.text if field.case else ""): field for field in fields(rule)}


def _label(field: Field) -> str:
    return f"{field.name!r}" + (f" (if {field.case.text})" if field.case else "")


def _is_open_around(field: Field, rule: Rule, of: Mapping[tuple[str, str], Field]) -> bool:
    """Whether the object that has a field, or had it, may have unplanned members by a rule; `of` are its fields."""
    key = (field_name(field.path[:-1]), field.case.text if field.case else "")
    around = of.get(key, of.get((key[0], "")))
    return _is_open(rule) if around is None else not is_closed(around.schema)


def _is_open(rule: Rule) -> bool:
    return not is_closed(rule.body)


def _field_changes(title: str, old: Field, new: Field) -> Iterator[Change]:
    name = _label(new)
    if old.required != new.required:
        yield Change(
            title, name, f"is {'' if new.required else 'not '}required now", new.required, new.where, old.required
        )
    if set(old.types) != set(new.types):
        types = f"is {' or '.join(new.types) or 'anything'} now, not {' or '.join(old.types) or 'anything'}"
        yield Change(
            title, name, types, not _widens(old.types, new.types), new.where, not _widens(new.types, old.types)
        )
    if old.format != new.format:
        text = f"must have the format {new.format} now" if new.format else f"no longer needs to be a {old.format}"
        yield Change(title, name, text, bool(new.format), new.where, bool(old.format))
    yield from _value_changes(title, name, old, new)
    if not (old.types and new.types) or _widens(old.types, new.types) or _widens(new.types, old.types):
        yield from _limit_changes(title, name, old.schema, new.schema, new.where)
    if is_closed(old.schema) != is_closed(new.schema):
        closed = is_closed(new.schema)
        yield Change(
            title,
            name,
            f"{'no longer ' if closed else ''}accepts unplanned properties{'' if closed else ' now'}",
            closed,
            new.where,
        )


def _widens(old: Iterable[str], new: Iterable[str]) -> bool:
    """Whether every value of the old types also has one of the new types."""
    wide = set(new)
    if not wide or ("number" in wide and set(old) <= wide | {"integer"}):
        return True
    return bool(set(old)) and set(old) <= wide


def _value_changes(title: str, name: str, old: Field, new: Field) -> Iterator[Change]:
    if old.values is None and new.values is None:
        return
    if new.values is None or old.values is None:
        text = "accepts only certain values now" if new.values is not None else "accepts any value now"
        yield Change(title, name, text, new.values is not None, new.where, new.values is None)
        return
    before, after = ({identity(value): value for value in values} for values in (old.values, new.values))
    for what, gone in (("is no longer an allowed value", True), ("is an allowed value now", False)):
        here, there = (before, after) if gone else (after, before)
        for key, value in here.items():
            if key not in there:
                yield Change(title, name, f"{text_of(value)!r} {what}", gone, new.where, not gone)


@dataclass(frozen=True, slots=True)
class Impact:
    """The effect of a plan change on events: a survey by each of the two plans."""

    old: Survey
    new: Survey

    @property
    def newly(self) -> dict[tuple[str, ...], int]:
        """Return the kinds of violations that more events have under the new plan, with how many more."""
        more = {
            key: finding.count - (self.old.findings[key].count if key in self.old.findings else 0)
            for key, finding in self.new.findings.items()
        }
        return {key: count for key, count in more.items() if count > 0}


def impact(old: Plan, new: Plan, events: Iterable[tuple[str, Mapping[str, Json]]]) -> Impact:
    """Check the same events, each with its place, against both plans."""
    surveys = Survey(old, FORWARDING), Survey(new, FORWARDING)
    for place, event in events:
        for survey in surveys:
            survey.add(event, place)
    return Impact(*surveys)
