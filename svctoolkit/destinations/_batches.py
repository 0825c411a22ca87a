"""Which jobs share a request, as the service's router puts them together.

A type says it beside its mapping: with `Merge`s where requests that differ in one list of items become one, with a
function (`@destination.batch`) where that does not say it. A type without either makes a result for each job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import msgspec

from svctoolkit.causes import Refusal
from svctoolkit.destinations._payload import Payload, json_bytes
from svctoolkit.events import Event
from svctoolkit.json_types import Json


class Job(Protocol):
    """One event on its way to one destination: `(id, event, config)`, with `metadata` beside it.

    Of the metadata `dontBatch` (this job must be sent alone), `userId` (whose job it is, where that is not the event's
    own user) and `secret` (what OAuth gave) have a meaning.
    """

    metadata: Mapping[str, Any]

    def __iter__(self) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True)
class MappedJob:
    """A job with what its mapping makes of it alone: `payloads`, or `refusal` where the event is refused."""

    id: Any
    event: Event
    payloads: tuple[Payload, ...] = ()
    refusal: Refusal | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stands_alone(self) -> bool:
        """Whether it was asked for that this job shares no request: `dontBatch`, after a batch of it had failed."""
        return bool(self.metadata.get("dontBatch"))


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs that share their requests: they are sent together, payload after payload, and each has its own outcome.

    `batched` is what the service says of it: a type may say so of one job, too. A refused job has `refusal` instead of
    payloads.
    """

    jobs: tuple[Any, ...]
    payloads: tuple[Mapping[str, Any], ...] = ()
    batched: bool = False
    refusal: Refusal | None = None

    @property
    def error(self) -> str | None:
        """The refusal as text; None for a batch that is sent."""
        return None if self.refusal is None else self.refusal.text


#: Jobs of one configuration that were mapped, in their order, and its settings -> the requests that they share.
Batching: TypeAlias = Callable[[Sequence[MappedJob], Any], Iterable[Batch]]


def alone(job: MappedJob) -> Batch:
    """A result of one job: its own requests, or its refusal."""
    if job.refusal is not None:
        return Batch((job.id,), refusal=job.refusal)
    return Batch((job.id,), tuple(payload.to_dict() for payload in job.payloads))


def request_key(payload: Payload) -> bytes:
    """What has to be equal before two requests can be one: everything but the body."""
    return json_bytes((payload.endpoint, payload.method, payload.headers, payload.params))


@dataclass(frozen=True, slots=True)
class Merge:
    """Requests that differ in their items only become one request with all of them, in the order of the jobs.

    - `items`: the member of the JSON body that has the list; empty where the body itself is a list
    - `wraps`: the body of a job's own request is an item; without it, its list already has the items
    - `common`: members of such a body that stand beside the list, once; with `repeats` they stay in each item, too
    - `adds`: members that each item has beside those of its own request
    - `apart_with`: a member of the body with which a request stays as it is, such as a code for tests
    - `limit`: how many items a request takes, `size`: how many bytes of items as JSON; 0: any
    - `at`: part of the endpoints for which this holds, `to`: what stands in its place for the shared request
    - `batched`: what is said of a result of several jobs; `single`: of a result of one job
    - `honours_alone`: a job that must not be batched (`dontBatch`) gets a request of its own, with a list of its items
    """

    items: str = ""
    wraps: bool = False
    common: tuple[str, ...] = ()
    repeats: bool = False
    adds: Mapping[str, Any] = field(default_factory=dict)
    apart_with: str = ""
    limit: int = 0
    size: int = 0
    at: str = ""
    to: str = ""
    batched: bool = True
    single: bool = True
    honours_alone: bool = False

    def fits(self, job: MappedJob) -> bool:
        """Whether this holds for a job: its requests go to such endpoints, have such bodies, and could be one."""
        if not all(self._takes(payload) for payload in job.payloads):
            return False
        return len({self._key(payload) for payload in job.payloads}) == 1

    def values(self, job: MappedJob) -> list[Json]:
        """The items of a job's requests."""
        return [item for payload in job.payloads for item in self._items(payload)]

    def key(self, job: MappedJob) -> bytes:
        """What has to be equal before the items of two jobs share a request."""
        own = json_bytes(job.id) if self.honours_alone and job.stands_alone else b""
        return self._key(job.payloads[0]) + own

    def batch(self, jobs: Sequence[MappedJob]) -> Batch:
        """One result of jobs of one key."""
        items = [item for job in jobs for item in self.values(job)]
        payload = jobs[0].payloads[0]
        body = {**self._rest(payload), self.items: items} if self.items else None
        shared = msgspec.structs.replace(
            payload,
            endpoint=payload.endpoint.replace(self.at, self.to) if self.to else payload.endpoint,
            json=body,
            json_array=None if self.items else items,
        )
        ids = tuple(job.id for job in jobs)
        return Batch(ids, (shared.to_dict(),), batched=self.batched if len(jobs) > 1 else self.single)

    def _key(self, payload: Payload) -> bytes:
        return request_key(payload) + json_bytes(self._rest(payload))

    def _takes(self, payload: Payload) -> bool:
        if self.at not in payload.endpoint or (self.apart_with and self.apart_with in (payload.json or {})):
            return False
        return payload.json is not None if self.wraps else isinstance(self._list(payload), list)

    def _items(self, payload: Payload) -> list[Any]:
        if self.wraps:
            moved = () if self.repeats else self.common
            body = {key: value for key, value in (payload.json or {}).items() if key not in moved}
            return [{**body, **self.adds}]
        return list(self._list(payload))

    def _list(self, payload: Payload) -> Any:
        return (payload.json or {}).get(self.items) if self.items else payload.json_array

    def _rest(self, payload: Payload) -> dict[str, Any]:
        """The body without its items."""
        body = payload.json or {}
        if self.wraps:
            return {key: body[key] for key in self.common if key in body}
        return {key: value for key, value in body.items() if key != self.items}


def merge(jobs: Sequence[MappedJob], merges: Sequence[Merge]) -> Iterator[Batch]:
    """The results of jobs by the first `Merge` that fits each; a job that none fits is a result of its own."""
    groups: dict[tuple[int, bytes], list[MappedJob]] = {}
    for job in jobs:
        place = next((i for i, candidate in enumerate(merges) if candidate.fits(job)), None)
        if place is None:
            yield alone(job)
        else:
            groups.setdefault((place, merges[place].key(job)), []).append(job)
    for (place, _), members in groups.items():
        rule = merges[place]
        yield from (rule.batch(chunk) for chunk in chunks(members, rule.limit, rule.size, rule.values))


def chunks(
    jobs: Iterable[MappedJob], limit: int, size: int, items: Callable[[MappedJob], Sequence[Json]]
) -> Iterator[list[MappedJob]]:
    """Jobs in their order, cut where the items of the next one would exceed a limit. A job is never cut in two."""
    chunk: list[MappedJob] = []
    number = length = 0
    for job in jobs:
        more = items(job)
        bytes_ = len(json_bytes(more)) if size else 0
        if chunk and ((limit and number + len(more) > limit) or (size and length + bytes_ > size)):
            yield chunk
            chunk, number, length = [], 0, 0
        chunk.append(job)
        number, length = number + len(more), length + bytes_
    if chunk:
        yield chunk
