"""Iterable accepts many events, users or catalog documents per request (https://api.iterable.com/api/docs)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Merge, Payload, Settings
from svctoolkit.destinations._batches import alone, chunks, merge, request_key

_LIMIT, _BYTES = 1000, 4_000_000
_MERGES = (
    Merge("events", wraps=True, limit=_LIMIT, size=_BYTES, at="/events/track", to="/events/trackBulk"),
    Merge("users", wraps=True, limit=_LIMIT, size=_BYTES, at="/users/update", to="/users/bulkUpdate"),
)


def batch(jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
    """Batch events, users and documents separately; purchases and aliases are sent one by one.

    The tokens of the users' devices are registered after the shared request, in the same result.
    """
    catalogues: dict[bytes, list[MappedJob]] = {}
    devices: dict[Any, tuple[Payload, ...]] = {}
    others: list[MappedJob] = []
    for job in jobs:
        if any(payload.endpoint.endswith("/users/updateEmail") for payload in job.payloads):
            yield alone(job)
        elif len(job.payloads) > 1:  # a user and the token of a device
            devices[job.id] = job.payloads[1:]
            others.append(msgspec.structs.replace(job, payloads=job.payloads[:1]))
        elif len(job.payloads) == 1 and "documents" in (job.payloads[0].json or {}):
            catalogues.setdefault(request_key(job.payloads[0]), []).append(job)
        else:
            others.append(job)
    for shared in merge(others, _MERGES):
        tokens = tuple(payload.to_dict() for job in shared.jobs for payload in devices.get(job, ()))
        yield msgspec.structs.replace(shared, payloads=shared.payloads + tokens) if tokens else shared
    for members in catalogues.values():
        yield from (_together(chunk) for chunk in chunks(members, _LIMIT, _BYTES, lambda job: [_documents(job)]))


def _documents(job: MappedJob) -> dict[str, Any]:
    documents: dict[str, Any] = (job.payloads[0].json or {})["documents"]
    return documents


def _together(jobs: Sequence[MappedJob]) -> Batch:
    documents = {name: document for job in jobs for name, document in _documents(job).items()}
    first = jobs[0].payloads[0]
    payload = msgspec.structs.replace(first, json={**(first.json or {}), "documents": documents})
    return Batch(tuple(job.id for job in jobs), (payload.to_dict(),), batched=True)
