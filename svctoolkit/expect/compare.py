"""Compare results with expectations; every difference has its place in the expectation.

This is not `results.changes`: the sides are not alike. An expectation is a pattern, and its paths differ from those of
the value.

Objects match as subsets: every expected key must exist and match, other keys do not matter. Lists match element by
element. Numbers compare by value (`10` is `10.0`); true is not a number. A map whose keys are all names of matchers
(`{$regex: "^o-"}`) is evaluated by them; other `$` keys are ordinary keys (`expectation.problems` finds misspelt ones).
Ignored paths match at the end of a path, and `*` matches any one step; everything below them is ignored, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from svctoolkit.displayed import printable
from svctoolkit.errors import did_you_mean
from svctoolkit.expect.difference import Difference, Path
from svctoolkit.expect.headers import same_name
from svctoolkit.expect.matchers import MATCHERS, MISSING
from svctoolkit.expect.names import near_name
from svctoolkit.json_types import LEAVES, Json

_MOST_NUMBERS = 5  # unmatched elements that a message lists
_MOST_ALIGNED = 2500  # pairs of elements; each pair needs a comparison


class Snapshots(Protocol):
    """The source of the values that `$snapshot` expects."""

    def differences(self, name: str, actual: Json, comparison: Comparison) -> Iterator[Difference]:
        """Yield the differences from the snapshot for this place, or write it if an update was requested."""
        ...


def differences(
    expected: Json,
    actual: Json,
    *,
    ignore: tuple[tuple[str, ...], ...] = (),
    snapshots: Snapshots | None = None,
    hide: Callable[[str], str] = str,
) -> list[Difference]:
    """Return all differences between `actual` and `expected`; an empty list if they match.

    `hide` masks secrets in texts.

    >>> for found in differences({"body": {"revenue": 10}}, {"body": {"revenue": 11, "currency": "EUR"}}): print(found)
    body.revenue: expected 10, got 11
    >>> differences({"body": {"sent": 1}}, {"body": {"sent": 2}}, ignore=(("body", "sent"),))
    []
    """
    differing = Comparison(ignore=ignore, snapshots=snapshots).differences(expected, actual)
    return [difference.shorten(hide) for difference in differing]


class Comparison(msgspec.Struct, frozen=True):
    """A place in the expectation and in the value, and how strictly they are compared below it."""

    expectation: Path = ()
    path: Path = ()
    exact: bool = False
    literal: bool = False
    ignore: tuple[tuple[str, ...], ...] = ()
    snapshots: Snapshots | None = None
    siblings: Mapping[str, Any] = {}  # the matchers in the same map
    careful: bool = False  # `{}` as a member is an empty object: any object would prove nothing

    def stricter(self, *, exact: bool = False, literal: bool = False) -> Comparison:
        return replace(self, exact=self.exact or exact, literal=self.literal or literal)

    def member(self, name: str, *, exact: bool = False) -> Comparison:
        """Return the comparison of one member, in the expectation and in the value."""
        return replace(self._inner(name), exact=self.exact or exact)

    def at_element(self, index: int) -> Comparison:
        """Return the comparison with one element of a matcher's operand; the value stays the same."""
        return replace(self, expectation=(*self.expectation, index))

    def _inner(self, step: str | int) -> Comparison:
        return Comparison(
            (*self.expectation, step),
            (*self.path, step),
            self.exact,
            self.literal,
            self.ignore,
            self.snapshots,
            careful=self.careful,
        )

    def child(self, *steps: str | int) -> Comparison:
        """Return the comparison with a part of the value, at `steps`; the expectation stays the same."""
        return replace(self, path=(*self.path, *steps))

    def is_ignored(self) -> bool:
        """Return whether this place is not compared."""
        return any(
            len(rule) <= len(self.path)
            and all(r in ("*", str(p)) for r, p in zip(rule, self.path[len(self.path) - len(rule) :], strict=True))
            for rule in self.ignore
        )

    def matches(self, expected: Json, actual: Json) -> bool:
        return next(self.differences(expected, actual), None) is None

    def finds(self, expected: Json, actual: Json) -> bool:
        """Return whether `actual` is the wanted element: it matches, and not only because of ignored paths."""
        if not self.matches(expected, actual):
            return False
        if not self.ignore:
            return True
        # Replace every value: if the expectation still matches, it only looked at ignored paths.
        other = _hollowed(actual)
        return not self.matches(expected, other) or replace(self, ignore=()).matches(expected, other)

    def difference(self, expected: str, actual: Json, *, got: str = "") -> Difference:
        """Return a difference at this place; `expected` describes in words what was expected."""
        return Difference(self.expectation, self.path, expected, got or json_line(actual))

    def differences(self, expected: Json, actual: Json) -> Iterator[Difference]:
        """Yield the differences from this place on. `actual` may be `MISSING`."""
        if self.ignore and self.is_ignored():
            return
        if type(expected) in LEAVES:
            if not _same(expected, actual):
                yield Difference(self.expectation, self.path, json_line(expected), json_line(actual))
        elif isinstance(expected, Mapping):
            if not self.literal and is_matchers(expected):
                for name, operand in expected.items():
                    place = replace(self, expectation=(*self.expectation, name), siblings=expected)
                    yield from MATCHERS[name[1:]].differences(operand, actual, place)
            elif isinstance(actual, Mapping):
                yield from self._object(expected, actual)
            else:
                yield self.difference(json_line(expected), actual)
        elif isinstance(expected, list):
            if isinstance(actual, list):
                yield from self._list(expected, actual)
            else:
                yield self.difference(json_line(expected), actual)
        elif not _same(expected, actual):
            yield Difference(self.expectation, self.path, json_line(expected), json_line(actual))

    def _object(self, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[Difference]:
        for key, value in expected.items():
            if key in actual:
                if value == {} and self.careful and not self.exact and self._has_members(key, actual[key]):
                    got = f"{json_line(actual[key])}; write {{$type: object}} for any object"
                    yield self._inner(key).difference("an empty object", actual[key], got=got)
                else:
                    yield from self._inner(key).differences(value, actual[key])
                continue
            if _expects_absence(value) and (near := near_name(key, (name for name in actual if name not in expected))):
                got = f"nothing, but {near!r}: write {near}, or name both"
                yield self._inner(key).difference("nothing like it", MISSING, got=got)
                continue
            for difference in self._inner(key).differences(value, MISSING):
                # A misspelt key is the most common reason for a missing member.
                near = did_you_mean(key, list(actual)) if difference.got == "nothing" else ""
                yield replace(difference, got=f"nothing.{near}") if near else difference
        names = {same_name(actual, key) for key in expected} if self.exact else set()
        for key in [k for k in actual if k not in names] if self.exact else ():
            place = replace(self._inner(key), expectation=self.expectation)
            if not place.is_ignored():
                yield place.difference("nothing", actual[key])

    def _has_members(self, key: str, value: Any) -> bool:
        return bool(self.path) and isinstance(value, Mapping) and bool(value) and not self._inner(key).is_ignored()

    def _list(self, expected: list[Any], actual: list[Any]) -> Iterator[Difference]:
        pairs = list(zip(range(len(expected)), range(len(actual)), strict=False))
        if len(expected) != len(actual):
            # Quadratic, so long lists are compared by index.
            anchors = self._anchors(expected, actual) if len(expected) * len(actual) <= _MOST_ALIGNED else []
            pairs = _pairs_between(anchors, len(expected), len(actual)) if anchors else pairs
            odd = _unpaired([*anchors, *pairs], len(expected), len(actual)) if anchors else ""
            got = f"{len(actual)}{odd}: {json_line(actual)}"
            yield self.difference(_elements(expected), actual, got=got)
        for index, other in pairs:
            place = replace(self._inner(index), path=(*self.path, other))
            yield from place.differences(expected[index], actual[other])

    def _anchors(self, expected: list[Any], actual: list[Any]) -> list[tuple[int, int]]:
        """Return the longest sequence of matching pairs, in order."""
        best: list[list[tuple[tuple[int, int], ...]]] = [[()] * (len(actual) + 1) for _ in range(len(expected) + 1)]
        for i in reversed(range(len(expected))):
            for j in reversed(range(len(actual))):
                longest = max(best[i + 1][j], best[i][j + 1], key=len)
                if len(best[i + 1][j + 1]) >= len(longest) and self.matches(expected[i], actual[j]):
                    longest = ((i, j), *best[i + 1][j + 1])
                best[i][j] = longest
        return list(best[0][0])


def _expects_absence(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) == 1 and value.get("$absent") is True


def _hollowed(value: Json) -> Json:
    """Return a value of the same shape in which every other value is replaced."""
    if isinstance(value, dict):
        return {key: _hollowed(inner) for key, inner in value.items()}
    return [_hollowed(inner) for inner in value] if isinstance(value, list) else {"\N{REPLACEMENT CHARACTER}": None}


def is_matchers(value: Mapping[Json, Json]) -> bool:
    """Return whether an expected map consists of matchers: it has keys, and each names a matcher."""
    for key in value:
        if not (isinstance(key, str) and key[:1] == "$" and key[1:] in MATCHERS):
            return False
    return bool(value)


def json_line(value: Json) -> str:
    """Return a value as JSON on one line."""
    if value is MISSING:
        return "nothing"
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
    except RecursionError:
        return "a value that is nested too deep to show"
    return printable(text)


def _elements(expected: list[Any]) -> str:
    return f"{len(expected)} element{'' if len(expected) == 1 else 's'}"


def _pairs_between(anchors: list[tuple[int, int]], expected: int, actual: int) -> list[tuple[int, int]]:
    """Return the pairs of elements to compare between the matching pairs (the anchors) of two lists.

    Comparing by index alone would report every element after a missing one as different.
    """
    pairs: list[tuple[int, int]] = []
    done = other_done = 0
    for index, other in [*anchors, (expected, actual)]:
        if index - done == other - other_done:  # equal numbers on both sides pair up in order
            pairs += zip(range(done, index), range(other_done, other), strict=True)
        done, other_done = index + 1, other + 1
    return pairs


def _unpaired(pairs: list[tuple[int, int]], expected: int, actual: int) -> str:
    """Return the numbers, from 0, of the elements without a partner in the other list."""
    fewer = sorted({*range(expected)} - {index for index, _ in pairs})
    more = sorted({*range(actual)} - {other for _, other in pairs})
    lists = ((more, "unexpected: element"), (fewer, "missing: expected element"))
    return f" ({'; '.join(f'{what} {_numbers(those)}' for those, what in lists if those)})"


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:_MOST_NUMBERS])) + (", …" if len(numbers) > _MOST_NUMBERS else "")


def _same(expected: Any, actual: Any) -> bool:
    # In Python, `True == 1`; in JSON they are different.
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return bool(expected == actual)
