"""Why a result differs: which events failed or were dropped, where, and the reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

import msgspec

from svctoolkit.causes import help_command
from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.mentions import MOST_FAILURES, Mentions
from svctoolkit.runner.attempts.shape import shape_results
from svctoolkit.runner.suite.checks.claims import ANY

_Place: TypeAlias = tuple[str, int]  # a destination, and the number of a failure there


class Cause(msgspec.Struct, frozen=True):
    """The end of an event that was not delivered: `fate` is failed, dead, filtered, dropped... in a `stage`.

    `rule` is the id of the broken rule, if it is known, and `help` the command that explains it.
    """

    destination: str
    fate: str
    stage: str
    reason: str
    rule: str = ""

    def __str__(self) -> str:
        return f"{self.destination}: {self.fate} in {self.stage}: {self.reason}"

    @property
    def help(self) -> str:
        """`svctoolkit docs RULE`, or an empty string without a rule."""
        return help_command(self.rule) if self.rule else ""


def causes(results: Mapping[str, Json]) -> list[Cause]:
    """Return all failures, then everything that was dropped, without duplicates; `results` are those of a plane."""
    records = [record for what in ("failed", "dropped") for of_key in results[what].values() for record in of_key]
    return list(dict.fromkeys(_cause(record) for record in records))


def _cause(record: Mapping[str, Any]) -> Cause:
    tries = record.get("attempts") or 0
    fate = f"dead after {tries} attempts" if record["fate"] == "dead" and tries > 1 else str(record["fate"])
    reason = record.get("error") or record.get("reason") or "unknown reason"
    rule = str(record["rule"]) if "rule" in record else ""
    return Cause(str(record["destination"]), fate, str(record["by"] or "delivery"), str(reason), rule)


def unexpected_failures(results: Mapping[str, Json], expected: Mapping[str, Json]) -> Iterator[Difference]:
    """Yield a difference for each failure (20 at most) that `failed` does not mention: by default nothing may fail.

    `failed: any` allows every failure; `$contains` or a map of destinations only allows the failures that match.
    """
    records: Mapping[str, list[Any]] = results["failed"]
    if expected.get("failed") == ANY or not any(records.values()):
        return
    failures: dict[Cause, list[_Place]] = defaultdict(list)
    for key, of_key in records.items():
        for index, record in enumerate(of_key):
            failures[_cause(record)].append((key, index))
    mentioned = {"failed": expected["failed"]} if "failed" in expected else {}

    def shape(other: list[Json], places: Container[_Place]) -> dict[str, Json]:
        """Return the results with other records in these places."""
        return shape_results({**results, "failed": _replace(records, other, places)}, mentioned)

    everything = {place for places in failures.values() for place in places}
    others: tuple[list[Json], ...] = ([], [{}])
    among = Mentions[_Place](mentioned, shape([], ()), lambda places: (shape(other, places) for other in others))
    alone = Mentions[_Place](mentioned, shape([], everything), lambda places: [shape([], everything - {*places})])
    unmentioned = (c for cause in among.unmentioned(failures) for c in alone.unmentioned({cause: failures[cause]}))
    yield from map(failure, islice(unmentioned, MOST_FAILURES))


def _replace(records: Mapping[str, list[Json]], other: list[Json], places: Container[_Place]) -> dict[str, list[Json]]:
    return {
        key: [new for n, record in enumerate(of_key) for new in (other if (key, n) in places else [record])]
        for key, of_key in records.items()
    }


def failure(cause: Cause) -> Difference:
    """Return the difference for a failure that the scenario does not mention."""
    return Difference(("failed",), ("failed",), "nothing to fail", str(cause), text=str(cause))
