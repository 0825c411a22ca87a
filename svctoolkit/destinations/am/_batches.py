"""Up to 1,000 events of one user share a request to `/batch`; a single event goes to `/2/httpapi`.

https://amplitude.com/docs/apis/analytics/batch-event-upload
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Payload, Settings
from svctoolkit.destinations._batches import alone
from svctoolkit.json_codec import encode_sorted
from svctoolkit.json_types import Json

_ALONE, _TOGETHER = "/2/httpapi", "/batch"
_LIMIT = 1000


def batch(jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
    """Merge events of one user; groups, aliases and jobs that must be sent alone get their own requests."""
    users: dict[tuple[str, bytes], list[MappedJob]] = {}
    for job in jobs:
        events = _events(job)
        if events is None or job.stands_alone:
            yield alone(job)
        else:
            users.setdefault((job.payloads[0].endpoint, encode_sorted(_user(events))), []).append(job)
    for members in users.values():
        yield from (_together(members[at : at + _LIMIT]) for at in range(0, len(members), _LIMIT))


def _events(job: MappedJob) -> list[dict[str, Any]] | None:
    """Return the events of a job, such as an order and its products, if its requests are nothing but events."""
    if not job.payloads or not all(payload.endpoint.endswith(_ALONE) for payload in job.payloads):
        return None
    return [event for payload in job.payloads for event in (payload.json or {}).get("events", ())]


def _user(events: Sequence[dict[str, Any]]) -> Json:
    """Return the user of the first event, which may send anything as an id."""
    return events[0].get("user_id") or events[0].get("device_id")


def _together(jobs: Sequence[MappedJob]) -> Batch:
    if len(jobs) == 1:
        return alone(jobs[0])
    first: Payload = jobs[0].payloads[0]
    events = [event for job in jobs for event in _events(job) or []]
    endpoint = first.endpoint.removesuffix(_ALONE) + _TOGETHER
    payload = msgspec.structs.replace(first, endpoint=endpoint, json={**(first.json or {}), "events": events})
    return Batch(tuple(job.id for job in jobs), (payload.to_dict(),), batched=True)
