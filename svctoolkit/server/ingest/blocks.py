"""The events of one request as they are kept: the body as it came, and what makes events of it again.

To take a request, its body is only looked through. Events are made from it later, beside the reply: that is most of the
work, and it gives the same events every time.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec

from svctoolkit.server.ingest.body import parsed
from svctoolkit.server.ingest.enrich import enrich, identity, message_id
from svctoolkit.server.ingest.reply import EMPTY_BATCH, NO_EVENT, NO_IDENTITY, Refused

_COMPRESSED = 2048  # bytes
_NEEDS_NO_IDENTITY = ("extract", "record")
COLUMNS = "first, count, source, run, at, destinations, kind, ip, ids, body"


class Head(msgspec.Struct, gc=False, rename="camel"):
    """What gateway and router look at in an event."""

    user_id: Any = None
    anonymous_id: Any = None
    message_id: Any = None
    type: Any = None
    event: Any = None
    name: Any = None
    integrations: Any = None
    write_key: Any = None

    @property
    def ids(self) -> tuple[str, str]:
        return identity(self.user_id), identity(self.anonymous_id)


class _Batch(msgspec.Struct, gc=False, rename="camel"):
    batch: list[Head] = []
    write_key: Any = None


_ONE, _SEVERAL = msgspec.json.Decoder(Head), msgspec.json.Decoder(_Batch)


@dataclass(frozen=True, slots=True)
class Found:
    """A body that is JSON: a head for each event, None for what is no event, and the write key that it names."""

    heads: Sequence[Head | None]
    write_key: Any
    kind: str

    def check(self, position: int) -> Head:
        """The head of one event. Raises `Refused`."""
        head = self.heads[position]
        if head is None:
            raise Refused(*NO_EVENT, position)
        if head.ids == ("", "") and (self.kind or head.type) not in _NEEDS_NO_IDENTITY:
            raise Refused(*NO_IDENTITY, position)
        return head


def looked_through(body: bytes, kind: str, *, may_be_empty: bool = False) -> Found:
    """The heads of a batch, or of one event of type `kind`. Raises `Refused`."""
    try:
        body.decode()  # what is skipped below is not checked for this
        if kind:
            head = _ONE.decode(body)
            return Found((head,), head.write_key, kind)
        found = _SEVERAL.decode(body)
        looked = Found(found.batch, found.write_key, "")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        looked = _carefully(parsed(body), kind)
    if not looked.heads and not may_be_empty:
        raise Refused(*EMPTY_BATCH)
    return looked


def _carefully(value: Any, kind: str) -> Found:
    """The same of a value that is not as simple: not an object, a byte order mark in front, half a surrogate pair."""
    members = value if isinstance(value, dict) else {}
    batch = members.get("batch")
    events = [value] if kind else batch if isinstance(batch, list) else []
    return Found([_head(event) for event in events], members.get("writeKey"), kind)


def _head(event: Any) -> Head | None:
    if not isinstance(event, dict):
        return None
    return Head(*map(event.get, Head.__struct_encode_fields__))


def without(body: bytes, positions: set[int]) -> bytes:
    """The body of a batch without the events at these places."""
    events = parsed(body)["batch"]
    return msgspec.json.encode({"batch": [event for i, event in enumerate(events) if i not in positions]})


def new_ids(heads: Sequence[Head], new_id: Callable[[], str]) -> Iterator[str]:
    """An id for each event that has no `messageId`: blank, or no text."""
    for head in heads:
        if not message_id(head.message_id):
            yield new_id()


@dataclass(frozen=True)
class Block:
    """The events of one request. `first` is the seq of the first, `destinations` are the keys that they were meant for.

    `kind` is the type that the path says, `ids` are the message ids for events without one.
    """

    first: int
    count: int
    source: str
    run: str
    at: float
    destinations: tuple[str, ...]
    kind: str
    ip: str
    ids: tuple[str, ...]
    body: bytes
    seen: Sequence[Head] = field(default=(), repr=False)

    @cached_property
    def heads(self) -> Sequence[Head]:
        """A head for each event, with the type and the message id that the event will have."""
        heads = self.seen or [head for head in looked_through(self.body, self.kind).heads if head is not None]
        ids = iter(self.ids)
        for head in heads:
            head.message_id = message_id(head.message_id) or next(ids)
            head.type = self.kind or head.type
        return heads

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The events, with everything that the gateway and the processor add."""
        value = parsed(self.body)
        ids, received = iter(self.ids), datetime.fromtimestamp(self.at, UTC)
        if self.kind:
            value.pop("writeKey", None)
            value["type"] = self.kind
        events: list[dict[str, Any]] = [value] if self.kind else value["batch"]
        for event in events:
            known = identity(event.get("userId")), identity(event.get("anonymousId"))
            enrich(event, known, received, self.ip, ids.__next__)
        return events

    def row(self) -> tuple[Any, ...]:
        """The row of the table `blocks`, not routed yet."""
        body = zlib.compress(self.body, 1) if len(self.body) > _COMPRESSED else self.body
        keys, ids = "\n".join(self.destinations), "\n".join(self.ids)
        return (
            self.first, self.count, self.source, self.run, self.at, keys, 0, self.kind, self.ip, ids, body
        )  # fmt: skip


def block_of(row: Sequence[Any]) -> Block:
    """The block of a row with `COLUMNS`."""
    first, count, source, run, at, keys, kind, ip, ids, body = row
    plain = zlib.decompress(body) if body[:1] == b"x" else body  # no JSON starts with an x
    return Block(first, count, source, run, at, _split(keys), kind, ip, _split(ids), plain)


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n")) if text else ()
