"""Mixpanel takes up to 2,000 people, groups or events in a list (https://developer.mixpanel.com/reference/import-events).

Jobs of one event type are put together, each list of their requests into one. A job joins those before it unless that
would bring it in front of an event of another type that the same user had sent earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Payload, Settings
from svctoolkit.destinations._batches import request_key

_LIMIT = 2000
#: people and groups before their events, as the service sends them
_ORDER = ("/engage/", "/groups/", "/import/")


class _Together:
    """The jobs of one result, and how many items each of its lists has."""

    def __init__(self, place: int) -> None:
        self.place = place  # results are sent in this order
        self.jobs: list[MappedJob] = []
        self._sizes: dict[str, int] = {}

    def takes(self, job: MappedJob) -> bool:
        """Whether none of the lists grows too long."""
        return all(self._sizes.get(p.endpoint, 0) + len(p.json_array or ()) <= _LIMIT for p in job.payloads)

    def add(self, job: MappedJob) -> None:
        self.jobs.append(job)
        for payload in job.payloads:
            self._sizes[payload.endpoint] = self._sizes.get(payload.endpoint, 0) + len(payload.json_array or ())

    def batch(self) -> Batch:
        """The result: one request for each list, people before groups before events."""
        shared: dict[bytes, Payload] = {}
        for payload in (payload for job in self.jobs for payload in job.payloads):
            key = request_key(payload)
            items = [*(shared[key].json_array or ()), *(payload.json_array or ())] if key in shared else None
            shared[key] = payload if items is None else msgspec.structs.replace(payload, json_array=items)
        payloads = sorted(shared.values(), key=lambda payload: _rank(payload.endpoint))
        return Batch(tuple(job.id for job in self.jobs), tuple(p.to_dict() for p in payloads), batched=True)


def _rank(endpoint: str) -> int:
    return next((i for i, place in enumerate(_ORDER) if endpoint.endswith(place)), len(_ORDER))


def batch(jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
    """The results in the order in which they are sent."""
    results: list[_Together] = []
    open_results: dict[str, _Together] = {}
    last_of_user: dict[Any, int] = {}
    for job in jobs:
        result = open_results.get(job.event.type)
        user = job.metadata.get("userId")  # without it nobody's order is at stake
        if result is None or result.place < last_of_user.get(user, -1) or not result.takes(job):
            result = open_results[job.event.type] = _Together(len(results))
            results.append(result)
        result.add(job)
        if user is not None:
            last_of_user[user] = result.place
    yield from (result.batch() for result in results)
