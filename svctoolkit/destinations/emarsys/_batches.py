"""Up to 1,000 contacts share a request that writes them or adds them to a list.

https://dev.emarsys.com/docs/core-api-reference
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Merge, Payload, Settings
from svctoolkit.destinations._batches import merge

_SIGNATURE = "X-WSSE"
_LIMIT = 1000
_MERGES = (Merge("contacts", limit=_LIMIT), Merge("external_ids", limit=_LIMIT))


def batch(jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
    """Merge contacts, and additions to lists, by key and list; triggers of programs are sent alone.

    A signature is valid for one request; a shared request has the signature of its first event.
    """
    signatures = {job.id: job.payloads[0].headers[_SIGNATURE] for job in jobs}
    for shared in merge([_request_job(job) for job in jobs], _MERGES):
        (payload,) = shared.payloads
        headers = {**payload["headers"], _SIGNATURE: signatures[shared.jobs[0]]}
        yield Batch(shared.jobs, ({**payload, "headers": headers},), batched=shared.batched)


def _request_job(job: MappedJob) -> MappedJob:
    return MappedJob(job.id, job.event, tuple(_request(payload) for payload in job.payloads), None, job.metadata)


def _request(payload: Payload) -> Payload:
    """Return the request to Emarsys without its signature, given the mapped payload of an event."""
    body = payload.json or {}
    inner = body["destinationPayload"]
    return msgspec.structs.replace(
        payload,
        method="PUT" if body["eventType"] == "identify" else payload.method,
        headers={name: value for name, value in payload.headers.items() if name != _SIGNATURE},
        json=inner if body["eventType"] == "identify" else inner["payload"],
    )
