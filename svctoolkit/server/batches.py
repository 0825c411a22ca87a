"""Turn stored events into the bodies of `POST /v1/batch`, and judge the answers of the data plane that gets them.

Nothing here touches the network, the clock or the store: callers decide when to send, and what a verdict means.

A batch holds events of one source in the order of their arrival. Each event is sent as it arrived, byte for byte,
except for what the receiver cannot find out itself: `messageId` and `type` if the request had them elsewhere, the
client's address, and its times.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from svctoolkit.delivery import HttpRequest, HttpResponse
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.retries import retry_after
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.enrich import message_id, moment, times_of
from svctoolkit.server.store.head import decode_body
from svctoolkit.workspace import PlaneLimits

#: RudderStack's gateway limits the bytes of a request and not the number of its events. 100 is what SDKs send.
MAX_BYTES, MAX_EVENTS = PlaneLimits().body, 100
PATH = "/v1/batch"
_OPEN, _CLOSE = b'{"batch":[', b"]}"
_SENT_AT = b',"sentAt":"2000-01-01T00:00:00.000Z"'  # its length is the same for every time
_REASON = 200  # characters of an answer
_SEARCHED = 65_536  # bytes of an answer that are searched for secrets
_RETRIED, _REFUSED = (408, 425, 429), (400, 413, 422)
_THROTTLED = (408, 429)

_Members: TypeAlias = dict[str, msgspec.Raw]


class _Request(msgspec.Struct):
    batch: list[_Members]


_BATCH, _EVENT = msgspec.json.Decoder(_Request), msgspec.json.Decoder(_Members)


class StoredEvent(NamedTuple):
    """One event, ready to be sent.

    `content` is its JSON object without `sentAt`, which depends on when it is sent: `sent` and `received` are the
    client's and the data plane's times of the original request. `name` is the value of `event` or `name`.
    """

    seq: int
    source: str
    message_id: str
    type: str
    name: str
    sent: datetime
    received: datetime
    content: bytes

    @property
    def size(self) -> int:
        """The bytes that it takes in a body."""
        return len(self.content) + len(_SENT_AT) + 1  # the comma

    def at(self, now: datetime) -> bytes:
        """Return its JSON when it is sent at `now`.

        `sentAt` moves by the time that the event was in the store. A receiver that computes
        `receivedAt - (sentAt - originalTimestamp)` gets the time that the store's data plane had computed.
        """
        try:
            moved = self.sent + (now - self.received)
        except OverflowError:  # a client's clock near the year 1 or 9999
            moved = now
        return b'%s,"sentAt":"%s"}' % (self.content[:-1], iso(moved).encode())


Batch: TypeAlias = Sequence[StoredEvent]


def stored_events(block: Block) -> list[StoredEvent]:
    """Return the events of a stored request. Raises `ValueError` if its body is damaged."""
    received, ids = datetime.fromtimestamp(block.at, UTC), iter(block.ids)
    return [
        _event(block, block.first + position, members, received, ids)
        for position, members in enumerate(_members(block))
    ]


def _event(block: Block, seq: int, members: _Members, received: datetime, ids: Iterator[str]) -> StoredEvent:
    known = {name: msgspec.json.decode(members[name]) for name in _READ if name in members}
    members.pop("sentAt", None)
    if block.kind:
        members.pop("writeKey", None)  # a single event may carry the key in its body; it is not part of the event
        _set(members, "type", block.kind)
        known["type"] = block.kind
    identifier = message_id(known.get("messageId"))
    if not identifier:
        identifier = next(ids)
        _set(members, "messageId", identifier)
    if not known.get("request_ip") and block.ip:
        _set(members, "request_ip", block.ip)
    original, sent, timestamp = times_of(known, received)
    if moment(known.get("originalTimestamp")) is None:
        _set(members, "originalTimestamp", original)
    # A data plane keeps this time, so that the duration of the request and of retries changes nothing.
    if moment(known.get("timestamp")) is None:
        _set(members, "timestamp", timestamp)
    kind, name = known.get("type"), known.get("event") or known.get("name")
    return StoredEvent(
        seq, block.source, identifier, kind if isinstance(kind, str) else "", name if isinstance(name, str) else "",
        moment(sent) or received, received, msgspec.json.encode(members),
    )  # fmt: skip


_READ = ("messageId", "type", "event", "name", "originalTimestamp", "sentAt", "timestamp", "request_ip")


def _members(block: Block) -> list[_Members]:
    """Return the members of each event, undecoded: numbers and texts keep their spelling."""
    try:
        return [_EVENT.decode(block.body)] if block.kind else _BATCH.decode(block.body).batch
    except ValueError:  # a byte order mark, or half of a surrogate pair in the name of a member
        value = decode_body(block.body)
    events: Sequence[Mapping[str, Json]] = [value] if block.kind else value["batch"]
    return [{name: msgspec.Raw(json.dumps(inner).encode()) for name, inner in event.items()} for event in events]


def _set(members: _Members, name: str, value: str) -> None:
    members[name] = msgspec.Raw(json.dumps(value).encode())  # also half of a surrogate pair


def batches(
    events: Iterable[StoredEvent], *, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES
) -> Iterator[Batch]:
    """Yield consecutive events of one source, at most `max_events` and `max_bytes` of body; a larger event is alone."""
    batch: list[StoredEvent] = []
    size = len(_OPEN + _CLOSE)
    for event in events:
        if batch and (len(batch) >= max_events or size + event.size > max_bytes or event.source != batch[0].source):
            yield batch
            batch, size = [], len(_OPEN + _CLOSE)
        batch.append(event)
        size += event.size
    if batch:
        yield batch


def by_source(events: Iterable[StoredEvent], window: int, max_bytes: int = 4 * MAX_BYTES) -> Iterator[StoredEvent]:
    """Yield each `window` of events source by source, which makes fuller batches. Each source keeps its order.

    A window also ends with the event that exceeds `max_bytes`, since all of it is in memory.
    """
    some: dict[str, list[StoredEvent]] = {}
    count = size = 0
    for event in events:
        some.setdefault(event.source, []).append(event)
        count, size = count + 1, size + event.size
        if count >= window or size > max_bytes:
            yield from chain.from_iterable(some.values())
            some, count, size = {}, 0, 0
    yield from chain.from_iterable(some.values())


def body_of(batch: Batch, now: datetime) -> bytes:
    """Return the body of a request with these events that is sent at `now`."""
    return _OPEN + b",".join(event.at(now) for event in batch) + _CLOSE


def halves(batch: Batch) -> tuple[Batch, Batch]:
    """Return the first and the second half of a refused batch, to be sent in this order. It has at least two events."""
    middle = len(batch) // 2
    return batch[:middle], batch[middle:]


def basic_login(write_key: str) -> str:
    """Return the `Authorization` header of a source's client."""
    return f"Basic {base64.b64encode(f'{write_key}:'.encode()).decode()}"


def request_of(url: str, write_key: str, body: bytes) -> HttpRequest:
    """Return the request that sends a body to the data plane at `url`."""
    headers = {"Content-Type": "application/json", "Authorization": basic_login(write_key)}
    return HttpRequest("POST", f"{url.rstrip('/')}{PATH}", headers, body)


class Verdict(NamedTuple):
    """What an answer means for its batch, and why.

    `accepted`. `retry`: send it again, not before `retry_after` seconds if the receiver said so; `throttled` if it is
    only too busy. `refused`: the receiver objects to an event; halve the batch, and give up on a single event.
    `stop`: no batch would be accepted, such as with a wrong write key. `status` is that of the answer; 0 without one.
    """

    kind: Literal["accepted", "retry", "refused", "stop"]
    reason: str = ""
    retry_after: float | None = None
    throttled: bool = False
    status: int = 0


def judge(answer: HttpResponse, now: float, mask: Callable[[str], str]) -> Verdict:
    """Judge the answer to a batch. `now` is in seconds since 1970, for dates in `Retry-After`. `mask` hides secrets.

    2xx accepts. 408, 425, 429 and 5xx are worth a retry. 400, 413 and 422 refuse. Everything else concerns all batches:
    a wrong key, a disabled source, a redirect, or a web page from what is not a data plane.
    """
    status, is_page = answer.status, _is_page(answer.body)
    reason = f"{status} {_text(answer, is_page, mask)}".rstrip()
    if status >= 500 or status in _RETRIED:
        asked = retry_after(answer.headers.get("retry-after", ""), now)
        return Verdict("retry", reason, asked, status in _THROTTLED, status)
    # A proxy in front of a data plane answers 413 with a page, and halving the batch does help.
    if is_page and status != 413:
        return Verdict("stop", reason, status=status)
    if 200 <= status < 300:
        return Verdict("accepted", status=status)
    return Verdict("refused" if status in _REFUSED else "stop", reason, status=status)


def _is_page(body: bytes) -> bool:
    return body[:200].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html"))


def _text(answer: HttpResponse, is_page: bool, mask: Callable[[str], str]) -> str:
    if 300 <= answer.status < 400:
        return f"to {mask(str(answer.headers.get('location', '')))[:_REASON]}"
    if is_page:
        return "with a web page"
    # Masked before it is cut: a part of a secret would not be found.
    return mask(answer.body[:_SEARCHED].decode("utf-8", "replace")).strip()[:_REASON]
