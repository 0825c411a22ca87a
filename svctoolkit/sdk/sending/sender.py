"""From the queue to the data plane: one batch, its response, and the outcome for each event."""

from __future__ import annotations

import base64
import re
import time
from collections import deque
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from svctoolkit.errors import DeliveryError, is_survivable
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import LogLevel, Settings
from svctoolkit.sdk.base.timing import Alarm, iso
from svctoolkit.sdk.base.transport import Answering, Request, Transport
from svctoolkit.sdk.base.values import stored_object
from svctoolkit.sdk.queue.claims import Batch, Parked, Row
from svctoolkit.sdk.queue.direct import Mark
from svctoolkit.sdk.queue.queue import Queue
from svctoolkit.sdk.sending.answers import Answer, Verdict, basic, describe, retry_after, verdict
from svctoolkit.sdk.sending.http import HttpTransport
from svctoolkit.sdk.sending.lanes import Lane, lanes
from svctoolkit.sdk.sending.pause import Cause, Pause

TIMEOUT = 15.0
#: Number of batches that are claimed and settled together.
_BATCHES = 8
_RENEWAL_SECONDS = 10.0
#: After this number of refused events without a delivery, the data plane refuses everything: halving ends.
_HOPELESS = 64
_BODY = itemgetter(1)
_WITHOUT_BRACE = itemgetter(slice(-1))
_LOOPBACK = re.compile(r"https?://(localhost|127\.[\d.]+|\[::1\])(:|/|$)")


class Step(Enum):
    """Outcome of one attempt."""

    NOTHING = "nothing to send"
    SENT = "sent"
    LATER = "no success, to be tried again"
    PAUSED = "paused"


class _Outcome(NamedTuple):
    """Outcome of a batch so far; the rest of it waits for the next attempt."""

    batch: Batch
    delivered: list[Row]
    parked: list[Parked]


class Sender:
    """Sends the waiting events. After a failure, the alarm `retry` is set to the next attempt."""

    def __init__(
        self,
        queue: Queue,
        transport: Transport,
        reporter: Reporter,
        settings: Settings,
        write_key: str,
        pause: Pause,
    ) -> None:
        self.url = settings.data_plane_url
        self.retry = Alarm(settings.clock)
        self.asked_to_wait = False
        self.anonymous_id = ""
        self.last_answer = ""
        self._queue, self._transport, self._reporter = queue, transport, reporter
        self._settings, self._key, self._pause = settings, write_key, pause
        self._failures = 0
        self._refused = 0  # events that were parked since the last delivery
        self._following: Batch | None = None
        self._last: _Outcome | None = None

    def step(self, timeout: float = TIMEOUT) -> Step:
        """Send waiting events and settle them. Network and disk errors are reported, not raised.

        If many events are waiting, several batches are claimed and settled together. Two of them are in flight at a
        time, if they have different users. Meanwhile the outcome of the previous ones is stored and the next ones are
        claimed, so that disk and data plane work in parallel. `release` stores the last outcome and releases what is
        claimed. No request has more than `flushQueueSize` events.
        """
        # A pause keeps all events: sending them would only repeat the refusal.
        if self._pause.blocks:
            return Step.PAUSED
        size = self._settings.flush_queue_size
        following, self._following = self._following, None
        batch = following or self._queue.claim("cloud", max(size, self._several(self._queue.waiting)))
        if batch is None:
            return Step.NOTHING
        # A transport of the application may not be thread-safe, so it gets one request at a time.
        ways = lanes(batch, size, single=not isinstance(self._transport, HttpTransport))
        under_way = deque((lane, self._begin(lane, timeout)) for lane in ways)
        self._following = self._store_last(size if following and batch.token else 0, len(batch.rows))
        # Here, because a request is in flight anyway: moving pages from the log to the file costs no extra time.
        self._queue.checkpoint()
        self._last = outcome = _Outcome(batch, [], [])
        answer, failed = self._settle(outcome, under_way, timeout)
        if len(outcome.delivered) + len(outcome.parked) < len(batch.rows):
            self.release()  # the remaining events must be sent before the following ones
        elif self._following is None:
            self._following = self._store_last(size, 0)
        return self._conclude(answer, failed)

    def will_send(self, upto: Mark) -> bool:
        """Return whether stored events up to the mark `upto` are claimed for the next step."""
        return self._following is not None and 0 < self._following.rows[0][0] <= upto.id

    def after_fork(self) -> None:
        """Forget the batches of the parent process."""
        self._following = self._last = None  # they belong to the parent process

    def release(self) -> None:
        """Store the outcome of the last batch, and release the events that are claimed for the next one."""
        self._store_last(0, 0)
        following, self._following = self._following, None
        if following is not None:
            self._queue.finish(following, ())

    def _store_last(self, size: int, under_way: int) -> Batch | None:
        """Store the outcome of the last batches. With a `size`, also claim the full batches after them."""
        last, self._last = self._last, None
        before = 0 if last is None else len(last.batch.rows)
        then = self._several(self._queue.waiting - before - under_way) if size else 0
        if last is None:
            return self._queue.claim("cloud", then) if then else None
        return self._queue.finish(last.batch, last.delivered, last.parked, then=then)

    def _several(self, waiting: int) -> int:
        """Return how many of `waiting` events to claim together: full batches only."""
        size = self._settings.flush_queue_size
        return min(waiting // size, _BATCHES) * size

    def _settle(
        self, outcome: _Outcome, under_way: deque[tuple[Lane, Answering]], timeout: float
    ) -> tuple[Answer, int]:
        """Wait for the responses, halving rejected requests until the rejected events are isolated.

        If everything is refused, requests are parked as a whole: see `_HOPELESS`. Return the first failure (else the
        last answer) and the number of events that were not accepted. After the first failure or the timeout, no request
        is started; those in flight are waited for.
        """
        end, renewal = time.monotonic() + timeout, time.monotonic() + _RENEWAL_SECONDS
        failure, failed = None, 0
        while under_way:
            lane, answering = under_way.popleft()
            answer = self._answer(answering)
            if not self._take(answer, lane, outcome):
                failure, failed = failure or answer, failed + len(lane.rows)
            now = time.monotonic()
            if failure or lane.is_done or now > end:
                continue
            # A claim lasts a minute. Without this, another process would send the rest of a slow batch as well.
            if now > renewal:
                self._queue.renew(outcome.batch)
                renewal = now + _RENEWAL_SECONDS
            lane.advance()
            under_way.append((lane, self._begin(lane, timeout)))
        return failure or answer, failed

    def _take(self, answer: Answer, lane: Lane, outcome: _Outcome) -> bool:
        """Apply an answer to the events of its request. Return False if they have to be sent again."""
        rows = lane.rows
        if answer.verdict is Verdict.DONE:
            outcome.delivered.extend(rows)
            self._refused = 0
        elif answer.verdict is not Verdict.REFUSED:
            return False
        # A request that is too large (413) is not refused because of its events.
        elif len(rows) == 1 or (self._refused >= _HOPELESS and answer.status != 413):
            outcome.parked.extend(Parked(*row, answer.status, answer.text) for row in rows)
            self._report_parked(rows, answer)
        else:
            lane.halve()
        return True

    def _conclude(self, answer: Answer, failed: int) -> Step:
        if answer.verdict in (Verdict.DONE, Verdict.REFUSED):
            self._failures = 0
            self._pause.forget()
            return Step.SENT
        if answer.verdict is Verdict.LATER:
            self._failures += 1
            self._reporter.count("retried", failed)
            wait = self._settings.backoff(self._failures) if answer.retry_after is None else answer.retry_after
            # A `flush` may skip the client's own back-off, but not a wait that the server asked for.
            self.asked_to_wait = answer.retry_after is not None
            self.retry.set(wait)
            self._pause.lift()  # another answer means that the reason for the pause is gone
            text = f"{self.where} did not accept {failed} event(s): {answer.text}; next attempt in {wait:.1f} s"
            # 500 stands for no response at all.
            error = DeliveryError(text, code="ERETRY", status=answer.status or 500)
            self._reporter.error(error, LogLevel.WARN, topic="not taken")
            return Step.LATER
        self.pause_for(Cause.KEY if answer.verdict is Verdict.KEY else Cause.SOURCE, answer.text, answer.status)
        return Step.PAUSED

    def pause_for(self, cause: Cause, why: str, status: int) -> None:
        """Pause sending. The events are kept."""
        text = f"{cause.value}, according to {self.where} ({why})"
        # Report the start of a pause, not every probe that confirms it.
        if self._pause.begin(cause, text):
            error = DeliveryError(f"{text}; next check in {self._pause.remaining:.0f} s", code="EPAUSED", status=status)
            self._reporter.error(error, topic=cause.value)

    @property
    def where(self) -> str:
        """The data plane's URL, without credentials."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"

    def _report_parked(self, rows: Sequence[Row], answer: Answer) -> None:
        id = stored_object(rows[0][1]).get("messageId", "")
        before, self._refused = self._refused, self._refused + len(rows)
        if before:
            self._reporter.log(LogLevel.DEBUG, "%d event(s) from %s on are parked: %s", len(rows), id, answer.text)
            return
        folder = self._queue.directory
        command = f", or svctoolkit-client queue {folder} retry" if folder else ""
        text = (
            f"{self.where} refused event {id} ({answer.text}); it is parked, as are all that are refused after it. "
            f"To send parked events again: retry_parked(){command}"
        )
        error = DeliveryError(text, code="EREFUSED", status=answer.status)
        self._reporter.error(error, LogLevel.WARN, topic="refused")

    def _begin(self, lane: Lane, timeout: float) -> Answering:
        body = _envelope(map(_BODY, lane.rows), self._settings.clock())
        headers = {
            "Authorization": basic(self._key),
            "Content-Type": "application/json",
            "AnonymousId": base64.b64encode(self.anonymous_id.encode()).decode(),
        }
        # On the same machine, compressing costs more time than it saves.
        if self._settings.gzip and not _LOOPBACK.match(self.url):
            import gzip

            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body, compresslevel=1, mtime=0)  # similar events: higher levels gain little
        request = Request("POST", f"{self.url}/v1/batch", headers, body, timeout)
        self._reporter.log(LogLevel.VERBOSE, "%d bytes to %s", len(body), request.url)
        if isinstance(self._transport, HttpTransport):
            return self._transport.begin(request, lane.number)
        # Not started yet: other transports run in the worker's thread, when the answer is needed.
        return partial(self._transport.send, request)

    def _answer(self, answering: Answering) -> Answer:
        try:
            response = answering()
        except BaseException as error:
            if not is_survivable(error):
                raise
            self.last_answer = str(error) or type(error).__name__
            return Answer(Verdict.LATER, 0, self.last_answer, None)
        self.last_answer = describe(response)
        wait = retry_after(response.headers, self._settings.clock())
        self._reporter.log(LogLevel.VERBOSE, "answer %d", response.status)
        return Answer(verdict(response), response.status, self.last_answer, wait)


def _envelope(events: Iterable[bytes], now: float) -> bytes:
    """Return the body of /v1/batch: the stored events, unchanged but for the time of sending."""
    sent = f'"sentAt":"{iso(now)}"'.encode()
    # Stored events are JSON objects, so cutting off the last brace and adding `sentAt` avoids parsing them again.
    ended = b"," + sent + b"}"
    return b'{%b,"batch":[%b%b]}' % (sent, (ended + b",").join(map(_WITHOUT_BRACE, events)), ended)
