"""Failures as expectations see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.causes import Cause, Refusal
from svctoolkit.json_types import Json


class Failed(dict[str, Any]):
    """A record or stage value that failed for a known cause.

    The members of the cause (`rule`; for a refusal also `field`, `setting`, `expected`) can be expected, but they are
    not listed, so that `$exact` only covers the record itself. A snapshot stores the cause instead of the wording.
    """

    def __init__(self, record: Mapping[str, Json], cause: Mapping[str, Json]) -> None:
        super().__init__(record)
        self.cause = cause

    def __contains__(self, name: object) -> bool:
        return name in self.cause or super().__contains__(name)

    def __missing__(self, name: str) -> Json:
        return self.cause[name]

    def without_wording(self) -> dict[str, Json]:
        """Return the members that stay the same when a message is reworded."""
        return {
            **{name: value for name, value in self.items() if name != "error"},
            **{name: value for name, value in self.cause.items() if name != "expected"},
        }


def with_cause(record: Mapping[str, Json], cause: Cause | None, rule: str) -> Mapping[str, Json]:
    """Return a record whose cause and broken rule can be expected as members."""
    if cause is None:
        return record
    members: dict[str, Json] = {"rule": rule}
    if isinstance(cause, Refusal):
        given = {"field": cause.field, "setting": cause.setting, "expected": cause.expected}
        members |= {name: value for name, value in given.items() if value}
    return Failed(record, members)
