"""Events that a plan allows, with unusual values: Hypothesis chooses and shrinks them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from random import Random
from typing import Any, TypeAlias

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning, NoSuchExample

from svctoolkit.errors import ToolkitError
from svctoolkit.plans import Plan
from svctoolkit.plans.generate import NoEvent, conforming
from svctoolkit.plans.rule import Rule

Events: TypeAlias = "list[dict[str, Any]]"
Rules: TypeAlias = Callable[[Events], Set[str]]

_SHRINKS = 200  # events that are tried to make one smaller
#: values that plans often allow and vendors often do not
_LONG = tuple("x" * size for size in (37, 41, 101, 129, 256, 1025, 2000))
_IDS = ("anonymous", "null", "undefined", "0", "order:42:completed", "ada@shop.example", *_LONG)
_TEXTS = ("", "not an address", "+00", " Ada ", "ÄÖÜ", "\ud800", "{{name}}", *_LONG)
_TIMES = ("1950-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "2035-06-01T00:00:00Z", "2099-01-01T00:00:00Z", "yesterday")
_NUMBERS = (0, -1, 0.5, 101, 10**6, 10**12, 10**19)
_ADDED: tuple[tuple[str, Any], ...] = (
    ("many", {f"extra_{n}": n for n in range(300)}),
    ("some", {f"extra_{n}": n for n in range(30)}),
    ("deep", {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": {"j": {"k": 1}}}}}}}}}}}),
    ("long_list", {"tags": [str(n) for n in range(5000)]}),
    ("named", {"user name": 1, "x" * 41: 1, "$set": 1, "_private": 1, "ga_id": 1, "bucket": "b", "email": "no"}),
)


class Candidates:
    """Draws events of a plan. `tries` is how many are drawn for each destination."""

    def __init__(self, plan: Plan, tries: int) -> None:
        self._plan, self._rules, self._tries = plan, [rule for rule in plan if _is_possible(plan, rule)], tries
        if not self._rules:
            raise NoEvent("no event of the plan could be generated")

    def find(self, wanted: Sequence[str], rules_of: Rules) -> dict[str, Events]:
        """Return the smallest events that were found for each of these rules; those without any are left out."""
        first: dict[str, Events] = {}

        def note(events: Events) -> bool:
            for rule in rules_of(events):
                first.setdefault(rule, events)
            return False

        self._search(note, self._tries)
        return {rule: self._smallest(rule, first[rule], rules_of) for rule in wanted if rule in first}

    def _search(self, is_wanted: Callable[[Events], bool], tries: int) -> Events | None:
        limits = settings(
            max_examples=tries,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)
            try:
                found: Events = find(self._events(), is_wanted, settings=limits, random=Random(0))
            except NoSuchExample:
                return None
        return found

    def _events(self) -> st.SearchStrategy[Events]:
        edits = st.lists(st.integers(0, 10_000), max_size=3)
        drawn = st.tuples(st.sampled_from(self._rules), st.integers(0, 1000), edits, st.booleans())
        return drawn.map(lambda parts: self._draw(*parts)).filter(self._is_allowed)

    def _draw(self, rule: Rule, seed: int, edits: Sequence[int], twice: bool) -> Events:
        try:
            event = conforming(self._plan, rule, Random(seed))
        except NoEvent:
            return []
        event = {**event, "anonymousId": "device-1", "timestamp": "2026-01-15T10:00:00.000Z"}
        for edit in edits:
            _edit(event, Random(edit))
        again = copy.deepcopy(event)
        return [event, {**again, "messageId": f"2{event.get('messageId', '')}"}] if twice else [event]

    def _is_allowed(self, events: Events) -> bool:
        return bool(events) and not any(self._plan.check(event).violations for event in events)

    def _smallest(self, rule: str, first: Events, rules_of: Rules) -> Events:
        """Shrink: with Hypothesis, then by leaving out members one by one."""
        events = self._search(lambda drawn: rule in rules_of(drawn), self._tries) or first
        smaller = [[event] for event in events[-1:] if len(events) > 1]
        events = next((few for few in smaller if rule in rules_of(few)), events)
        room = _SHRINKS
        for path in [path for path in _paths(events[-1]) if path[0] not in ("type", "event")]:
            fewer = [_without(event, path) for event in events]
            if fewer != events and room and self._is_allowed(fewer):
                room -= 1
                if rule in rules_of(fewer):
                    events = fewer
        return events


def _is_possible(plan: Plan, rule: Rule) -> bool:
    try:
        conforming(plan, rule, Random(0))
    except ToolkitError:
        return False
    return True


def _edit(event: dict[str, Any], random: Random) -> None:
    """Change one member of an event: an id, a time, a value, or add members."""
    where = random.choice(("userId", "messageId", "timestamp", "text", "number", "more", "email", "none"))
    if where == "userId":
        event["userId"] = random.choice(_IDS)
    elif where == "messageId":
        event["messageId"] = random.choice(_IDS)
    elif where == "timestamp":
        event["timestamp"] = event["originalTimestamp"] = random.choice(_TIMES)
    elif where == "none":
        event.pop("userId", None)
        event["anonymousId"] = random.choice(_IDS)
    elif where == "email":
        value = random.choice(("ada@shop.example", "Ada@Shop.Example ", *_TEXTS))
        event.setdefault("context", {}).setdefault("traits", {})[random.choice(("email", "phone", "name"))] = value
    elif where == "more":
        home = event.setdefault("traits" if event["type"] in ("identify", "group") else "properties", {})
        home.update(copy.deepcopy(random.choice(_ADDED)[1]))
    else:
        kind: Any = str if where == "text" else (int, float)
        paths = [
            path for path in _paths(event) if isinstance(_at(event, path), kind) and path[0] not in ("type", "event")
        ]
        if paths:
            path = random.choice(paths)
            _at(event, path[:-1])[path[-1]] = random.choice(_TEXTS if where == "text" else _NUMBERS)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all members, outer ones first."""
    members = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    inner = [(*path, step) for step, _ in members]
    yield from inner
    for deeper in inner:
        yield from _paths(value[deeper[-1]], deeper)


def _at(value: Any, path: Sequence[Any]) -> Any:
    for step in path:
        value = value[step]
    return value


def _without(event: dict[str, Any], path: Sequence[Any]) -> dict[str, Any]:
    """Return an event without a member; the event itself if it does not have it."""
    smaller = copy.deepcopy(event)
    try:
        owner = _at(smaller, path[:-1])
        del owner[path[-1]]
    except (KeyError, IndexError, TypeError):
        return event
    return smaller
