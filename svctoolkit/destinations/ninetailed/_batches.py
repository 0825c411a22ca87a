"""Ninetailed accepts many events per request. RudderStack sets the JSON content type only on these batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Merge, Payload, Settings
from svctoolkit.destinations._batches import merge

_MERGES = (Merge("events", limit=200),)


def batch(jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
    """Batch all events, up to 200 per request."""
    yield from merge([_set_type_of_job(job) for job in jobs], _MERGES)


def _set_type_of_job(job: MappedJob) -> MappedJob:
    return MappedJob(
        job.id, job.event, tuple(_set_type(payload) for payload in job.payloads), job.refusal, job.metadata
    )


def _set_type(payload: Payload) -> Payload:
    return msgspec.structs.replace(payload, headers={"Content-Type": "application/json"})
