"""Requests that differ only in their body are merged into one, with a list of the bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from svctoolkit.destinations import Batch, MappedJob
from svctoolkit.destinations._batches import alone, request_key
from svctoolkit.destinations.http._settings import HttpSettings


def batch(jobs: Sequence[MappedJob], settings: HttpSettings) -> Iterator[Batch]:
    """Merge up to `maxBatchSize` requests if `isBatchingEnabled`; requests with a non-JSON body are sent one by one."""
    if not settings.is_batching_enabled or settings.format != "JSON":
        yield from (alone(job) for job in jobs)
        return
    groups: dict[bytes, list[MappedJob]] = {}
    for job in jobs:
        groups.setdefault(request_key(job.payloads[0]), []).append(job)
    for members in groups.values():
        step = settings.max_batch_size
        yield from (_together(members[at : at + step]) for at in range(0, len(members), step))


def _together(jobs: Sequence[MappedJob]) -> Batch:
    """Return one request for several jobs. An event without a body (GET, DELETE) adds nothing to the list."""
    bodies = [job.payloads[0].json for job in jobs if job.payloads[0].json]
    payload = msgspec.structs.replace(jobs[0].payloads[0], json=None, json_array=bodies)
    return Batch(tuple(job.id for job in jobs), (payload.to_dict(),), batched=True)
