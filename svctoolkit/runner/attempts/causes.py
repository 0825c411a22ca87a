"""Why something else came than was expected: what became of the events, where, and the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.shape import is_keyed
from svctoolkit.runner.expect.compare import Difference
from svctoolkit.runner.suite.claims import ANY


@dataclass(frozen=True, slots=True)
class Cause:
    """An event's end that is not a delivery: `fate` is failed, dead, filtered, dropped... in a `stage`."""

    destination: str
    fate: str
    stage: str
    reason: str

    def __str__(self) -> str:
        return f"{self.destination}: {self.fate} in {self.stage}: {self.reason}"


def causes(results: Mapping[str, Json]) -> list[Cause]:
    """All that failed and then all that was left out, each once; `results` are those of a plane."""
    ends = [record for what in ("failed", "dropped") for records in results[what].values() for record in records]
    return list(dict.fromkeys(_cause(record) for record in ends))


def _cause(record: Mapping[str, Any]) -> Cause:
    tries = record.get("attempts") or 0
    fate = f"dead after {tries} attempts" if record["fate"] == "dead" and tries > 1 else str(record["fate"])
    reason = record.get("error") or record.get("reason") or "no reason is known"
    return Cause(str(record["destination"]), fate, str(record["by"] or "delivery"), str(reason))


def unexpected_failures(results: Mapping[str, Json], expected: Mapping[str, Json]) -> Iterator[Difference]:
    """A difference for each failure at a destination of which nothing is said: a scenario implies that nothing fails.

    `failed: any` allows every failure; a map of destinations says something of these only.
    """
    expectation = expected.get("failed")
    if expectation == ANY or ("failed" in expected and not is_keyed(expectation, results["failed"])):
        return
    for key, records in results["failed"].items():
        if expectation is None or key not in expectation:
            for cause in dict.fromkeys(map(_cause, records)):
                yield failure(cause)


def failure(cause: Cause) -> Difference:
    """That something failed of which nothing is said."""
    return Difference(("failed",), ("failed",), "nothing to fail", str(cause), text=str(cause))
