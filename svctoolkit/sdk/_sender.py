"""From the queue to the data plane: one batch, its answer, and what that means for each event.

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
import re
import time
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from svctoolkit.errors import DeliveryError
from svctoolkit.sdk._claims import Batch, Parked, Row
from svctoolkit.sdk._queue import Queue
from svctoolkit.sdk._report import Reporter
from svctoolkit.sdk._settings import LogLevel, Settings
from svctoolkit.sdk._transport import Request, Response, Transport
from svctoolkit.sdk._values import iso

TIMEOUT = 15.0
_LONGEST_WAIT = 86_400.0
_LOOPBACK = re.compile(r"https?://(localhost|127\.[\d.]+|\[::1\])(:|/|$)")


class Pause(Enum):
    """Why nothing is sent."""

    NO = ""
    KEY = "the write key was refused; initialize with another one"
    SOURCE = "the source is disabled"


class Step(Enum):
    """What came of one attempt."""

    NOTHING = "nothing to send"
    SENT = "sent"
    LATER = "no success, to be tried again"
    PAUSED = "paused"


class Verdict(Enum):
    DONE = "delivered"
    REFUSED = "refused"
    KEY = "wrong key"
    SOURCE = "source disabled"
    LATER = "later"


class _Answer(NamedTuple):
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
    """Seconds that a `Retry-After` asks for (a number or an HTTP date), at most a day; None if it asks nothing."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return min(float(value[:12]), _LONGEST_WAIT)
    from email.utils import parsedate_to_datetime

    try:
        return min(max(parsedate_to_datetime(value).timestamp() - now, 0.0), _LONGEST_WAIT)
    except (ValueError, OverflowError):
        return None


def basic(write_key: str) -> str:
    return "Basic " + base64.b64encode(f"{write_key}:".encode()).decode()


class Sender:
    """Sends the waiting events. `not_before` (monotonic) is when the next attempt is due after a failure."""

    def __init__(
        self, queue: Queue, transport: Transport, reporter: Reporter, settings: Settings, write_key: str
    ) -> None:
        self.url = settings.data_plane_url
        self.pause = Pause.NO
        self.not_before = 0.0
        self.asked_to_wait = False
        self.anonymous_id = ""
        self._queue, self._transport, self._reporter = queue, transport, reporter
        self._settings, self._key = settings, write_key
        self._failures = 0
        self._following: Batch | None = None

    def step(self, timeout: float = TIMEOUT) -> Step:
        """Send a batch and settle it. Raises nothing for the network's or the disk's sake.

        Where another full batch waits it is claimed with the same write to the disk: `release` gives it back.
        """
        if self.pause is not Pause.NO:
            return Step.PAUSED
        size = self._settings.flush_queue_size
        batch, self._following = self._following or self._queue.claim("cloud", size), None
        if batch is None:
            return Step.NOTHING
        done: list[Row] = []
        parked: list[Parked] = []
        following = 0
        try:
            answer = self._settle(batch, done, parked, timeout)
            if answer.verdict is Verdict.DONE and self._queue.waiting >= len(batch.rows) + size:
                following = size
        finally:
            self._following = self._queue.finish(batch, done, parked, then=following)
        self._reporter.counts["delivered"] += len(done)
        return self._concluded(answer, len(batch.rows) - len(done) - len(parked))

    def after_fork(self) -> None:
        self._following = None  # it is the parent's

    def release(self) -> None:
        """Let other processes, and a later `step`, have what is claimed for the next one."""
        if self._following is not None:
            self._queue.finish(self._following, ())
            self._following = None

    def _settle(self, batch: Batch, done: list[Row], parked: list[Parked], timeout: float) -> _Answer:
        parts: list[Sequence[Row]] = [batch.rows]
        while True:
            rows = parts.pop()
            answer = self._post(rows, timeout)
            if answer.verdict is Verdict.DONE:
                done.extend(rows)
            elif answer.verdict is Verdict.REFUSED and len(rows) == 1:
                parked.append(Parked(rows[0], answer.status, answer.text))
                text = f"the data plane refuses an event ({answer.status} {answer.text}); it is parked"
                self._reporter.error(DeliveryError(text, code="EREFUSED", status=answer.status), LogLevel.WARN)
            elif answer.verdict is Verdict.REFUSED:
                half = len(rows) // 2
                parts += [rows[half:], rows[:half]]
            else:
                return answer
            if not parts:
                return answer
            self._queue.renew(batch)

    def _concluded(self, answer: _Answer, left: int) -> Step:
        if answer.verdict in (Verdict.DONE, Verdict.REFUSED):
            self._failures = 0
            return Step.SENT
        if answer.verdict is Verdict.LATER:
            self._failures += 1
            self._reporter.counts["retried"] += left
            wait = self._settings.backoff(self._failures) if answer.retry_after is None else answer.retry_after
            self.asked_to_wait = answer.retry_after is not None
            self.not_before = time.monotonic() + wait
            text = f"the data plane did not take {left} event(s): {answer.text}; next attempt in {wait:.1f} s"
            self._reporter.error(DeliveryError(text, code="ERETRY", status=answer.status or 500), LogLevel.WARN)
            return Step.LATER
        self.pause_for(Pause.KEY if answer.verdict is Verdict.KEY else Pause.SOURCE, answer.text, answer.status)
        return Step.PAUSED

    def pause_for(self, pause: Pause, why: str, status: int) -> None:
        """Send nothing for now. The events are kept."""
        if self.pause is pause:
            return
        self.pause = pause
        if pause is Pause.KEY:
            self._queue.refuse_key(self._settings.application_name)
        self._reporter.error(DeliveryError(f"{pause.value} ({status} {why})", code="EPAUSED", status=status))

    def _post(self, rows: Sequence[Row], timeout: float) -> _Answer:
        body = _envelope([row.body for row in rows], self._settings.clock())
        headers = {
            "Authorization": basic(self._key),
            "Content-Type": "application/json",
            "AnonymousId": base64.b64encode(self.anonymous_id.encode()).decode(),
        }
        if self._settings.gzip and not _LOOPBACK.match(self.url):
            import gzip

            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body, compresslevel=1, mtime=0)  # events repeat one context; more effort gains little
        try:
            response = self._transport.send(Request("POST", f"{self.url}/v1/batch", headers, body, timeout))
        except Exception as error:  # noqa: BLE001 - whatever a transport raises, there was no answer
            return _Answer(Verdict.LATER, 0, str(error) or type(error).__name__, None)
        text = f"{response.status} {response.body[:200].decode('utf-8', 'replace').strip()}".strip()
        wait = retry_after(response.headers, self._settings.clock())
        self._reporter.log(LogLevel.VERBOSE, "%d bytes sent, answer %d", len(body), response.status)
        return _Answer(verdict(response), response.status, text, wait)


def _envelope(events: list[bytes], now: float) -> bytes:
    """The body of /v1/batch: the stored events, each with the time of sending, as stored otherwise."""
    from datetime import UTC, datetime

    sent = f'"sentAt":"{iso(datetime.fromtimestamp(now, UTC))}"'.encode()
    return b"{" + sent + b',"batch":[' + b",".join([e[:-1] + b"," + sent + b"}" for e in events]) + b"]}"
