"""Generates events from a plan: conforming ones, and near misses with exactly one violation.

It supports the keywords that plans commonly use. Everything it generates is checked before it is returned.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.plans.fields import ITEMS, fields
from svctoolkit.plans.model import Plan
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.compiler import Checker
from svctoolkit.plans.schema.formats import FORMAT_LIMITS, ORDERED_FORMATS, within
from svctoolkit.plans.schema.pattern_texts import pattern_text
from svctoolkit.plans.schema.references import References
from svctoolkit.plans.schema.scalars import types_of
from svctoolkit.plans.violation import Violation

_TRIES: Final = 60
_LEVELS: Final = 8
_LETTERS: Final = string.ascii_lowercase


class NoEvent(ConfigError):
    """No event could be generated for a rule."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An event with exactly one violation, and the violation."""

    event: dict[str, Any]
    violation: Violation


def conforming(plan: Plan, rule: Rule, random: Random) -> dict[str, Json]:
    """Return a conforming event of a rule. Raises `NoEvent` if none is found: the rule may contradict itself."""
    for attempt in range(_TRIES):
        event = _Generator(rule, random, spare=attempt > _TRIES // 2).event()
        if not plan.check(event).violations:
            return event
    raise NoEvent(f"no conforming event could be generated for {rule.title}", where=rule.where)


def conforming_events(plan: Plan, count: int, seed: int = 0) -> list[dict[str, Json]]:
    """Return events of all rules in turn, reproducible by seed. Rules without a conforming event are left out."""
    random, rules = Random(seed), list(plan)
    events: list[dict[str, Any]] = []
    for _ in range(count):
        if not rules:
            break
        rule = rules[len(events) % len(rules)]
        try:
            events.append(conforming(plan, rule, random))
        except NoEvent:
            rules.remove(rule)
    return events


def near_misses(plan: Plan, rule: Rule, random: Random) -> list[NearMiss]:
    """Return events with exactly one violation, one for each rule that could be violated on its own.

    Violations that a broken variant adds (`must match "then" schema`) do not count.
    """
    event = conforming(plan, rule, random)
    misses: dict[tuple[str, str, str], NearMiss] = {}
    for candidate in _mutants(rule, event, random):
        violations = [v for v in plan.check(candidate).violations if not v.schema_path.endswith("/if")]
        if len(violations) == 1:
            violation = violations[0]
            key = violation.type, violation.path, violation.schema_path + violation.property
            misses.setdefault(key, NearMiss(candidate, violation))
    return list(misses.values())


class _Generator:
    """Generates one event. With `spare` optional properties are omitted, so that fewer rules apply."""

    def __init__(self, rule: Rule, random: Random, *, spare: bool) -> None:
        self._rule, self._random, self._spare = rule, random, spare
        self._references = References(rule.schema)
        self._needed = set(rule.section.split("."))

    def event(self) -> dict[str, Any]:
        head: dict[str, Any] = {"type": self._rule.type}
        if self._rule.name:
            head["event"] = self._rule.name
        body = self._object(self._rule.schema, 0)
        person = {"userId": f"u{self._random.randrange(1000)}", "messageId": f"m{self._random.getrandbits(48):012x}"}
        return {**person, **body, **head}

    def _value(self, schema: Any, level: int) -> Any:
        schema = self._resolve(schema)
        if not isinstance(schema, Mapping):
            return self._random.choice(["x", 1, True])
        for key in ("anyOf", "oneOf"):
            if schema.get(key) and "type" not in schema:
                schema = {**schema, **self._branch(schema[key])}
        if "const" in schema:
            return deepcopy(schema["const"])
        if schema.get("enum"):
            return deepcopy(self._random.choice(schema["enum"]))
        types = types_of(schema) or self._guess(schema)
        kind = self._random.choice([name for name in types if name != "null"] or types)
        makers: dict[str, Callable[[], Any]] = {
            "string": lambda: self._text(schema),
            "integer": lambda: self._number(schema, whole=True),
            "number": lambda: self._number(schema, whole=False),
            "boolean": lambda: self._random.random() < 0.5,
            "null": lambda: None,
            "array": lambda: self._list(schema, level),
            "object": lambda: self._object(schema, level),
        }
        return makers[kind]()

    def _guess(self, schema: Mapping[str, Any]) -> list[str]:
        if schema.keys() & {"properties", "required", "allOf"}:
            return ["object"]
        if "items" in schema:
            return ["array"]
        if schema.keys() & {"minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"}:
            return ["number"]
        return ["string"]

    def _resolve(self, schema: Any) -> Any:
        for _ in range(_LEVELS):
            if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
                return schema
            target = self._references.target(schema["$ref"], self._references.base)
            if target is None or not isinstance(target.schema, Mapping):
                return schema
            schema = {**target.schema, **{key: value for key, value in schema.items() if key != "$ref"}}
        return {}

    def _branch(self, branches: list[Any]) -> Mapping[str, Any]:
        chosen = self._resolve(self._random.choice(branches))
        return chosen if isinstance(chosen, Mapping) else {}

    def _text(self, schema: Mapping[str, Any]) -> str:
        random = self._random
        if schema.get("format") in _FORMATS:
            return _within_limits(schema, _FORMATS[schema["format"]](random))
        if "pattern" in schema:
            return pattern_text(schema["pattern"], random)
        least = int(schema.get("minLength", 1))
        most = int(schema.get("maxLength", max(least, 12)))
        return "".join(random.choice(_LETTERS) for _ in range(random.randint(least, max(least, min(most, least + 8)))))

    def _number(self, schema: Mapping[str, Any], *, whole: bool) -> float:
        low, high = _bound(schema, "minimum"), _bound(schema, "maximum")
        if low is None:
            low = 0.0 if high is None or high >= 0 else high - 1000
        if high is None:
            high = low + 1000
        step = schema.get("multipleOf") or (1 if whole else 0.5)
        first, last = math.ceil(low / step), math.floor(high / step)
        if first > last:
            return self._random.uniform(low, high)
        times = self._random.randint(first, last)
        if times * step == low and _excludes(schema, "minimum") and times < last:
            times += 1
        if times * step == high and _excludes(schema, "maximum") and times > first:
            times -= 1
        value = times * step
        return int(value) if value == int(value) else value

    def _list(self, schema: Mapping[str, Any], level: int) -> list[Any]:
        least, most = int(schema.get("minItems", 0)), int(schema.get("maxItems", 3))
        highest = least if self._spare or level > _LEVELS else max(least, min(most, least + 2))
        count = self._random.randint(least, highest)
        items = schema.get("items", {})
        examples: list[Any] = []
        for place in range(count):
            inner = (items[place] if place < len(items) else {}) if isinstance(items, list) else items
            for _ in range(10):
                value = self._value(inner, level + 1)
                if not schema.get("uniqueItems") or value not in examples:
                    examples.append(value)
                    break
        return examples

    def _object(self, schema: Mapping[str, Any], level: int) -> dict[str, Any]:
        """Return an object: its own properties first, then composed schemas, whose conditions depend on them."""
        result: dict[str, Any] = {}
        waiting: list[Mapping[str, Any]] = [schema]
        while waiting and level <= _LEVELS:
            part = self._resolve(waiting.pop(0))
            if not isinstance(part, Mapping):
                continue
            self._fill(result, part, level)
            waiting += part.get("allOf", [])
            waiting += [self._branch(part[key]) for key in ("anyOf", "oneOf") if part.get(key)]
            if "if" in part:
                holds = not Checker({**self._definitions, **part["if"]}).violations(result)
                waiting.append(part.get("then" if holds else "else", {}))
        return result

    @property
    def _definitions(self) -> dict[str, Any]:
        return {key: self._rule.schema[key] for key in ("$defs", "definitions", "$schema") if key in self._rule.schema}

    def _fill(self, result: dict[str, Any], schema: Mapping[str, Any], level: int) -> None:
        required = set(schema.get("required", ()))
        for name, inner in schema.get("properties", {}).items():
            needed = name in required or (level < 2 and name in self._needed)
            if name not in result and inner is not False and (needed or self._wants(level)):
                result[name] = self._value(inner, level + 1)
        for name in required - schema.get("properties", {}).keys():
            result.setdefault(name, "x")

    def _wants(self, level: int) -> bool:
        return not self._spare and level < _LEVELS and self._random.random() < 0.6


def _bound(schema: Mapping[str, Any], name: str) -> float | None:
    exclusive = schema.get(f"exclusive{name.capitalize()}")
    values = [v for v in (schema.get(name), exclusive) if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return (max if name == "minimum" else min)(values) if values else None


def _within_limits(schema: Mapping[str, Any], text: str) -> str:
    """Return the string, or the format's limit if the string violates it."""
    for keyword in FORMAT_LIMITS.keys() & schema.keys() if schema["format"] in ORDERED_FORMATS else ():
        if not within(keyword, schema[keyword], schema["format"])(text):
            text = schema[keyword]
    return text


def _excludes(schema: Mapping[str, Any], name: str) -> bool:
    return f"exclusive{name.capitalize()}" in schema


def _date(random: Random) -> str:
    return f"20{random.randrange(20, 30)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"


def _time(random: Random) -> str:
    return f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}Z"


def _word(random: Random) -> str:
    return "".join(random.choice(_LETTERS) for _ in range(random.randint(3, 8)))


_FORMATS: Final[Mapping[str, Callable[[Random], str]]] = {
    "date": _date,
    "time": _time,
    "date-time": lambda random: f"{_date(random)}T{_time(random)}",
    "email": lambda random: f"{_word(random)}@{_word(random)}.example",
    "uuid": lambda random: "-".join(f"{random.getrandbits(4 * n):0{n}x}" for n in (8, 4, 4, 4, 12)),
    "hostname": lambda random: f"{_word(random)}.example",
    "ipv4": lambda random: ".".join(str(random.randrange(256)) for _ in range(4)),
    "ipv6": lambda random: ":".join(f"{random.getrandbits(16):x}" for _ in range(8)),
    "uri": lambda random: f"https://{_word(random)}.example/{_word(random)}",
    "url": lambda random: f"https://{_word(random)}.example/{_word(random)}",
}


#: values of every type, and some that violate common limits
_WRONG: Final[tuple[Any, ...]] = (
    *(None, True, "no such value", "", "x" * 300, -1e9, 1e9, 0.123, 7),
    *([], ["x"] * 50, [{}], {}, {"x": 1}),
    *("0001-01-01", "9999-12-31", "00:00:00Z", "23:59:59Z", "0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z"),
)


def _mutants(rule: Rule, event: dict[str, Any], random: Random) -> Iterator[dict[str, Any]]:
    """Yield copies of an event with one change each: something missing, superfluous, or of another kind."""
    steps = tuple(rule.section.split("."))
    yield from _with_change(event, steps, lambda owner: owner.setdefault(f"x_{_word(random)}", 1))
    for field in fields(rule):
        path = (*steps, *field.path)
        if field.path[-1] != ITEMS:
            yield from _with_change(event, path[:-1], partial(_pop, path[-1]))
        for value in _WRONG:
            yield from _with_change(event, path[:-1], partial(_put, path[-1], value))
        if field.types == ("object",) and field.path[-1] != ITEMS:
            yield from _with_change(event, path, lambda owner: owner.setdefault(f"x_{_word(random)}", 1))


def _pop(name: str, owner: Any) -> None:
    owner.pop(name, None)


def _put(name: str, value: Any, owner: Any) -> None:
    if name == ITEMS:
        owner.append(value)
    else:
        owner[name] = value


def _with_change(
    event: dict[str, Any], path: tuple[str, ...], change: Callable[[Any], Any]
) -> Iterator[dict[str, Any]]:
    """Return the event with a change to the object or list at a path, if it exists; in lists, to the first item."""
    copy = deepcopy(event)
    node: Any = copy
    for step in path:
        node = node[0] if step == ITEMS and isinstance(node, list) and node else _member(node, step)
    if isinstance(node, (dict, list)):
        try:
            change(node)
        except (TypeError, AttributeError):  # a list, but the change is for objects
            return
        yield copy


def _member(node: Any, step: str) -> Any:
    return node.get(step) if isinstance(node, dict) else None
