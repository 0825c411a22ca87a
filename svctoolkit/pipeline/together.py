"""The requests for many events as a data plane would send them, and why some events do not share one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from svctoolkit.delivery import Sender
from svctoolkit.destinations import Batch, Context
from svctoolkit.json_types import Json
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.run import run_many
from svctoolkit.pipeline.stages.stages import Stages
from svctoolkit.results import NO_TRANSFORMATION, EventResult, SharedRequests, error_of
from svctoolkit.workspace import Source

_MEMBERS = {
    "endpoint": "another address",
    "method": "another method",
    "headers": "other headers",
    "params": "other parameters",
}


def together(
    events: Sequence[Mapping[str, Json]],
    route: Route,
    jobs: int,
    sender: Sender,
    contexts: Sequence[Context],
    source: Source | None,
) -> Iterator[SharedRequests]:
    """Return the requests of the events at a destination, in calls of up to `jobs` jobs. Each event has a context."""
    if route.mapping is None:
        yield from (SharedRequests("refused", (n,), n, error=route.unmapped) for n in range(len(events)))
        return
    stages = Stages(dest_transform=not route.at_router)
    transformed = run_many(events, route, stages, sender, contexts, source)
    waiting: list[tuple[int, Mapping[str, Any]]] = []
    number = 0
    for place, results in enumerate(transformed):
        for result in results:
            error = error_of(result.user_transformed_payload)
            if error is not None and error != NO_TRANSFORMATION:
                yield SharedRequests("dropped" if result.dropped else "refused", (place,), number, error=error)
            elif not route.at_router:
                yield _of_processor(place, number, result)
            else:
                waiting.append((place, result.event if error else result.user_transformed_payload or {}))
                if len(waiting) == jobs:
                    yield from _call(waiting, route, contexts, number, jobs)
                    waiting, number = [], number + 1
        if not route.at_router:
            number += 1
    if waiting:
        yield from _call(waiting, route, contexts, number, jobs)


def _of_processor(place: int, number: int, result: EventResult) -> SharedRequests:
    error = error_of(result.dest_transformed_payload)
    if error is not None:
        return SharedRequests("refused", (place,), number, error=error)
    reason = "RudderStack makes its payloads in the processor, one event at a time" if place else ""
    return SharedRequests("sent", (place,), number, result.payloads, reason=reason)


def _call(
    jobs: Sequence[tuple[int, Mapping[str, Any]]], route: Route, given: Sequence[Context], number: int, size: int
) -> Iterator[SharedRequests]:
    assert route.mapping is not None  # noqa: S101 - guaranteed by the caller
    contexts = [_of_user(given[place], event) for place, event in jobs]
    numbered = [(job, event) for job, (_, event) in enumerate(jobs)]
    batches = sorted(route.mapping.batches(numbered, contexts), key=lambda batch: min(batch.jobs))
    earlier: list[Batch] = []
    for batch in batches:
        places = tuple(jobs[job][0] for job in batch.jobs)
        if batch.error is not None:
            yield SharedRequests("refused", places, number, error=route.masker.text(batch.error))
            continue
        payloads: Any = list(batch.payloads)
        reason = _reason(batch, earlier, route)
        if not earlier and number:
            reason = f"another call: each has {size} jobs"
        yield SharedRequests("sent", places, number, payloads, batched=batch.batched, reason=reason)
        earlier.append(batch)


def _of_user(context: Context, event: Mapping[str, Any]) -> Context:
    user = str(event.get("anonymousId") or event.get("userId") or "")
    return replace(context, metadata={**context.metadata, "userId": user})


def _reason(batch: Batch, earlier: Sequence[Batch], route: Route) -> str:
    """Return why a batch was not merged into an earlier one: how it differs from the most similar one."""
    if not earlier:
        return ""
    if not route.type.sharing:
        return "each event has its own request"
    return min((_difference(batch, other) for other in earlier), key=lambda difference: difference[0])[1]


def _difference(batch: Batch, other: Batch) -> tuple[int, str]:
    """Return how different two batches are, and in what way; 0 if only their items differ."""
    if len(batch.payloads) != len(other.payloads):
        return 5, f"it needs {len(batch.payloads)} requests, the others {len(other.payloads)}"
    for one, two in zip(batch.payloads, other.payloads, strict=True):
        for weight, (member, words) in enumerate(_MEMBERS.items()):
            if one.get(member) != two.get(member):
                detail = f": {str(one.get(member)).partition('?')[0]}" if member in ("endpoint", "method") else ""
                return 4 - weight, words + detail
    if len(batch.jobs) == 1 or len(other.jobs) == 1:
        return 0, "it is sent alone, or it must follow other events of its user"
    return 0, "the previous request is full, or merging would reorder its user's events"
