"""An event on its way to one destination, and what an attempt to bring it there came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from svctoolkit.server.store.block import Block

Status: TypeAlias = Literal["pending", "delivered", "filtered", "dropped", "failed", "dead"]


@dataclass(slots=True)
class Task:
    """An event that a destination is to get. Tasks of one `owner` are delivered in the order of their events.

    `unsent` are the payloads that an earlier attempt could not deliver, `failure` is what the destination said of
    payloads that nobody sends again, `first_at` is the time of the first attempt and `age` how many seconds after that
    the last one ended, `transformed` are the events after the user transformation.
    """

    seq: int
    source: str
    run: str
    owner: str
    user: str
    type: str
    name: str
    attempts: int = 0
    first_at: float | None = None
    age: float = 0.0
    block: Block | None = None
    unsent: list[Mapping[str, Any]] = field(default_factory=list)
    failure: str = ""
    transformed: Sequence[Mapping[str, Any]] | None = None


def owner_of(user: str, anonymous: str) -> str:
    """Whose events keep their order. The anonymous id comes first: a user keeps it after an identify."""
    return anonymous or user


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of an attempt, as JSON: payload, request, response, headers, error, milliseconds."""

    part: int
    status: int
    at: float
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt came to. With `again` another attempt may help; `wait` are the seconds that Retry-After says.

    `throttled`: the destination itself has put it off, with 408 or 429.
    """

    status: Status
    by: str = ""
    reason: str = ""
    again: bool = False
    wait: float | None = None
    exchanges: Sequence[Exchange] = ()
    throttled: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """An attempt that is over: `retry_in` seconds to the next one, or None if there is none."""

    task: Task
    outcome: Outcome
    attempt: int
    retry_in: float | None
