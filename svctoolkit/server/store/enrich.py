"""What the gateway and the processor add to an event before it is transformed."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import uuid4

from svctoolkit.events import EVENT_TYPES
from svctoolkit.events.builders import iso
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json

_VARIANT = "89ab"
#: What SDKs and the gateway add to an event, in the order of the report.
_ADDED = ("messageId", "anonymousId", "originalTimestamp", "sentAt", "timestamp", "receivedAt", "rudderId")
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch  # the format of `iso`


def identity(value: Json) -> str:
    """Return a user id as trimmed text without invisible characters: null is empty, other values are their JSON."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else encode(value).decode()
    # Zero-width characters and control codes make two spellings of one user; nearly no id has any.
    if not text.isprintable():
        text = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf"))
    return text.strip()


def message_id(value: Json) -> str:
    """Return the effective `messageId` of an event, or an empty string if it needs a new one."""
    return value.strip() if isinstance(value, str) else ""


@lru_cache(4096)
def rudder_id(user_id: str, anonymous_id: str) -> str:
    """Return the MD5 of both ids as a UUID of version 4."""
    text = f"{user_id}:{anonymous_id}".encode("utf-8", "surrogatepass")
    digest = hashlib.md5(text, usedforsecurity=False).hexdigest()
    # The bits that mark a UUID's variant, as the gateway sets them.
    variant = _VARIANT[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:]}"


def moment(value: Json) -> datetime | None:
    """Return a time in UTC, or None if the value is not a time. A time without a zone is UTC."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        if time.tzinfo is UTC:
            return time
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def enrich(
    event: dict[str, Json], ids: tuple[str, str], received: datetime, ip: str, new_id: Callable[[], str]
) -> None:
    """Complete `event` in place. `ids` are its `identity` as user and as anonymous; `received` is in UTC.

    A new `messageId` is set if it is blank or not a string. `timestamp` is kept if it is a valid time. Otherwise it is
    the time of receipt minus the time that the event waited at the client, so that a wrong clock there does no harm.
    `originalTimestamp` and `sentAt` default to the time of receipt. All times are rewritten in UTC with milliseconds.
    """
    event["messageId"] = message_id(event.get("messageId")) or new_id()
    event["rudderId"] = rudder_id(*ids)
    if not event.get("request_ip"):
        event["request_ip"] = ip
    now = _received_at(received)
    event["originalTimestamp"], event["sentAt"], event["timestamp"] = times_of(event, received)
    event["receivedAt"] = now


def times_of(event: Mapping[str, Json], received: datetime) -> tuple[str, str, str]:
    """Return the `originalTimestamp`, `sentAt` and `timestamp` that an event gets: see `enrich`."""
    now = _received_at(received)
    original = _time(event.get("originalTimestamp")) or now
    sent = _time(event.get("sentAt")) or now
    # The difference is the time that the event waited at the client, whatever its clock shows.
    wrong_clock = original != sent
    timestamp = _time(event.get("timestamp")) or (_correct_time(received, original, sent) if wrong_clock else now)
    return original, sent, timestamp


def complete(event: dict[str, Json]) -> list[str]:
    """Add the members that an SDK and the gateway add to every event, and return their names.

    Members that the event has are kept as they are. An event without a valid `type` is left alone: nothing accepts it.
    """
    if event.get("type") not in EVENT_TYPES:
        return []
    whole = {**event}
    if not whole.get("anonymousId"):
        whole["anonymousId"] = str(uuid4())
    ids = identity(whole.get("userId")), identity(whole["anonymousId"])
    enrich(whole, ids, datetime.now(UTC), "", lambda: str(uuid4()))
    added = [name for name in _ADDED if name in whole and not event.get(name)]
    event.update({name: whole[name] for name in added})
    return added


@lru_cache(64)  # the events of a request have the same
def _received_at(received: datetime) -> str:
    return iso(received)


def _time(value: Any) -> str:
    """Return a time in the format of `iso`, or an empty string if the value is not a time."""
    return _time_of(value) if type(value) is str else ""


@lru_cache(64)  # an event has most times twice, and the events of a request have the same `sentAt`
def _time_of(value: str) -> str:
    time = moment(value)
    if time is None:
        return ""
    # Already in this format, as nearly always: skip the formatting.
    return value if _WRITTEN(value) else iso(time)


def _correct_time(received: datetime, original: str, sent: str) -> str:
    try:
        return iso(received - (datetime.fromisoformat(sent) - datetime.fromisoformat(original)))
    except OverflowError:
        return iso(received)
