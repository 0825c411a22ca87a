"""HubSpot's CRM API accepts up to 100 objects per request (https://developers.hubspot.com/docs/api/crm/contacts).

An object that follows a track event of its user goes into a later request than the objects before that event.
RudderStack counts these rounds for each user and batches the objects of one round together. The older API accepts a
list of contacts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Settings
from svctoolkit.destinations._batches import alone, request_key
from svctoolkit.mapping import Misfit, Missing

_LIMIT = 100


@dataclass(slots=True)
class _Request:
    """The jobs of one request, and its objects. A repeated object is written once, with its latest values."""

    jobs: list[MappedJob]
    objects: dict[Any, dict[str, Any]] = field(default_factory=dict)

    def add(self, job: MappedJob) -> None:
        for entry in _objects(job):
            key = (entry["id"],) if "objectWriteTraceId" in entry else len(self.objects)
            if isinstance(key, tuple):
                entry = {
                    **entry,
                    "objectWriteTraceId": self.objects.get(key, {}).get("objectWriteTraceId", str(job.id)),
                }
            self.objects[key] = entry


def batch(jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
    """Group objects by type, action and round; send all other jobs, and jobs that must not be batched, one by one."""
    requests: list[_Request] = []
    shared: dict[tuple[bytes, int], _Request] = {}
    rounds: dict[Any, int] = {}  # odd while the user's last job was an event
    of_warehouse: dict[int, bool] = {}  # RudderStack treats a whole round like its first job
    for job in jobs:
        user = job.metadata.get("userId") or job.id
        rounds.setdefault(user, 0)
        if not _objects(job):
            rounds[user] |= 1
            yield alone(job)
            continue
        rounds[user] += rounds[user] % 2
        first_is_row = of_warehouse.setdefault(rounds[user], _is_row(job))
        if _is_row(job) and not first_is_row and not job.event.traits.get("email"):
            why = "the first object of the batch does not come from reverse ETL"
            yield Batch((job.id,), refusal=Missing("traits.email", why=why, case="batch").refusal)
            continue
        if first_is_row and not _is_row(job):
            wants = "true, because the first object of the batch comes from reverse ETL"
            yield Batch((job.id,), refusal=Misfit("context.mappedToDestination", wants).refusal)
            continue
        key = request_key(job.payloads[0]), rounds[user]
        request = shared.get(key)
        if request is None or job.stands_alone or len(request.objects) >= _LIMIT:
            request = _Request([])
            requests.append(request)
            if not job.stands_alone:
                shared[key] = request
        request.jobs.append(job)
        request.add(job)
    yield from map(_result, requests)


def _is_row(job: MappedJob) -> bool:
    return bool(job.event.context.get("mappedToDestination"))


def _objects(job: MappedJob) -> list[dict[str, Any]]:
    """Return the objects of a job that may share a request: `inputs`, or the list of the older API."""
    (payload,) = job.payloads  # this type sends one request for each event
    return payload.json_array or (payload.json or {}).get("inputs") or []


def _result(request: _Request) -> Batch:
    first, objects = request.jobs[0].payloads[0], list(request.objects.values())
    shared = {"json": {"inputs": objects}} if first.json_array is None else {"json_array": objects}
    payload = msgspec.structs.replace(first, **shared)
    return Batch(tuple(job.id for job in request.jobs), (payload.to_dict(),), batched=True)
