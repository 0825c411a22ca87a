"""Several objects share a request of up to 500 KB.

https://docs.customer.io/integrations/api/track/#operation/batch
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Merge, Payload, Settings
from svctoolkit.destinations._batches import merge

_PLACE = "/api/v2/batch"
_MERGES = (Merge("batch", wraps=True, size=500_000, at=_PLACE, batched=False, single=False),)


def batch(jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
    """Merge groups, sent to the US address wherever the account is; everything else is sent alone."""
    yield from merge([_address_job(job) for job in jobs], _MERGES)


def _address_job(job: MappedJob) -> MappedJob:
    return MappedJob(job.id, job.event, tuple(_address(payload) for payload in job.payloads), None, job.metadata)


def _address(payload: Payload) -> Payload:
    if not payload.endpoint.endswith(_PLACE):
        return payload
    headers = {**payload.headers, "Content-Type": "application/json"}
    return msgspec.structs.replace(payload, endpoint=f"https://track.customer.io{_PLACE}", headers=headers)
