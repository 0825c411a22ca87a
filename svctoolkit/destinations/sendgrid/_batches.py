"""SendGrid takes many contacts in a request, for the same lists.

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
    """Contacts by their lists: those of the event's external ID `listIds`, then that of the configuration.

    A contact alone is sent so, too; mails have requests of their own.
    """
    yield from merge([_request_job(job) for job in jobs], _MERGES)


def _request_job(job: MappedJob) -> MappedJob:
    payloads = tuple(_request(payload, _lists(job.event.raw)) for payload in job.payloads)
    return MappedJob(job.id, job.event, payloads, None, job.metadata)


def _request(payload: Payload, lists: Any) -> Payload:
    """The request that SendGrid takes, of a contact as the mapping shows it."""
    if not payload.endpoint.endswith(_PLACE):
        return payload
    body = payload.json or {}
    ids = [*(lists if isinstance(lists, list) else [lists]), body["contactListIds"]]
    shared = {"list_ids": chosen} if (chosen := [id for id in ids if id]) else {}
    return msgspec.structs.replace(payload, json={**shared, "contacts": [body["contactDetails"]]})
