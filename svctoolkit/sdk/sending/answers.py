"""What an answer means.

| answer | what happens |
|---|---|
| 2xx | delivered |
| 400, 413, 422 | the batch is halved until the refused events are alone; those are parked with the reason |
| 401, 403, any error that says "invalid write key" | nothing is sent until `initialize` gives another key |
| 404, 410 | the source is disabled: nothing is sent until its configuration says otherwise, or `flush` asks again |
| 429, 5xx, anything else, no answer | again later: after `Retry-After` (at most a day), else with back-off |
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from svctoolkit import retries
from svctoolkit.sdk.base.transport import Response

_LONGEST_WAIT = 86_400.0


class Verdict(Enum):
    DONE = "delivered"
    REFUSED = "refused"
    KEY = "wrong key"
    SOURCE = "source disabled"
    LATER = "later"


class Answer(NamedTuple):
    verdict: Verdict
    status: int
    text: str
    retry_after: float | None


def verdict(response: Response) -> Verdict:
    """What the answer means; the table is at the top of this module."""
    status = response.status
    if 200 <= status < 300:
        return Verdict.DONE
    if status in (401, 403) or b"invalid write key" in response.body[:1000].lower():
        return Verdict.KEY
    if status in (404, 410):
        return Verdict.SOURCE
    return Verdict.REFUSED if status in (400, 413, 422) else Verdict.LATER


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a `Retry-After` asks for, at most a day; None if it asks nothing."""
    seconds = retries.retry_after(headers.get("retry-after", ""), now)
    return None if seconds is None else min(seconds, _LONGEST_WAIT)


def basic(write_key: str) -> str:
    return "Basic " + base64.b64encode(f"{write_key}:".encode()).decode()
