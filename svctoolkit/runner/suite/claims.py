"""Expectations that would hold although nothing was shown: misspelt members, empty ones, what nothing can break."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import UNSET

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import LEAVES, Json
from svctoolkit.runner.expect.compare import differences, is_matchers, json_line
from svctoolkit.runner.expect.expectation import problems
from svctoolkit.runner.suite.model import Place, Scenario, Step

Places: TypeAlias = Iterator[tuple[Place, str]]

ANY = "any"  # `failed: any`: whatever fails

#: The members that results have, by what they are; of what is not here any member may be expected.
MEMBERS: Mapping[str, tuple[str, ...]] = {
    "response": ("status", "headers", "body"),
    "delivered": ("destination", "method", "url", "path", "query", "headers", "body", "status", "response", "events"),
    "dropped": ("destination", "by", "reason", "event", "fate"),
    "failed": (
        *("destination", "by", "error", "status", "event", "fate", "attempts"),
        *("rule", "field", "setting", "expected"),
    ),
    "attempts": ("status", "after", "attempt", "body", "response", "headers", "error"),
    "send_to_destination": ("status", "response", "error"),
    "violations": ("type", "property", "path", "message", "event", "place", "dropped"),
}
#: Results that are lists of records, one for each destination.
_LISTS = ("user_transform", "dest_transform", "send_to_destination", "delivered", "dropped", "failed", "attempts")
WORDS = {
    "response": "an answer of the data plane",
    "delivered": "a request that was delivered",
    "dropped": "what was dropped",
    "failed": "what failed",
    "attempts": "an attempt",
    "send_to_destination": "an answer of a destination",
    "violations": "a violation",
}
_THROUGH = ("$any", "$all", "$unordered", "$contains", "$each", "$not", "$exact", "$only")


def hollow_claims(scenario: Scenario, step: Step) -> Places:
    """What is wrong with a step's expectation in that it shows less than it says."""
    keys = scenario.suite.workspace.destinations
    for name, expected in step.expect.items():
        if name in MEMBERS:
            yield from (((name, *path), text) for path, text in _members(name, expected, keys))
        if name in ("response", "warehouse", "capture") and expected == {}:
            yield (name,), f"{{}} says nothing: write what {name!r} must have, or leave it out"
        yield from (((name, *path), text) for path, text in _any_length(expected))
        if name == "user_transform" and step.kind == "send":
            yield from _untransformed(scenario, step, expected)
        if name in _LISTS:
            yield from (((name, *path), text) for path, text in _empty(expected, keys))
            yield from (((name, *path), text) for path, text in _negated_lists(expected, keys))
        if name == "attempts":
            yield from (((name, *path), text) for path, text in _any_number(expected, keys))
    if step.kind == "send":
        yield from _dead_ends(scenario, step)
        yield from _unplanned(scenario, step)


def member_problems(name: str, expected: Json, keys: Collection[str] = ()) -> Places:
    """Members of an expectation that no result of this name has; `keys` are those of destinations."""
    if name in MEMBERS:
        yield from _members(name, expected, keys)


def _members(name: str, expected: Any, keys: Collection[str], path: Place = ()) -> Places:
    """Misspelt members, which under `$absent` or `$not` would always hold."""
    if type(expected) in LEAVES:
        return
    if isinstance(expected, list):
        for index, element in enumerate(expected):
            yield from _members(name, element, keys, (*path, index))
    elif isinstance(expected, Mapping) and is_matchers(expected):
        for matcher, operand in expected.items():
            if matcher in _THROUGH:
                yield from _members(name, operand, keys, (*path, matcher))
    elif isinstance(expected, Mapping):
        if not path[:1] and expected and all(key in keys for key in expected):
            for key, inner in expected.items():
                yield from _members(name, inner, (), (*path, key))
            return
        if path[-1:] == ("$only",) and all(key in keys for key in expected):
            for key, inner in expected.items():
                yield from _members(name, inner, (), (*path, key))
            return
        for member in expected:
            if member not in MEMBERS[name] and not str(member).startswith("$"):
                near = did_you_mean(str(member), MEMBERS[name]) or f" There are {', '.join(MEMBERS[name])}."
                near = " It is called 'error'." if (name, member) == ("failed", "reason") else near
                yield (*path, member), f"there is no {member!r} in {WORDS[name]}.{near}"


def _empty(expected: Any, keys: Collection[str]) -> Places:
    advice = "{} is neither nothing nor one: write [] where nothing may come, [{}] for one, whatever it is"
    if expected == {}:
        yield (), advice
    elif isinstance(expected, Mapping) and not is_matchers(expected) and all(key in keys for key in expected):
        for key, inner in expected.items():
            if inner == {}:
                yield (key,), advice


def _negated_lists(expected: Any, keys: Collection[str], path: Place = ()) -> Places:
    """`$not: [A]` holds wherever more or fewer than one came, A or not."""
    if not isinstance(expected, Mapping):
        return
    if isinstance(expected.get("$not"), list) and expected["$not"]:
        advice = "write {$each: {$not: ...}}, or {$not: {$contains: ...}}"
        yield (*path, "$not"), f"a list that is negated is another wherever more or fewer come: {advice}"
    elif not path and all(key in keys for key in expected):
        for key, inner in expected.items():
            yield from _negated_lists(inner, (), (key,))


#: No number of attempts is more than the last of these, in any suite.
_NUMBERS = (*range(20), 10**9)


def _any_number(expected: Any, keys: Collection[str], path: Place = ()) -> Places:
    """`attempts: {$gte: 0}` says nothing."""
    if not isinstance(expected, Mapping):
        return
    if is_matchers(expected):
        if not any(differences(expected, number) for number in _NUMBERS):
            yield path, "every number is like this: write how many there are"
    elif not path and all(key in keys for key in expected):
        for key, inner in expected.items():
            yield from _any_number(inner, (), (key,))


def _any_length(expected: Any, path: Place = ()) -> Places:
    """`$length: {$gte: 0}` says nothing, but beside `$each` and others that want one at least."""
    if type(expected) in LEAVES:
        return
    if isinstance(expected, list):
        for index, element in enumerate(expected):
            yield from _any_length(element, (*path, index))
    elif isinstance(expected, Mapping):
        length = expected.get("$length")
        if len(expected) == 1 and isinstance(length, Mapping) and not differences(length, 0):
            if not differences(length, 10**9):
                yield (*path, "$length"), "every list is as long: write what must be in it, or how many there are"
            return
        for key, inner in expected.items():
            yield from _any_length(inner, (*path, key))


def _untransformed(scenario: Scenario, step: Step, expected: Any) -> Places:
    """Where there is no transformation, what comes out of it is what went in, and shows nothing."""
    workspace = scenario.suite.workspace
    reached = [workspace.destinations[key] for key in scenario.destinations_of(step)]
    named = [d for d in reached if isinstance(expected, Mapping) and d.key in expected] or reached
    plain = [d.key for d in named if not d.transformation]
    if plain and len(plain) == len(named):
        text = f"the destination {plain[0]!r} has no transformation: what comes out is what went in"
        yield ("user_transform",), text


def _dead_ends(scenario: Scenario, step: Step) -> Places:
    """Nothing ever gets to a destination that is disabled, so that nothing came there shows nothing."""
    workspace = scenario.suite.workspace
    reached = [workspace.destinations[key] for key in scenario.destinations_of(step)]
    if not reached:
        yield (
            ("source",),
            f"the source {step.spec.source!r} has no destination: connect one, or send a `request` to test its answer",
        )
        return
    if "dropped" in step.expect:  # which says why nothing came
        return
    disabled = {d.key for d in reached if not d.enabled}
    text = "is disabled: that nothing comes there shows nothing. Enable it, or expect it in `dropped`"
    if disabled and len(disabled) == len(reached):
        yield ("expect", "delivered") if "delivered" in step.expect else (), f"the destination {min(disabled)!r} {text}"
    for name in _LISTS if len(disabled) < len(reached) else ():
        expected = step.expect.get(name)
        for key in sorted(disabled & expected.keys()) if isinstance(expected, Mapping) else ():
            yield ("expect", name, key), f"the destination {key!r} {text}"


def _unplanned(scenario: Scenario, step: Step) -> Places:
    """Without a tracking plan nothing breaks one."""
    workspace, source = scenario.suite.workspace, step.spec.source
    if "violations" not in step.expect or source is UNSET or workspace.plan_link(workspace.source(source)):
        return
    text = f"the source {source!r} has no tracking plan, and so nothing breaks it: connect one in `trackingPlans`"
    yield ("expect", "violations"), text


def invariant_problems(written: Mapping[str, Json]) -> Places:
    """What is wrong with `never` and `always` as they are written."""
    for index, operand in enumerate(written.get("never", ())):
        place: Place = ("never", index)
        if operand in ("", {}, [], None):
            yield place, "this is everywhere, or nowhere: write a value, {$regex: ...}, or {key: name}"
        yield from (((*place, *path), text) for path, text in problems(operand))
    for stage, operand in written.get("always", {}).items():
        if operand in ({}, [], {"$absent": False}, {"$type": "object"}):  # it is asked of each that there is
            yield ("always", stage), f"{json_line(operand)} is always so: write what it must have"
        yield from ((("always", stage, *path), text) for path, text in problems(operand))
        if stage in MEMBERS:
            yield from ((("always", stage, *path), text) for path, text in _members(stage, operand, ()))


def claims_nothing(scenario: Scenario) -> str:
    """Why a scenario cannot fail, if nothing is expected in any of its steps; or an empty text."""
    if scenario.live is not None and scenario.live.verify is not None:
        return ""
    if any(_claims(step) or step.spec.generate is not UNSET for step in scenario.steps):
        return ""
    if any("failed" in step.expect for step in scenario.steps):
        return "`failed: any` allows whatever fails, and alone it cannot fail: expect something, too"
    return "a scenario that only captures cannot fail: expect something, too"


def _claims(step: Step) -> bool:
    return any(name != "capture" and (name, value) != ("failed", ANY) for name, value in step.expect.items())


def ignored_expectations(scenario: Scenario, written: Json) -> Places:
    """What a scenario expects itself and its `ignore`, or the suite's, would never compare."""
    for path in _leaves(written, ()) if scenario.ignore else ():
        for rule in scenario.ignore:
            if any(_fits(rule, path[:end]) for end in range(1, len(path) + 1)):
                text = f"{'.'.join(rule)!r} is ignored, so this is never compared: take it from `ignore`, or from here"
                yield ("expect", *path), text
                break


def _leaves(written: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """The paths of all that is expected, as it is written; what comes from a fixture is not meant by anyone."""
    if isinstance(written, Mapping) and "$use" in written:
        return
    if isinstance(written, Mapping) and written:
        for key, inner in written.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(written, list) and written:
        for index, inner in enumerate(written):
            yield from _leaves(inner, (*path, index))
    else:
        yield path


def _fits(rule: Sequence[str], path: tuple[str | int, ...]) -> bool:
    """Whether a rule names the end of a path; the names of matchers are no steps of it."""
    steps = [str(step) for step in path if not str(step).startswith("$")]
    end = steps[len(steps) - len(rule) :]
    return len(rule) <= len(steps) and all(r in ("*", step) for r, step in zip(rule, end, strict=True))


def unreachable_scripts(scenario: Scenario) -> Places:
    """Answers at destinations to which no step sends anything."""
    kinds, workspace = {step.kind for step in scenario.steps}, scenario.suite.workspace
    if "request" in kinds:  # it may reach any destination
        return
    reached = set[str]()
    for step in scenario.steps:
        source = step.spec.source
        if step.kind == "send" and source is not UNSET:  # a destination beside it only says where to look
            reached |= {d.key for d in workspace.destinations_of(workspace.source(source))}
        elif step.kind == "verify":
            reached |= set(scenario.destinations_of(step))
    for key in scenario.scripted:
        if key not in reached and key in workspace.destinations:
            names = f" It sends to {', '.join(sorted(reached))}." if reached else ""
            yield ("recorder", key), f"no step of this scenario sends to {key!r}.{names}"
