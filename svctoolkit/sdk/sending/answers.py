"""How the client reacts to the data plane's responses.

| response | what happens |
|---|---|
| 2xx | delivered, unless it is an HTML page, which no data plane sends: then as in the last line |
| 400, 413, 422 | the batch is halved until the rejected events are isolated; those are parked with the reason |
| 401 with the text "invalid write key" | a pause: see `pause` |
| 404 with the text "source is disabled" | a pause, too |
| anything else, no response | retried after `Retry-After` (at most a day), else with exponential back-off |
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from svctoolkit import retries
from svctoolkit.sdk.base.transport import Response

_LONGEST_WAIT = 86_400.0
_WRONG_KEY, _DISABLED = b"invalid write key", b"source is disabled"


class Verdict(Enum):
    """What an answer of the data plane means for a batch."""

    DONE = "delivered"
    REFUSED = "refused"
    KEY = "wrong key"
    SOURCE = "source disabled"
    LATER = "later"


class Answer(NamedTuple):
    """A response and its verdict. `text` is for messages; `retry_after` is in seconds."""

    verdict: Verdict
    status: int
    text: str
    retry_after: float | None


def verdict(response: Response) -> Verdict:
    """Return the verdict on a response, by the table at the top of this module."""
    # The start is enough for the texts that count, and a hostile server cannot make this slow.
    status, text = response.status, response.body[:1000].lower()
    if status == 401 and _WRONG_KEY in text:
        return Verdict.KEY
    if status == 404 and _DISABLED in text:
        return Verdict.SOURCE
    # 413 with a page: nginx in front of a data plane answers like that, and halving the batch does help.
    if _WRONG_KEY in text or (is_page(response) and status != 413):
        return Verdict.LATER  # from a proxy, a login page, a moved host: not from a data plane
    if 200 <= status < 300:
        return Verdict.DONE
    return Verdict.REFUSED if status in (400, 413, 422) else Verdict.LATER


def is_page(response: Response) -> bool:
    """Return whether the response is an HTML page."""
    return _begins_page(response.body[:200])


def _begins_page(start: bytes) -> bool:
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html"))


def describe(response: Response) -> str:
    """Return the response in one line: status, redirect target, text."""
    location = response.headers.get("location", "") if 300 <= response.status < 400 else ""
    return _describe(response.status, location[:200], response.body[:200])


@lru_cache(maxsize=8)  # most responses are identical
def _describe(status: int, location: str, start: bytes) -> str:
    text = "an HTML page" if _begins_page(start) else start.decode("utf-8", "replace").strip()
    return " ".join(filter(None, (str(status), location and f"to {location}", text)))


def says_wrong_key(response: Response) -> bool:
    """Return whether a control plane's response says that the write key is unknown."""
    return response.status in (400, 401) and _WRONG_KEY in response.body[:1000].lower()


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds of the `Retry-After` header, at most a day; None without a valid one."""
    header = headers.get("retry-after")
    seconds = None if header is None else retries.retry_after(header, now)
    return None if seconds is None else min(seconds, _LONGEST_WAIT)


def basic(write_key: str) -> str:
    """Return the `Authorization` header for a write key."""
    return "Basic " + base64.b64encode(f"{write_key}:".encode()).decode()
