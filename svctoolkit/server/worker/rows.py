"""What the store keeps of attempts: the fates of their events, and their requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from svctoolkit.causes import cause_to_json
from svctoolkit.lexical import storable
from svctoolkit.server.store.record import time_of
from svctoolkit.server.store.schema import Delivery, Fate
from svctoolkit.server.store.work import SentRequest
from svctoolkit.server.worker.backoff import Backoff
from svctoolkit.server.worker.task import Exchange, Outcome, Record, Result, Task


def result_of(task: Task, outcome: Outcome, backoff: Backoff, pauses: dict[tuple[int, float | None], float]) -> Result:
    """Count an attempt, and return its outcome with the pause after it.

    Tasks that failed together get the same pause: `pauses` has those of one step.
    """
    if not outcome.attempted:
        return Result(task, outcome, task.attempts, 0.0)
    task.attempts += 1
    if not outcome.again or backoff.gives_up(task.attempts, task.age, throttled=outcome.throttled):
        return Result(task, outcome, task.attempts, None)
    key = task.attempts, outcome.wait
    if key not in pauses:
        pauses[key] = backoff.pause(*key)
    return Result(task, outcome, task.attempts, pauses[key])


def rows_of(
    records: Sequence[Record], destination: str, type: str, at: datetime, first: int = 0
) -> tuple[list[Fate], list[SentRequest]]:
    """Return the fates and the requests of attempts.

    The `delivery` of a fate is the place of its request; the first request has the place `first`.
    """
    exchanges = [exchange for record in records for exchange in record.exchanges]
    places = {exchange: place for place, exchange in enumerate(exchanges, first)}
    fates = [fate_of(result, destination, type, at, places) for record in records for result in record.results]
    return fates, [request_of(exchange, destination) for exchange in exchanges]


def numbered(requests: Sequence[SentRequest], numbers: Sequence[int]) -> list[Delivery]:
    """Return the requests with the numbers that they have in the store."""
    return [replace(request.delivery, number=own) for request, own in zip(requests, numbers, strict=True)]


def fate_of(result: Result, destination: str, type: str, at: datetime, places: Mapping[Exchange, int]) -> Fate:
    task, outcome = result.task, result.outcome
    cause = outcome.cause
    dead = outcome.again and result.retry_in is None
    return Fate(
        seq=task.seq,
        type=task.type,
        name=task.name,
        source=task.source,
        destination=destination,
        status="dead" if dead else outcome.status,
        by=outcome.by,
        reason=storable(outcome.reason),
        attempts=result.attempt,
        run=task.run,
        at=at,
        transformed=task.transformed,
        losses=task.losses,
        retry_in=round(result.retry_in, 3) if result.retry_in is not None and outcome.attempted else None,
        rule=cause.rule(type) if cause else "",
        cause=cause_to_json(cause) if cause else None,
        outcome=outcome.kind,
        delivery=places.get(outcome.exchange) if outcome.exchange else None,
        place=outcome.place if outcome.exchange else None,
        since=task.first_at,
        alone=any(job.alone for job in task.jobs or ()),
        user=task.user,
    )


def request_of(exchange: Exchange, destination: str) -> SentRequest:
    """Return the delivery record of a request. It gets its number when it is stored."""
    first, seqs, data = exchange.tasks[0], [task.seq for task in exchange.tasks], exchange.data
    delivery = Delivery(
        seq=first.seq,
        destination=destination,
        run=first.run,
        attempt=exchange.attempt,
        part=exchange.part,
        status=exchange.status,
        at=time_of(exchange.at),
        payload=data["payload"],
        sent=data["request"],
        response=data["response"],
        headers=data["headers"],
        error=data["error"],
        milliseconds=data["milliseconds"],
        carries=len(seqs),
        accepted=exchange.accepted,
        type=first.type,
        name=first.name,
        user=first.user,
    )
    return SentRequest(delivery, seqs)
