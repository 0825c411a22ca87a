"""An event on its way to one destination, the jobs that it is there, and what an attempt with them came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from svctoolkit.causes import Cause
from svctoolkit.destinations import OutcomeKind
from svctoolkit.pipeline import Fate
from svctoolkit.server.store.block import Block

Status: TypeAlias = Literal["pending", "delivered", "filtered", "dropped", "failed", "dead", "unmapped"]


@dataclass(slots=True, eq=False)
class Job:
    """What the router delivers of an event: an event for it to transform, or a payload that the processor has made.

    `alone`: it must share no request, because a batch with it was refused.
    """

    task: Task
    event: Mapping[str, Any]
    payload: Mapping[str, Any] | None = None
    alone: bool = False


@dataclass(slots=True, eq=False)
class Task:
    """An event that a destination is to get. Tasks of one `owner` are delivered in the order of their events.

    `jobs` are what is still to be delivered of it, None until the user transformation has run; `alone` holds for those.
    `failure` is the fate of jobs that are not sent again, `first_at` is the time of the first attempt and
    `age` how many seconds after that the last one ended, `transformed` are the events after the user transformation,
    `change` is what a tracking plan makes of the event: `svctoolkit.plans.change_event`.
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
    alone: bool = False
    jobs: list[Job] | None = None
    failure: Fate | None = None
    transformed: Sequence[Mapping[str, Any]] | None = None
    change: Mapping[str, Any] | None = None


def owner_of(user: str, anonymous: str) -> str:
    """Whose events keep their order. The anonymous id comes first: a user keeps it after an identify."""
    return anonymous or user


class Exchange(Struct, frozen=True, eq=False):
    """One request with its answer: `data` is JSON of payload, request, response, headers, error, milliseconds.

    `tasks` are those whose events it carried, in the order of the batch; `attempt` is that of the first, and `part`
    numbers its requests.
    """

    tasks: Sequence[Task]
    attempt: int
    part: int
    status: int
    at: float
    data: dict[str, Any]


class Outcome(Struct, frozen=True):
    """What an attempt came to for one event.

    With `again` another attempt may help; `wait` are the seconds that Retry-After says; `throttled`: the destination
    itself has put it off. `attempted` is false where the event only waits for an earlier one of its user. `kind` is
    what the last answer means for it, `exchange` the last request that carried it, and `place` its place in that.
    """

    status: Status
    by: str = ""
    reason: str = ""
    cause: Cause | None = None
    again: bool = False
    wait: float | None = None
    throttled: bool = False
    attempted: bool = True
    kind: OutcomeKind | Literal[""] = ""
    exchange: Exchange | None = None
    place: int = 0


class Step(Struct, frozen=True):
    """What a call has done at once: requests that were made, and the outcomes that are certain with them.

    `halfway`: an event has some of its requests and not the others. Who stops here sends it those again.
    """

    exchanges: Sequence[Exchange] = ()
    outcomes: Sequence[tuple[Task, Outcome]] = ()
    halfway: bool = False


class Result(Struct, frozen=True):
    """An attempt that is over: `retry_in` seconds to the next one, or None if there is none."""

    task: Task
    outcome: Outcome
    attempt: int
    retry_in: float | None


class Record(Struct, frozen=True):
    """What the store is to keep of a step."""

    exchanges: Sequence[Exchange]
    results: Sequence[Result]
