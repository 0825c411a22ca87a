"""Grouping of jobs into shared requests, as RudderStack's router does it.

A type declares its rules next to its mapping: with `Merge`s, if requests that differ only in one list of items become
one request, or with a function (`@destination.batch`) for anything else. A type without either gets one batch per job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from svctoolkit.causes import Refusal
from svctoolkit.destinations._payload import Payload
from svctoolkit.events import Event
from svctoolkit.json_codec import encode_sorted
from svctoolkit.json_types import Json
from svctoolkit.mapping import javascript_text


class Job(Protocol):
    """One event on its way to one destination: `(id, event, config)`, with an attribute `metadata`.

    These keys of the metadata have a meaning: `dontBatch` (this job must be sent alone), `userId` (the user whose order
    is kept, if it is not the event's user) and `secret` (OAuth tokens of the account).
    """

    metadata: Mapping[str, Any]

    def __iter__(self) -> Iterator[Any]: ...


class MappedJob(msgspec.Struct, frozen=True):  # one for each event: a dataclass takes six times as long
    """A job with the result of its mapping: `payloads`, or `refusal` if the event was refused."""

    id: Any
    event: Event
    payloads: tuple[Payload, ...] = ()
    refusal: Refusal | None = None
    metadata: Mapping[str, Any] = {}

    @property
    def stands_alone(self) -> bool:
        """Whether this job must not share a request: `dontBatch`, set after a batch that contained it has failed."""
        return bool(self.metadata.get("dontBatch"))


class Batch(msgspec.Struct, frozen=True):
    """Jobs that share requests: their payloads are sent one after another, and each job has its own outcome.

    `batched` is the flag in RudderStack's router response; some types set it even for a single job. A refused job has
    `refusal` instead of payloads.
    """

    jobs: tuple[Any, ...]
    payloads: tuple[Mapping[str, Any], ...] = ()
    batched: bool = False
    refusal: Refusal | None = None

    @property
    def error(self) -> str | None:
        """The refusal as text; None for a batch that is sent."""
        return None if self.refusal is None else self.refusal.text


#: (mapped jobs of one configuration, in order of arrival; its settings) -> batches.
Batching: TypeAlias = Callable[[Sequence[MappedJob], Any], Iterable[Batch]]
#: Whether, with these settings, the `Batching` may refuse a job that its mapping has accepted, even if it is alone.
MayRefuse: TypeAlias = Callable[[Any], bool]


def alone(job: MappedJob) -> Batch:
    """Return the batch of a single job: its own requests, or its refusal."""
    if job.refusal is not None:
        return Batch((job.id,), refusal=job.refusal)
    return Batch((job.id,), tuple(payload.to_dict() for payload in job.payloads))


def request_key(payload: Payload) -> bytes:
    """Return what must be equal for two requests to be merged: everything except the body."""
    return encode_sorted((payload.endpoint, payload.method, payload.headers, payload.params))


class Merge(msgspec.Struct, frozen=True):
    """A rule that merges requests that differ only in a list of items. Items keep the order of the jobs.

    - `items`: the member of the JSON body that holds the list; empty if the body itself is the list
    - `wraps`: the whole body of a job's request becomes one item; otherwise the body already contains the list
    - `common`: members of such a body that move next to the list, once; with `repeats` each item keeps them, too
    - `texts`: those of `common` that are written as text next to the list
    - `adds`: members that are added to each item
    - `apart_with`: requests with this member in the body, such as a test event code, are not merged
    - `limit`: maximum number of items per request, `size`: maximum size of the items as JSON in bytes; 0: no limit
    - `at`: only endpoints that contain this text, `to`: its replacement in the endpoint of the shared request
    - `batched`: the `batched` flag of a batch of several jobs; `single`: of a batch of one job
    - `honours_alone`: a job that must not be batched (`dontBatch`) gets its own request, with its items in a list
    """

    items: str = ""
    wraps: bool = False
    common: tuple[str, ...] = ()
    repeats: bool = False
    texts: tuple[str, ...] = ()
    adds: Mapping[str, Any] = {}
    apart_with: str = ""
    limit: int = 0
    size: int = 0
    at: str = ""
    to: str = ""
    batched: bool = True
    single: bool = True
    honours_alone: bool = False

    def fits(self, job: MappedJob) -> bool:
        """Whether this rule applies to a job: endpoints and bodies match, and its own requests can be merged."""
        if not all(self._takes(payload) for payload in job.payloads):
            return False
        return len(job.payloads) == 1 or len({self._key(payload) for payload in job.payloads}) == 1

    def values(self, job: MappedJob) -> list[Json]:
        """Return the items of a job's requests."""
        return [item for payload in job.payloads for item in self._items(payload)]

    def key(self, job: MappedJob) -> bytes:
        """Return what must be equal for the items of two jobs to share a request."""
        own = encode_sorted(job.id) if self.honours_alone and job.stands_alone else b""
        return self._key(job.payloads[0]) + own

    def batch(self, jobs: Sequence[MappedJob]) -> Batch:
        """Return the shared request of jobs with the same `key`."""
        items = [item for job in jobs for item in self.values(job)]
        payload = jobs[0].payloads[0]
        rest = self._rest(payload)
        texts = {key: javascript_text(rest[key]) for key in self.texts if key in rest}
        body = {**rest, **texts, self.items: items} if self.items else None
        shared = msgspec.structs.replace(
            payload,
            endpoint=payload.endpoint.replace(self.at, self.to) if self.to else payload.endpoint,
            json=body,
            json_array=None if self.items else items,
        )
        ids = tuple(job.id for job in jobs)
        return Batch(ids, (shared.to_dict(),), batched=self.batched if len(jobs) > 1 else self.single)

    def _key(self, payload: Payload) -> bytes:
        return request_key(payload) + encode_sorted(self._rest(payload))

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
    """Yield batches by the first `Merge` that fits each job; a job that fits none gets its own batch."""
    groups: dict[tuple[int, bytes], list[MappedJob]] = {}
    for job in jobs:
        place = next((i for i, candidate in enumerate(merges) if candidate.fits(job)), None)
        if place is None:
            yield alone(job)
        else:
            key = merges[place].key(job) if len(jobs) > 1 else b""  # a job alone has nothing to differ from
            groups.setdefault((place, key), []).append(job)
    for (place, _), members in groups.items():
        rule = merges[place]
        yield from (rule.batch(chunk) for chunk in chunks(members, rule.limit, rule.size, rule.values))


def chunks(
    jobs: Iterable[MappedJob], limit: int, size: int, items: Callable[[MappedJob], Sequence[Json]]
) -> Iterator[list[MappedJob]]:
    """Split jobs in order, before the items of the next one would exceed a limit. A single job is never split."""
    chunk: list[MappedJob] = []
    number = length = 0
    for job in jobs:
        more = items(job)
        bytes_ = len(encode_sorted(more)) if size else 0
        if chunk and ((limit and number + len(more) > limit) or (size and length + bytes_ > size)):
            yield chunk
            chunk, number, length = [], 0, 0
        chunk.append(job)
        number, length = number + len(more), length + bytes_
    if chunk:
        yield chunk
