"""Mailchimp accepts up to 500 members of an audience per request
(https://mailchimp.com/developer/marketing/api/lists/batch-subscribe-or-unsubscribe/)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from svctoolkit.destinations import Batch, MappedJob
from svctoolkit.destinations._batches import alone
from svctoolkit.destinations.mailchimp._settings import MailchimpSettings

_LIMIT = 500


def batch(jobs: Sequence[MappedJob], settings: MailchimpSettings) -> Iterator[Batch]:
    """Batch all members, even a single one; events of members are sent one by one.

    A list named by an event is ignored here: all members go to the configured audience.
    """
    members = [job for job in jobs if job.payloads[0].method == "PUT"]
    yield from (alone(job) for job in jobs if job.payloads[0].method != "PUT")
    skips = "true" if settings.enable_merge_fields else "false"
    for at in range(0, len(members), _LIMIT):
        host = members[at].payloads[0].endpoint.partition("/lists/")[0]
        query = f"skip_merge_validation={skips}&skip_duplicate_check=false"
        yield _together(members[at : at + _LIMIT], f"{host}/lists/{settings.audience_id}?{query}")


def _together(jobs: Sequence[MappedJob], endpoint: str) -> Batch:
    body = {"members": [job.payloads[0].json for job in jobs], "update_existing": True}
    payload = msgspec.structs.replace(jobs[0].payloads[0], method="POST", endpoint=endpoint, json=body)
    return Batch(tuple(job.id for job in jobs), (payload.to_dict(),), batched=True)
