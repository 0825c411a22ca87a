"""Whether an expectation mentions a failure: only if the result of the comparison changes without that failure.

An expectation of a failure's reason or status mentions it; `{}`, `$type: object`, or the error of another stage does
not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MISSING
from svctoolkit.json_types import Json

#: A reason and a status that cannot be expected: an expectation that matches them, too, does not mention the failure.
OTHER_REASON: Final = "another reason \N{REPLACEMENT CHARACTER}"
OTHER_STATUS: Final = 598
#: The members that distinguish one failure from another.
_OWN = {"error", "rule", "field", "setting", "status", "by", "fate", "message"}

#: Failures that are reported at most: each needs a comparison of everything, and the first one fails the scenario.
MOST_FAILURES: Final = 20

T = TypeVar("T")
Key = TypeVar("Key")


class Mentions(Generic[T]):
    """Decide which failures `expected` mentions.

    `variants(failures)` returns the results without these failures, and with others in their place (or, if `results`
    have no failures, with only these).
    """

    def __init__(
        self,
        expected: Mapping[str, Json],
        results: Mapping[str, Json],
        variants: Callable[[Sequence[T]], Iterable[Mapping[str, Json]]],
    ) -> None:
        self._expected, self._variants = expected, variants
        # Computed once: every failure is compared with this.
        self._now = self._differing(results)

    def unmentioned(self, failures: Mapping[Key, Sequence[T]]) -> Iterator[Key]:
        """Yield the keys of the failures that are not mentioned.

        Failures with the same key are alike: `$contains` covers all of them.
        """
        for key, alike in failures.items():
            mentioned = [self._is_mentioned([failure]) for failure in alike]
            # A list without `$contains` mentions only all alike failures together: removing one already changes the
            # number.
            if not all(mentioned) and (any(mentioned) or not self._is_mentioned(alike)):
                yield key

    def _is_mentioned(self, failures: Sequence[T]) -> bool:
        return any(self._differing(results) != self._now for results in self._variants(failures))

    def _differing(self, results: Mapping[str, Any]) -> set[tuple[Any, ...]]:
        """Return where the expectation fails; with the text if the value is a failure's own member, or a number."""
        comparison = Comparison(snapshots=_Whole())
        return {
            (d.expectation, d.path, str(d) if {*d.path[-1:]} & _OWN or "$length" in d.expectation[-1:] else "")
            for name, expectation in self._expected.items()
            if name != "capture"
            for d in comparison.member(name).differences(expectation, results.get(name, MISSING))
        }


class _Whole:
    """A stand-in for snapshots: a snapshot covers the entire value."""

    def differences(self, name: str, actual: Json, comparison: Comparison) -> Iterator[Difference]:  # noqa: ARG002
        yield Difference(comparison.expectation, (*comparison.path, json_line(actual)), "", "")


def with_value(value: Json, path: Sequence[str | int], new: Json) -> Json:
    """Return a copy of `value` with `new` at `path`; `MISSING` removes the member."""
    if not path:
        return new
    step = path[0]
    items = list(value) if isinstance(value, list) else dict(value)
    inner = with_value(items[step], path[1:], new)  # type: ignore[index]
    if inner is MISSING:
        del items[step]  # type: ignore[arg-type]
    else:
        items[step] = inner  # type: ignore[index]
    return items
