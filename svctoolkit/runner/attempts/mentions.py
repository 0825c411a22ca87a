"""Whether an expectation says something of a failure: only if it would not hold all the same without it.

What names a failure's reason or status does; `{}`, `$type: object`, or the error of another stage does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from svctoolkit.json_types import Json
from svctoolkit.runner.expect.compare import Comparison, json_line
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.expect.matchers import MISSING

#: A reason and a status that nobody expects: what holds with them, too, says nothing of the failure.
OTHER_REASON: Final = "another reason \N{REPLACEMENT CHARACTER}"
OTHER_STATUS: Final = 598
#: Where a failure that is expected differs from the one that came.
_OWN = {"error", "rule", "field", "setting", "status", "by", "fate", "message"}

#: Failures that are told. Each is asked about by comparing everything anew, and a scenario fails for the first already.
MOST_FAILURES: Final = 20

T = TypeVar("T")
Key = TypeVar("Key")


class Mentions(Generic[T]):
    """Asks of failures whether `expected` says something of them.

    `variants(failures)` gives the results as they would be without these failures, or with others in their place (or,
    where `results` have none, with these alone).
    """

    def __init__(
        self,
        expected: Mapping[str, Json],
        results: Mapping[str, Json],
        variants: Callable[[Sequence[T]], Iterable[Mapping[str, Json]]],
    ) -> None:
        self._expected, self._variants = expected, variants
        self._now = self._differing(results)

    def unmentioned(self, failures: Mapping[Key, Sequence[T]]) -> Iterator[Key]:
        """The keys of those of which nothing is said. Failures under one key are alike: `$contains` is about all."""
        for key, alike in failures.items():
            said = [self._is_mentioned([failure]) for failure in alike]
            if not all(said) and (any(said) or not self._is_mentioned(alike)):
                yield key

    def _is_mentioned(self, failures: Sequence[T]) -> bool:
        return any(self._differing(results) != self._now for results in self._variants(failures))

    def _differing(self, results: Mapping[str, Any]) -> set[tuple[Any, ...]]:
        """Where the expectation does not hold; and what came there, if that is a failure's own member, or a number."""
        comparison = Comparison(snapshots=_Whole())
        return {
            (d.expectation, d.path, str(d) if {*d.path[-1:]} & _OWN or "$length" in d.expectation[-1:] else "")
            for name, wanted in self._expected.items()
            if name != "capture"
            for d in comparison.member(name).differences(wanted, results.get(name, MISSING))
        }


class _Whole:
    """Stands for snapshots: one is about all that there is."""

    def differences(self, name: str, actual: Json, comparison: Comparison) -> Iterator[Difference]:  # noqa: ARG002
        yield Difference(comparison.expectation, (*comparison.path, json_line(actual)), "", "")


def with_value(value: Json, path: Sequence[str | int], new: Json) -> Json:
    """A copy of `value` with `new` at `path`, or nothing there where `new` is `MISSING`."""
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
