"""Emarsys takes up to 1,000 contacts in a request, to write or to put on a list.

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
    """Contacts by their key and list, those to be put on a list by key and list; each trigger of a program alone.

    A signature is good for one request: a shared one has that of its first event.
    """
    signatures = {job.id: job.payloads[0].headers[_SIGNATURE] for job in jobs}
    for shared in merge([_request_job(job) for job in jobs], _MERGES):
        (payload,) = shared.payloads
        headers = {**payload["headers"], _SIGNATURE: signatures[shared.jobs[0]]}
        yield Batch(shared.jobs, ({**payload, "headers": headers},), batched=shared.batched)


def _request_job(job: MappedJob) -> MappedJob:
    return MappedJob(job.id, job.event, tuple(_request(payload) for payload in job.payloads), None, job.metadata)


def _request(payload: Payload) -> Payload:
    """The request that Emarsys takes, without its signature, of an event as the mapping shows it."""
    body = payload.json or {}
    inner = body["destinationPayload"]
    return msgspec.structs.replace(
        payload,
        method="PUT" if body["eventType"] == "identify" else payload.method,
        headers={name: value for name, value in payload.headers.items() if name != _SIGNATURE},
        json=inner if body["eventType"] == "identify" else inner["payload"],
    )
