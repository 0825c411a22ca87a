"""Shared requests for conversions of the same kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Payload, Settings

_LIMIT = 2000


def share(jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
    """Yield a request for up to 2,000 clicks or calls, and one for all store sales.

    Requests that have a job in common form one batch, because an event may be both a sale and a call.
    """
    groups: dict[str, list[tuple[Any, Payload]]] = {}
    for job in jobs:
        for payload in job.payloads:
            groups.setdefault(payload.endpoint, []).append((job.id, payload))
    results: list[tuple[dict[Any, None], list[Payload]]] = []
    for members in (chunk for group in groups.values() for chunk in _chunks(group)):
        ids, payloads = dict.fromkeys(id for id, _ in members), [_merge([payload for _, payload in members])]
        for other in [result for result in results if not result[0].keys().isdisjoint(ids)]:
            results.remove(other)
            ids, payloads = {**other[0], **ids}, other[1] + payloads
        results.append((ids, payloads))
    order = {job.id: number for number, job in enumerate(jobs)}
    for ids, payloads in results:
        yield Batch(
            tuple(sorted(ids, key=order.__getitem__)), tuple(payload.to_dict() for payload in payloads), batched=True
        )


def _chunks(group: list[tuple[Any, Payload]]) -> Iterator[list[tuple[Any, Payload]]]:
    limit = _LIMIT if "conversions" in (group[0][1].json or {}) else len(group)
    return (group[start : start + limit] for start in range(0, len(group), limit))


def _merge(payloads: Sequence[Payload]) -> Payload:
    """Return the first request with the conversions (or sales) of all."""
    bodies: list[Any] = [payload.json for payload in payloads]
    body = dict(bodies[0])
    if "conversions" in body:
        body["conversions"] = [conversion for own in bodies for conversion in own["conversions"]]
    else:
        sales = [own["addConversionPayload"]["operations"] for own in bodies]
        body["addConversionPayload"] = {**body["addConversionPayload"], "operations": sales}
    return msgspec.structs.replace(payloads[0], json=body)
