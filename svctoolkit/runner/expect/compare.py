"""What came against what was expected: every difference, each with its place in the expectation.

Objects match as subsets: every key that is expected must be there and match, others do not matter. Lists match element
by element. Numbers compare by value (`10` is `10.0`), true is no number. A map whose keys are all names of matchers
(`{$regex: "^o-"}`) is matched by them; other `$` keys are keys (`expectation.problems` finds misspelt ones). Paths to
ignore match at the end of a path, `*` any one step of it; what is below them is ignored, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import LEAVES, Json
from svctoolkit.runner.expect.difference import Difference, Path
from svctoolkit.runner.expect.headers import same_name
from svctoolkit.runner.expect.matchers import MATCHERS, MISSING

_MOST_NUMBERS = 5  # of elements that are told
_MOST_ALIGNED = 2500  # pairs of elements: each is a comparison


class Snapshots(Protocol):
    """Where `$snapshot` finds what is expected."""

    def differences(self, name: str, actual: Json, comparison: Comparison) -> Iterator[Difference]:
        """What differs from the snapshot for this place; it is written instead where that was asked for."""
        ...


def differences(
    expected: Json,
    actual: Json,
    *,
    ignore: tuple[tuple[str, ...], ...] = (),
    snapshots: Snapshots | None = None,
    hide: Callable[[str], str] = str,
) -> list[Difference]:
    """Everything in which `actual` does not match `expected`; an empty list if it does. `hide` masks secrets in texts.

    >>> for found in differences({"body": {"revenue": 10}}, {"body": {"revenue": 11, "currency": "EUR"}}): print(found)
    body.revenue: expected 10, got 11
    >>> differences({"body": {"sent": 1}}, {"body": {"sent": 2}}, ignore=(("body", "sent"),))
    []
    """
    differing = Comparison(ignore=ignore, snapshots=snapshots).differences(expected, actual)
    return [difference.shorten(hide) for difference in differing]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A place in the expectation and in the value, and how strictly they are compared from here on."""

    expectation: Path = ()
    path: Path = ()
    exact: bool = False
    literal: bool = False
    ignore: tuple[tuple[str, ...], ...] = ()
    snapshots: Snapshots | None = field(default=None, repr=False)
    siblings: Mapping[str, Any] = field(default_factory=dict, repr=False)  # the matcher with those next to it

    def stricter(self, *, exact: bool = False, literal: bool = False) -> Comparison:
        return replace(self, exact=self.exact or exact, literal=self.literal or literal)

    def member(self, name: str, *, exact: bool = False) -> Comparison:
        """The place of what stands under one name, in the expectation and in the value."""
        return replace(self._inner(name), exact=self.exact or exact)

    def at_element(self, index: int) -> Comparison:
        """The place of one element of a matcher's operand; the value stays the same."""
        return replace(self, expectation=(*self.expectation, index))

    def _inner(self, step: str | int) -> Comparison:
        return Comparison(
            (*self.expectation, step), (*self.path, step), self.exact, self.literal, self.ignore, self.snapshots
        )

    def child(self, *steps: str | int) -> Comparison:
        """The place of a part of the value, named by `steps`; the expectation stays the same."""
        return replace(self, path=(*self.path, *steps))

    def is_ignored(self) -> bool:
        """Whether this place is not compared."""
        return any(
            len(rule) <= len(self.path)
            and all(r in ("*", str(p)) for r, p in zip(rule, self.path[len(self.path) - len(rule) :], strict=True))
            for rule in self.ignore
        )

    def matches(self, expected: Json, actual: Json) -> bool:
        return next(self.differences(expected, actual), None) is None

    def finds(self, expected: Json, actual: Json) -> bool:
        """Whether this is what is looked for among others: it matches, and not for what is ignored alone."""
        if not self.matches(expected, actual):
            return False
        if not self.ignore:
            return True
        other = _hollowed(actual)
        return not self.matches(expected, other) or replace(self, ignore=()).matches(expected, other)

    def difference(self, expected: str, actual: Json, *, got: str = "") -> Difference:
        """That something else was expected here; `expected` says what, in words."""
        return Difference(self.expectation, self.path, expected, got or json_line(actual))

    def differences(self, expected: Json, actual: Json) -> Iterator[Difference]:
        """What differs from here on. `actual` may be `MISSING`."""
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
                yield from self._inner(key).differences(value, actual[key])
                continue
            for difference in self._inner(key).differences(value, MISSING):
                near = did_you_mean(key, list(actual)) if difference.got == "nothing" else ""
                yield replace(difference, got=f"nothing.{near}") if near else difference
        names = {same_name(actual, key) for key in expected} if self.exact else set()
        for key in [k for k in actual if k not in names] if self.exact else ():
            place = replace(self._inner(key), expectation=self.expectation)
            if not place.is_ignored():
                yield place.difference("nothing", actual[key])

    def _list(self, expected: list[Any], actual: list[Any]) -> Iterator[Difference]:
        pairs = list(zip(range(len(expected)), range(len(actual)), strict=False))
        if len(expected) != len(actual):
            anchors = self._anchors(expected, actual) if len(expected) * len(actual) <= _MOST_ALIGNED else []
            pairs = _pairs_between(anchors, len(expected), len(actual)) if anchors else pairs
            odd = _unpaired([*anchors, *pairs], len(expected), len(actual)) if anchors else ""
            got = f"{len(actual)}{odd}: {json_line(actual)}"
            yield self.difference(_elements(expected), actual, got=got)
        for index, other in pairs:
            place = replace(self._inner(index), path=(*self.path, other))
            yield from place.differences(expected[index], actual[other])

    def _anchors(self, expected: list[Any], actual: list[Any]) -> list[tuple[int, int]]:
        """The longest sequence of pairs that match, in order."""
        best: list[list[tuple[tuple[int, int], ...]]] = [[()] * (len(actual) + 1) for _ in range(len(expected) + 1)]
        for i in reversed(range(len(expected))):
            for j in reversed(range(len(actual))):
                longest = max(best[i + 1][j], best[i][j + 1], key=len)
                if len(best[i + 1][j + 1]) >= len(longest) and self.matches(expected[i], actual[j]):
                    longest = ((i, j), *best[i + 1][j + 1])
                best[i][j] = longest
        return list(best[0][0])


def _hollowed(value: Json) -> Json:
    """A value of the same shape in which nothing else is as it was."""
    if isinstance(value, dict):
        return {key: _hollowed(inner) for key, inner in value.items()}
    return [_hollowed(inner) for inner in value] if isinstance(value, list) else {"\N{REPLACEMENT CHARACTER}": None}


def is_matchers(value: Mapping[Json, Json]) -> bool:
    """Whether an expected map is matched by matchers: it has keys, and each names one."""
    for key in value:
        if not (isinstance(key, str) and key[:1] == "$" and key[1:] in MATCHERS):
            return False
    return bool(value)


def printable(text: str) -> str:
    """Control characters but line ends as escapes: what a destination answers must not steer the terminal."""
    if text.isprintable():  # nearly all are, and long ones come by the hundred
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def json_line(value: Json) -> str:
    """A value on one line, as JSON."""
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
    """Which other elements of lists of such lengths are compared, where those that match anchor the rest between them.

    With one element missing at the front, the rest would all differ from their neighbours and nothing be learnt.
    """
    pairs: list[tuple[int, int]] = []
    done = other_done = 0
    for index, other in [*anchors, (expected, actual)]:
        if index - done == other - other_done:  # as many on both sides: they are each other's
            pairs += zip(range(done, index), range(other_done, other), strict=True)
        done, other_done = index + 1, other + 1
    return pairs


def _unpaired(pairs: list[tuple[int, int]], expected: int, actual: int) -> str:
    """Which elements have no partner in the other list, each by its number from 0."""
    fewer = sorted({*range(expected)} - {index for index, _ in pairs})
    more = sorted({*range(actual)} - {other for _, other in pairs})
    lists = ((more, "unexpected: element"), (fewer, "missing: expected element"))
    return f" ({'; '.join(f'{what} {_numbers(those)}' for those, what in lists if those)})"


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:_MOST_NUMBERS])) + (", …" if len(numbers) > _MOST_NUMBERS else "")


def _same(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return bool(expected == actual)
