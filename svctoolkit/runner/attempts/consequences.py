"""Keep the cause of a failed stage, and leave out the differences that only follow from it.

A stage that fails has an error in place of its value. Each of the expected members is then missing, and later stages
have nothing to work on: a snapshot alone yields a difference for every member. The cause explains all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from svctoolkit.expect.difference import Difference, Path
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.causes import Cause, failure
from svctoolkit.runner.attempts.stage_failures import ABORTED, DROPPED
from svctoolkit.runner.suite.results import STAGES

_OWN = ("error", "rule")  # the members of a failed value that a snapshot of a successful one does not have


def causes_first(
    differences: Sequence[Difference],
    results: Mapping[str, Json],
    causes: Sequence[Cause],
    destinations: Collection[str],
    target: str,
) -> list[Difference]:
    """Return the differences without those that follow from an unexpected failure, which comes first.

    `causes` are the failures of the step, `target` is the only destination or transformation, if there is one. A
    failure is unexpected if it is among the differences, or if a snapshot or an exact expectation has no failure in its
    place. Failures that the scenario expects otherwise are left alone.
    """
    values = list(_failed_values(results, destinations, target))
    if not values or not differences:
        return list(differences)
    known = {d.text for d in differences if d.path == ("failed",)}
    reported = [cause for cause in causes if str(cause) in known]
    first: list[Difference] = []
    for value in values:
        at_error = [d for d in differences if d.path in {(*value.path, name) for name in _OWN}]
        unexpected = any(d.expected.startswith("nothing") for d in at_error)
        # An aborted stage is itself a consequence, and a cause is reported once.
        if unexpected and value.reason not in ABORTED and not value.is_among(reported):
            cause = next((cause for cause in causes if value.is_among([cause])), value.cause())
            reported.append(cause)
            first.append(replace(failure(cause), expectation=at_error[0].expectation))
    failing = {value.destination for value in values if value.is_among(reported)}
    explained = [v.path for v in values if v.is_among(reported) or (v.reason in ABORTED and v.destination in failing)]
    lists = {path[:-1] for path in explained if isinstance(path[-1], int)}
    # If all values of a list failed, its length is a consequence, too.
    whole = {path for path in lists if all(v.path in explained for v in values if v.path[:-1] == path)}
    return first + [d for d in differences if d.path not in whole and not any(_is_below(d.path, p) for p in explained)]


class _FailedValue(msgspec.Struct, frozen=True):
    """A stage's value that consists of an error, at `path` in the results; `destination` if it is known."""

    path: Path
    reason: str
    destination: str

    def is_among(self, causes: Sequence[Cause]) -> bool:
        """Return whether one of the causes is the reason for this value."""
        return any(c.reason == self.reason and self.destination in ("", c.destination) for c in causes)

    def cause(self) -> Cause:
        """Return the cause of a value that the step does not report: a dropped event is not a failure."""
        return Cause(
            self.destination, "dropped" if self.reason == DROPPED else "failed", str(self.path[0]), self.reason
        )


def _failed_values(results: Mapping[str, Any], destinations: Collection[str], target: str) -> Iterator[_FailedValue]:
    """Yield the failed values of all stages: alone, in a list, or by destination."""
    for stage in STAGES:
        value: Any = results.get(stage)
        by_key = isinstance(value, Mapping) and bool(value) and value.keys() <= {*destinations}
        for key, inner in value.items() if by_key else [(target, value)]:
            path: Path = (stage, key) if by_key else (stage,)
            for number, item in enumerate(inner) if isinstance(inner, list) else [(None, inner)]:
                reason = item.get("error") if isinstance(item, Mapping) and len(item) == 1 else None
                if isinstance(reason, str):
                    yield _FailedValue(path if number is None else (*path, number), reason, key)


def _is_below(path: Path, other: Path) -> bool:
    return path[: len(other)] == other


def is_absence(difference: Difference) -> bool:
    """Return whether a request is missing, which follows from the failure of its event."""
    return difference.path[:1] in _ARRIVALS and difference.got.startswith(("nothing", "0", "[]"))


_ARRIVALS = (("delivered",), ("attempts",))
