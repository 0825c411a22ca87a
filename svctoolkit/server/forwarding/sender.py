"""Send batches to a data plane, one after another: at a limited rate, with retries, and without what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from svctoolkit.delivery import HttpResponse, Transport
from svctoolkit.errors import DeliveryError, Forbidden, ToolkitError
from svctoolkit.secrets import Masker, Secret, reveal, secret_texts
from svctoolkit.server.batches import Batch, Verdict, body_of, halves, judge, request_of
from svctoolkit.server.worker.backoff import Backoff
from svctoolkit.server.worker.lanes.throttle import Limiter

#: Retries go on for ten minutes: a receiver that is restarted, or a short failure of the network, needs no person.
_BACKOFF = Backoff(attempts=10, seconds=600.0, first=1.0, most=60.0)
_SECONDS = 60.0  # for one request
_WRONG_ADDRESS = ("ENOTFOUND", "EPROTO", "ERR_INVALID_URL")
_ALL_REFUSED = 20  # events from the start on: it would be the same for all others


class ForwardStopped(ToolkitError):
    """The receiver accepts no further batch; the text says why and what to do."""


class Part(NamedTuple):
    """Events of a batch that need no further request: accepted, or one event that was refused for a `reason`."""

    events: Batch
    reason: str = ""


class Sender:
    """Sends the batches of sources to the data plane at `url`, with the write key of each.

    `sleep` waits some seconds, or less if `is_stopped` becomes true; `waiting` is called before a retry with its delay
    and the reason. Redirects must not be followed by `transport`, or they could get the write key.
    """

    def __init__(
        self,
        url: str,
        keys: Mapping[str, Secret | str],
        transport: Transport,
        limiter: Limiter | None,
        *,
        clock: Callable[[], datetime],
        sleep: Callable[[float], object],
        is_stopped: Callable[[], bool],
        waiting: Callable[[float, str], object],
    ) -> None:
        self._url, self._keys, self._transport, self._limiter = url, keys, transport, limiter
        self._mask = Masker.of(tuple(secret_texts(list(keys.values())))).text
        self._clock, self._sleep, self.is_stopped, self._waiting = clock, sleep, is_stopped, waiting
        #: requests that were accepted or refused, and those that had to be repeated
        self.requests = self.retries = 0
        #: events
        self.accepted = self.refused = 0

    def send(self, batch: Batch) -> Iterator[Part]:
        """Send a batch. Yield its parts in order, each when it is settled; fewer if stopped. Raises `ForwardStopped`.

        A refused batch is halved until the refused events are isolated.
        """
        waiting = [batch]
        while waiting and not self.is_stopped():
            part = waiting.pop()
            verdict = self._deliver(part)
            if verdict is None:
                return
            self.requests += 1
            if verdict.kind == "refused" and len(part) > 1:
                waiting += reversed(halves(part))
                continue
            self._count(part, verdict)
            yield Part(part, verdict.reason)
            if self.refused >= _ALL_REFUSED and not self.accepted:
                raise ForwardStopped(
                    f"{self._url} refused the first {self.refused} events ({verdict.reason}): is it a data plane that "
                    "accepts these events?"
                )

    def _count(self, part: Batch, verdict: Verdict) -> None:
        if verdict.kind == "accepted":
            self.accepted += len(part)
        else:
            self.refused += len(part)

    def _deliver(self, batch: Batch) -> Verdict | None:
        """Send a batch until it is accepted or refused; None if stopped. Raises `ForwardStopped`."""
        failures, began = 0, self._clock()
        while self._may_send(len(batch)):
            verdict = self._ask(batch)
            if verdict.kind in ("accepted", "refused"):
                return verdict
            if verdict.kind == "stop":
                raise ForwardStopped(_explain(self._url, batch[0].source, verdict))
            failures += 1
            age = (self._clock() - began).total_seconds()
            if _BACKOFF.gives_up(failures, age, throttled=verdict.throttled):
                raise ForwardStopped(
                    f"{self._url} has accepted no batch for {age:,.0f} s ({verdict.reason}); "
                    "run the command again to continue"
                )
            self.retries += 1
            pause = _BACKOFF.pause(failures, verdict.retry_after)
            self._waiting(pause, verdict.reason)
            self._sleep(pause)
        return None

    def _may_send(self, events: int) -> bool:
        """Wait until the rate allows these events. Return false if stopped."""
        while not self.is_stopped():
            events -= self._limiter.take(events) if self._limiter else events
            if not events:
                return True
            # A clock has microseconds: less might not move it.
            self._sleep(max(0.001, self._limiter.seconds_left() if self._limiter else 0.0))
        return False

    def _ask(self, batch: Batch) -> Verdict:
        now = self._clock()
        request = request_of(self._url, str(reveal(self._keys[batch[0].source])), body_of(batch, now))
        try:
            answer: HttpResponse = self._transport(request, timeout=_SECONDS)
        except Forbidden as error:
            raise ForwardStopped(str(error)) from error
        except DeliveryError as error:
            # Later it may be a failure of the network. At the start, it is more likely the address.
            if not self.accepted and (error.code in _WRONG_ADDRESS or "CERT" in error.code):
                raise ForwardStopped(str(error)) from error
            return Verdict("retry", str(error))
        return judge(answer, self._clock().timestamp(), self._mask)


def _explain(url: str, source: str, verdict: Verdict) -> str:
    """Return why no batch would be accepted, and what to do."""
    if verdict.status in (401, 403):
        advice = f"use the write key of the source {source} there, with --write-key or --source {source}=KEY"
    elif "source is disabled" in verdict.reason:  # the gateway's own text; its status is also that of a wrong path
        advice = "enable the source there"
    elif 300 <= verdict.status < 400:
        advice = "redirects are not followed, because they could leak the write key; give the new address to --to"
    else:
        advice = "is this the address of a data plane? /v1/batch is appended to it"
    return f"{url} answered {verdict.reason}: {advice}"
