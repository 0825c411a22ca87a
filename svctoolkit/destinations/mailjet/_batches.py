"""Mailjet accepts up to 100 contacts per request, for one list and one action.

https://dev.mailjet.com/email/reference/contacts/bulk-contact-management/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from svctoolkit.destinations import JSON, Batch, Endpoint, MappedJob, Merge, Payload, basic
from svctoolkit.destinations._batches import merge
from svctoolkit.destinations.mailjet._settings import MailjetSettings
from svctoolkit.events import Event
from svctoolkit.mapping import as_object, js_join, value_of

API = Endpoint("https://api.mailjet.com/v3/REST/contactslist", JSON, basic("api_key", "api_secret"))
LIST_ID = "context.externalId.listId"
_MERGES = (Merge("Contacts", limit=100),)


def batch(jobs: Sequence[MappedJob], settings: MailjetSettings) -> Iterator[Batch]:
    """Batch the contacts of each list and action."""
    yield from merge([_address_job(job, settings) for job in jobs], _MERGES)


def _address_job(job: MappedJob, settings: MailjetSettings) -> MappedJob:
    list_id = value_of(job.event, LIST_ID) or settings.list_id or "undefined"
    payloads = tuple(_address(payload.json, job.event, js_join(list_id), settings) for payload in job.payloads)
    return MappedJob(job.id, job.event, payloads, job.refusal, job.metadata)


def _address(contact: Any, event: Event, list_id: str, settings: MailjetSettings) -> Payload:
    options = as_object(as_object(event.raw.get("integrations")).get("mailjet"))
    action = options.get("Action") or "addnoforce"
    return API.post(settings, f"{list_id}/managemanycontacts", {"Action": action, "Contacts": [contact]})
