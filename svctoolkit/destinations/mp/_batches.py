"""Mixpanel accepts up to 2,000 users, groups or events per list.

https://developer.mixpanel.com/reference/import-events

Jobs of one event type are batched, and the lists of their requests merged. A job joins earlier jobs of its type unless
it would overtake an event of another type that the same user sent before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Payload, Settings
from svctoolkit.destinations._batches import request_key

_LIMIT = 2000
#: people and groups before their events, the order in which RudderStack sends them
_ORDER = {"engage": 0, "groups": 1, "import": 2}


class _Together:
    """The jobs of one result, and the number of items in each of its lists."""

    def __init__(self, place: int) -> None:
        self.place = place  # results are sent in this order
        self.jobs: list[MappedJob] = []
        self._sizes: dict[str, int] = {}

    def takes(self, job: MappedJob) -> bool:
        """Whether all lists stay within the limit with this job."""
        return all(self._sizes.get(p.endpoint, 0) + len(p.json_array or ()) <= _LIMIT for p in job.payloads)

    def add(self, job: MappedJob) -> None:
        self.jobs.append(job)
        for payload in job.payloads:
            self._sizes[payload.endpoint] = self._sizes.get(payload.endpoint, 0) + len(payload.json_array or ())


def _batch(jobs: Sequence[MappedJob]) -> Batch:
    """Return one request for each list: people, then groups, then events."""
    payloads = [payload for job in jobs for payload in job.payloads]
    if len(payloads) > 1:
        if len({payload.endpoint for payload in payloads}) < len(payloads):
            payloads = _shared(payloads)
        payloads.sort(key=_rank)
    return Batch(tuple([job.id for job in jobs]), tuple([payload.to_dict() for payload in payloads]), batched=True)


def _shared(payloads: Sequence[Payload]) -> list[Payload]:
    """Return one request for all that differ only in their items."""
    shared: dict[bytes, Payload] = {}
    for payload in payloads:
        key = request_key(payload)
        items = [*(shared[key].json_array or ()), *(payload.json_array or ())] if key in shared else None
        shared[key] = payload if items is None else msgspec.structs.replace(payload, json_array=items)
    return [*shared.values()]


def _rank(payload: Payload) -> int:
    return _ORDER.get(payload.endpoint.rpartition("/")[0].rpartition("/")[2], len(_ORDER))


def batch(jobs: Sequence[MappedJob], _settings: Settings) -> Iterator[Batch]:
    """Yield the results in the order in which they are sent."""
    if len(jobs) == 1:  # as each event of a replay
        yield _batch(jobs)
        return
    results: list[_Together] = []
    open_results: dict[str, _Together] = {}
    last_of_user: dict[Any, int] = {}
    for job in jobs:
        result = open_results.get(job.event.type)
        user = job.metadata.get("userId")  # jobs without a user have no order to preserve
        if result is None or result.place < last_of_user.get(user, -1) or not result.takes(job):
            result = open_results[job.event.type] = _Together(len(results))
            results.append(result)
        result.add(job)
        if user is not None:
            last_of_user[user] = result.place
    yield from (_batch(result.jobs) for result in results)
