"""The events of one request in stored form: the original body, and what is needed to rebuild the events.

What the gateway and the processor add to the events is not stored. It is computed from the rest after the reply, and is
the same every time.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.server.store.enrich import enrich, identity, message_id
from svctoolkit.server.store.head import Head, decode_body, head_of
from svctoolkit.server.store.schema import BlockRow

_COMPRESSED = 1 << 20  # bytes; compressing less takes too long for the disk space that it saves


@dataclass(frozen=True)
class Block:
    """The events of one request. `first` is the seq of the first, `destinations` are the keys of their destinations.

    `kind` is the event type from the path, `ids` are the message ids for events without one. `trace` is as in
    `BlockRow`. A caller that has already scanned the body can pass the heads as `scanned`.
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
    trace: str = ""
    scanned: Sequence[Head] = field(default=(), repr=False)

    @cached_property
    def heads(self) -> Sequence[Head]:
        """Return a head for each event, with the type and the message id that the event will have."""
        if not self.scanned:
            return list(map(head_of, self.events))
        ids = iter(self.ids)
        for head in self.scanned:
            head.message_id = message_id(head.message_id) or next(ids)
            head.type = self.kind or head.type
        return self.scanned

    @cached_property
    def events(self) -> list[dict[str, Json]]:
        """Return the events, with everything that the gateway and the processor add."""
        value = decode_body(self.body)
        ids, received = iter(self.ids), datetime.fromtimestamp(self.at, UTC)
        if self.kind:
            # A single event may carry the key in its body, as pixels do; it is not part of the event.
            value.pop("writeKey", None)
            value["type"] = self.kind
        events: list[dict[str, Any]] = [value] if self.kind else value["batch"]
        for event in events:
            owner = identity(event.get("userId")), identity(event.get("anonymousId"))
            enrich(event, owner, received, self.ip, ids.__next__)
        return events

    def row(self) -> BlockRow:
        """Return the row of this block, not routed yet."""
        body = zlib.compress(self.body, 1) if len(self.body) > _COMPRESSED else self.body
        keys, ids = "\n".join(self.destinations), "\n".join(self.ids)
        return BlockRow(
            first=self.first, count=self.count, source=self.source, run=self.run, at=self.at, destinations=keys,
            routed=False, kind=self.kind, ip=self.ip, ids=ids, body=body,
            trace=self.trace,
        )  # fmt: skip


def block_of(row: BlockRow) -> Block:
    """Return the block of a row."""
    body = zlib.decompress(row.body) if row.body[:1] == b"x" else row.body  # no JSON starts with an x
    keys, ids = _lines(row.destinations), _lines(row.ids)
    return Block(row.first, row.count, row.source, row.run, row.at, keys, row.kind, row.ip, ids, body, row.trace)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n")) if text else ()
