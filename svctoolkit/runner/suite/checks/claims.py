"""Find expectations that prove nothing: misspelt members, empty ones, and ones that every result meets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from svctoolkit.errors import did_you_mean
from svctoolkit.expect.compare import differences, is_matchers, json_line
from svctoolkit.expect.expectation import problems
from svctoolkit.json_types import LEAVES, Json
from svctoolkit.runner.suite.model import Place, Places, Scenario, Step, within
from svctoolkit.runner.suite.results import is_by_destination

ANY = "any"  # `failed: any`: whatever fails

#: The members of results, by kind of result; results that are not listed may have any member.
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
    "fetched": (
        *("destination", "transformation", "method", "url", "path", "query", "headers", "body", "status", "response"),
    ),
    "logs": ("destination", "transformation", "level", "text", "event"),
    "deleted": ("status", "error", "tries", "requests"),
    "losses": ("destination", "transformation", "path", "value", "becomes", "event"),
}
#: Results that are lists of records, one for each destination.
_LISTS = (
    *("user_transform", "dest_transform", "send_to_destination", "delivered", "dropped", "failed", "attempts"),
    *("fetched", "logs", "losses"),
)
WORDS = {
    "response": "a response of the data plane",
    "delivered": "a request that was delivered",
    "dropped": "a dropped event",
    "failed": "a failure",
    "attempts": "an attempt",
    "send_to_destination": "a response of a destination",
    "violations": "a violation",
    "fetched": "a request of user code",
    "logs": "a log line",
    "deleted": "a deletion",
    "losses": "a loss of user code",
}
_THROUGH = ("$any", "$all", "$unordered", "$contains", "$each", "$not", "$exact", "$only")


def hollow_claims(scenario: Scenario, step: Step) -> Places:
    """Yield the parts of a step's expectation that prove less than they say."""
    keys = scenario.suite.workspace.destinations
    for name, expected in step.expect.items():
        if name in MEMBERS:
            yield from within((name,), _members(name, expected, keys))
        if name in ("response", "warehouse", "capture") and expected == {}:
            yield (name,), f"{{}} matches everything: write what {name!r} must have, or remove it"
        yield from within((name,), _any_length(expected))
        if (name == "user_transform" and step.kind == "send") or name in ("fetched", "logs", "losses"):
            yield from _untransformed(scenario, step, name, expected)
        if name in _LISTS:
            yield from within((name,), _empty(expected, keys))
            yield from within((name,), _negated_lists(expected, keys))
        if name == "attempts":
            yield from within((name,), _any_number(expected, keys))
    if step.kind == "send":
        yield from _dead_ends(scenario, step)
        yield from _unplanned(scenario, step)


def member_problems(name: str, expected: Json, keys: Collection[str] = ()) -> Places:
    """Yield expected members that no result of this name has; `keys` are those of destinations."""
    if name in MEMBERS:
        yield from _members(name, expected, keys)


def _members(name: str, expected: Any, keys: Collection[str], path: Place = ()) -> Places:
    """Yield misspelt members, which under `$absent` or `$not` would always match."""
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
        if not path and is_by_destination(expected, keys):
            for key, inner in expected.items():
                yield from _members(name, inner, (), (*path, key))
            return
        if path[-1:] == ("$only",) and is_by_destination(expected, keys):
            for key, inner in expected.items():
                yield from _members(name, inner, (), (*path, key))
            return
        for member in expected:
            if member not in MEMBERS[name] and not str(member).startswith("$"):
                near = did_you_mean(str(member), MEMBERS[name]) or f" It has {', '.join(MEMBERS[name])}."
                near = " Use 'error'." if (name, member) == ("failed", "reason") else near
                yield (*path, member), f"{WORDS[name]} has no member {member!r}.{near}"


def _empty(expected: Any, keys: Collection[str]) -> Places:
    advice = "{} is ambiguous: write [] if nothing may come, or [{}] for exactly one with any content"
    if expected == {}:
        yield (), advice
    elif is_by_destination(expected, keys) and not is_matchers(expected):
        for key, inner in expected.items():
            if inner == {}:
                yield (key,), advice


def _negated_lists(expected: Any, keys: Collection[str], path: Place = ()) -> Places:
    """`$not: [A]` matches any list of another length, whether or not it contains A."""
    if not isinstance(expected, Mapping):
        return
    if isinstance(expected.get("$not"), list) and expected["$not"]:
        advice = "write {$each: {$not: ...}}, or {$not: {$contains: ...}}"
        yield (*path, "$not"), f"a negated list also matches any list of another length: {advice}"
    elif not path and is_by_destination(expected, keys):
        for key, inner in expected.items():
            yield from _negated_lists(inner, (), (key,))


#: Sample numbers of attempts; the last one exceeds any real number.
_NUMBERS = (*range(20), 10**9)


def _any_number(expected: Any, keys: Collection[str], path: Place = ()) -> Places:
    """`attempts: {$gte: 0}` proves nothing."""
    if not isinstance(expected, Mapping):
        return
    if is_matchers(expected):
        if not any(differences(expected, number) for number in _NUMBERS):
            yield path, "every number matches: write the number of attempts"
    elif not path and is_by_destination(expected, keys):
        for key, inner in expected.items():
            yield from _any_number(inner, (), (key,))


def _any_length(expected: Any, path: Place = ()) -> Places:
    """`$length: {$gte: 0}` proves nothing, except next to `$each` and others that require at least one element."""
    if type(expected) in LEAVES:
        return
    if isinstance(expected, list):
        for index, element in enumerate(expected):
            yield from _any_length(element, (*path, index))
    elif isinstance(expected, Mapping):
        length = expected.get("$length")
        if len(expected) == 1 and isinstance(length, Mapping) and not differences(length, 0):
            if not differences(length, 10**9):
                yield (*path, "$length"), "every list has such a length: write its elements, or how many there are"
            return
        for key, inner in expected.items():
            yield from _any_length(inner, (*path, key))


def _untransformed(scenario: Scenario, step: Step, name: str, expected: Any) -> Places:
    """Without a transformation, the output is the input, nothing is requested, logged or lost: it proves nothing."""
    if step.kind in ("transformation", "request"):
        return
    workspace = scenario.suite.workspace
    reached = [workspace.destinations[key] for key in scenario.destinations_of(step)]
    named = [d for d in reached if isinstance(expected, Mapping) and d.key in expected] or reached
    plain = [d.key for d in named if not d.transformation]
    if plain and len(plain) == len(named):
        so = "the output is just the input" if name == "user_transform" else "no code does anything"
        yield (name,), f"the destination {plain[0]!r} has no transformation: {so}"


def _dead_ends(scenario: Scenario, step: Step) -> Places:
    """Nothing ever reaches a disabled destination, so expecting nothing there proves nothing."""
    workspace = scenario.suite.workspace
    reached = [workspace.destinations[key] for key in scenario.destinations_of(step)]
    if not reached:
        yield (
            ("source",),
            f"the source {step.spec.source!r} has no destination: connect one, or use a `request` to test the response",
        )
        return
    if "dropped" in step.expect:  # states why nothing came
        return
    disabled = {d.key for d in reached if not d.enabled}
    text = "is disabled, so nothing ever reaches it: enable it, or expect the event in `dropped`"
    if disabled and len(disabled) == len(reached):
        yield ("expect", "delivered") if "delivered" in step.expect else (), f"the destination {min(disabled)!r} {text}"
    for name in _LISTS if len(disabled) < len(reached) else ():
        expected = step.expect.get(name)
        for key in sorted(disabled & expected.keys()) if isinstance(expected, Mapping) else ():
            yield ("expect", name, key), f"the destination {key!r} {text}"


def _unplanned(scenario: Scenario, step: Step) -> Places:
    """Without a tracking plan, there are never any violations."""
    workspace, source = scenario.suite.workspace, step.spec.source
    if "violations" not in step.expect or source is UNSET or workspace.plan_link(workspace.source(source)):
        return
    text = f"the source {source!r} has no tracking plan, so there are never violations: connect one in `trackingPlans`"
    yield ("expect", "violations"), text


def invariant_problems(written: Mapping[str, Json], destinations: Collection[str] = ()) -> Places:
    """Yield the mistakes in `never` and `always`."""
    for index, operand in enumerate(written.get("never", ())):
        place: Place = ("never", index)
        if operand in ("", {}, [], None):
            yield place, "this matches everything or nothing: write a value, {$regex: ...}, or {key: name}"
        elif isinstance(operand, Mapping) and operand.keys() == {"key"} and (wrong := _key_problem(operand["key"])):
            yield (*place, "key"), wrong
        elif isinstance(operand, Mapping) and (near := [name for name in operand if name in _NEAR_KEY]):
            yield (*place, near[0]), "the name of a member is searched with {key: NAME}, one in each line"
        yield from within(place, problems(operand))
    for stage, operand in written.get("always", {}).items():
        if operand in ({}, [], {"$absent": False}, {"$type": "object"}):  # it only applies to existing values
            yield ("always", stage), f"{json_line(operand)} always matches: write what it must have"
        yield from within(("always", stage), problems(operand))
        if stage in MEMBERS:
            yield from within(("always", stage), _members(stage, operand, destinations))


_NEAR_KEY = ("keys", "Key", "Keys", "KEY")


def _key_problem(key: Json) -> str:
    """Return why a key of `never` cannot be the name of a member, or an empty string."""
    if not isinstance(key, str) or not key:
        return "must be the name of a member"
    if "." in key.strip(".") and "$(" not in key:
        last = key.rpartition(".")[2]
        return f"{key!r} is a path, and members have one name: write {{key: {last}}}, which forbids it everywhere"
    if any(mark in key for mark in "*[]"):
        return f"{key!r} is a pattern, and the name of a member is exact: write one {{key: ...}} for each name"
    return ""


def claims_nothing(scenario: Scenario) -> str:
    """Return why a scenario cannot fail, if none of its steps expects anything; or an empty string."""
    if scenario.live is not None and scenario.live.verify is not None:
        return ""
    if any(
        _claims(step) or step.spec.generate is not UNSET or step.kind in ("delete", "python") for step in scenario.steps
    ):
        return ""
    if any("failed" in step.expect for step in scenario.steps):
        return "`failed: any` allows every failure, so this scenario cannot fail: add another expectation"
    return "a scenario that only captures cannot fail: add an expectation"


def _claims(step: Step) -> bool:
    return any(name != "capture" and (name, value) != ("failed", ANY) for name, value in step.expect.items())


def ignored_expectations(scenario: Scenario, written: Json) -> Places:
    """Yield expectations that `ignore`, of the scenario or the suite, excludes from the comparison."""
    for path in _leaves(written, ()) if scenario.ignore else ():
        for rule in scenario.ignore:
            if any(_fits(rule, path[:end]) for end in range(1, len(path) + 1)):
                text = f"{'.'.join(rule)!r} is ignored, so this is never compared: remove it here or from `ignore`"
                yield ("expect", *path), text
                break


def _leaves(written: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of all expected values in the file; members of a fixture are not checked."""
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
    """Return whether a rule matches the end of a path, not counting the names of matchers."""
    steps = [str(step) for step in path if not str(step).startswith("$")]
    end = steps[len(steps) - len(rule) :]
    return len(rule) <= len(steps) and all(r in ("*", step) for r, step in zip(rule, end, strict=True))
