"""An event on its way to one destination, its jobs there, and the outcome of an attempt."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from svctoolkit.causes import Cause
from svctoolkit.destinations import OutcomeKind
from svctoolkit.pipeline import Fate, HeldChanges
from svctoolkit.server.store.block import Block
from svctoolkit.transformations import Output

Status: TypeAlias = Literal["pending", "delivered", "filtered", "dropped", "failed", "dead", "unmapped"]


class Job(msgspec.Struct, eq=False):
    """A unit of work of the router: an event for it to transform, or a payload that the processor produced.

    `alone`: it must not share a request, because a batch that contained it was refused.
    """

    task: Task
    event: Mapping[str, Any]
    payload: Mapping[str, Any] | None = None
    alone: bool = False


class Task(msgspec.Struct, eq=False):
    """An event to deliver to one destination. Tasks of one `owner` are delivered in the order of their events.

    `jobs` are those still to be delivered, or None until the user transformation has run; `alone` applies to them.
    `failure` is the fate of jobs that are not retried. `first_at` is the time of the first attempt, and `age` the
    seconds from then to the end of the last one. `transformed` are the events after the user transformation, and
    `losses` the values of theirs that JSON cannot represent, as a fate has them. `change`
    is how a tracking plan changes the event: see `svctoolkit.plans.change_event`. `is_large`: its request was.
    `request` is the seq of the first event of its request, once the event is read. `output` is what the user's code
    made of the event, if it ran with the event's `siblings` before the event's own turn. `stage_times` has
    the milliseconds of its stages before the first request; what events share counts for each in equal parts.
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
    losses: Sequence[Mapping[str, Any]] | None = None
    change: Mapping[str, Any] | None = None
    is_large: bool = False
    request: int = 0
    siblings: Siblings | None = None
    output: Output | None = None
    stage_times: Mapping[str, float] | None = None


class Siblings(msgspec.Struct, eq=False):
    """The tasks of one request at one destination, in the order of their events. Calls of user code get them together.

    When a lane takes a task depends on timing; without this, so would the events that a batch function sees.
    `lock` is held while the code runs.
    """

    tasks: list[Task] = []
    lock: Lock = msgspec.field(default_factory=Lock)

    def part(self, task: Task, size: int) -> list[Task]:
        """Return the tasks that share a call of up to `size` events with `task`."""
        place = bisect_left(self.tasks, task.seq, key=lambda other: other.seq)
        begin = place // size * size
        return self.tasks[begin : begin + size]


def owner_of(user: str, anonymous: str) -> str:
    """Return the key for ordering. The anonymous id comes first, because a user keeps it after an identify."""
    return anonymous or user


class Exchange(Struct, frozen=True, eq=False):
    """One request with its answer: `data` is JSON of payload, request, response, headers, error, milliseconds.

    `tasks` are those whose events it carried, in the order of the batch; the destination `accepted` some of them.
    `attempt` is the attempt of the first one, and `part` numbers its requests.
    """

    tasks: Sequence[Task]
    attempt: int
    part: int
    status: int
    accepted: int
    at: float
    data: dict[str, Any]


class Outcome(Struct, frozen=True):
    """The outcome of an attempt for one event.

    With `again`, another attempt may help. `wait` is the Retry-After in seconds; `throttled`: the destination
    throttled the event. `attempted` is false if the event only waits for an earlier one of its user. `kind` is what
    the last answer means for the event, `exchange` the last request that carried it, and `place` its place in that
    request.
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
    """The requests of one part of a call, and the outcomes that are certain after them.

    `halfway`: an event has some of its requests and not the others. If the call stops here, all of them are sent again.
    `held` is what the requests and look-ups changed at a simulated server.
    """

    exchanges: Sequence[Exchange] = ()
    outcomes: Sequence[tuple[Task, Outcome]] = ()
    halfway: bool = False
    held: Sequence[HeldChanges] = ()


class Result(Struct, frozen=True):
    """A finished attempt: `retry_in` is the seconds to the next one, or None if there is none."""

    task: Task
    outcome: Outcome
    attempt: int
    retry_in: float | None


class Record(Struct, frozen=True):
    """What the store keeps of a step."""

    exchanges: Sequence[Exchange]
    results: Sequence[Result]
    held: Sequence[HeldChanges] = ()
