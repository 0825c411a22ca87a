"""SendGrid accepts many contacts per request, all for the same lists.

https://www.twilio.com/docs/sendgrid/api-reference/contacts/add-or-update-a-contact
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Merge, Payload, Settings
from svctoolkit.destinations._batches import merge
from svctoolkit.mapping.table import getter

_PLACE = "/marketing/contacts"
_MERGES = (Merge("contacts", at=_PLACE),)
_lists = getter("context.externalId.listIds")


def batch(jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
    """Batch contacts by their lists: those of the external ID `listIds`, and the configured one.

    A single contact is sent the same way; e-mails are sent one by one.
    """
    yield from merge([_request_job(job) for job in jobs], _MERGES)


def _request_job(job: MappedJob) -> MappedJob:
    payloads = tuple(_request(payload, _lists(job.event.raw)) for payload in job.payloads)
    return MappedJob(job.id, job.event, payloads, None, job.metadata)


def _request(payload: Payload, lists: Any) -> Payload:
    """Return SendGrid's request for a contact in the form that the mapping produces."""
    if not payload.endpoint.endswith(_PLACE):
        return payload
    body = payload.json or {}
    ids = [*(lists if isinstance(lists, list) else [lists]), body["contactListIds"]]
    shared = {"list_ids": chosen} if (chosen := [id for id in ids if id]) else {}
    return msgspec.structs.replace(payload, json={**shared, "contacts": [body["contactDetails"]]})
