"""A worker, seen from the host: it has one program at a time, and runs one call at a time.

What comes out of one is hostile until it is shown to have the right number, size and shape.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from svctoolkit.errors import TransformationError
from svctoolkit.transformations._channel import Channel, ClosedError, unreadable
from svctoolkit.transformations._contract import Limits
from svctoolkit.transformations._frames import Answer, LoadAnswer, Request, Unit, decode, encode
from svctoolkit.transformations._process import ANY_SIZE, Process

_READY_SECONDS, _READY_SIZE = 0.5, 16

Replies = Callable[[Sequence[Request], float], list[dict[str, Any]]]


class CallError(Exception):
    """The whole call failed; `answer.error` is what the worker says about it."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.error)
        self.answer = answer


class LostWorkerError(TransformationError):
    """A worker is of no use any more, for no fault of the code that it was to run: another one can run it."""


class Worker(Process):
    """One process for all calls of a scope. JavaScript: each call has a realm of its own in it.

    `program` is the digest of what is loaded, `units` its files, `scope` whose code the process has had, `calls` how
    many there were.
    """

    #: whether no process has had a call before the one that it runs
    has_fresh_processes = False

    def __init__(self, language: str, memory: int = 128, without: Collection[str] = ()) -> None:
        super().__init__(language, memory, without)
        self.program = self.scope = ""
        self.units: list[Unit] = []
        self.calls = 0
        self._number = 0
        self._is_ready = True

    @property
    def alive(self) -> bool:
        """Whether it runs and has nothing to say: a worker that speaks unasked is not to be believed."""
        return super().alive and not (self.is_ready and self.channel.has_more())

    @property
    def is_ready(self) -> bool:
        """Whether it has cleaned up after its last call."""
        if not self._is_ready and self.channel.has_more():
            with contextlib.suppress(TimeoutError, ClosedError, TransformationError):
                self._await_ready(_READY_SECONDS)  # it is there already
        return self._is_ready

    def _await_ready(self, seconds: float) -> None:
        if not self._is_ready:
            self.channel.receive(0, time.monotonic() + seconds, _READY_SIZE)
            self._is_ready = True

    def load(self, content: bytes, limits: Limits) -> LoadAnswer:
        """The worker's answer to a program. Raises `TransformationError` for a breach; the worker has ended then."""
        number = self._next_number()
        self._begin(lambda: self.channel.send(number, b"L", content, time.monotonic() + _READY_SECONDS + limits.time))
        with self._within(limits) as deadline:
            return decode(self.channel.receive(number, deadline, _most(ANY_SIZE)), LoadAnswer, ANY_SIZE)

    def run(self, content: bytes, limits: Limits, replies: Replies) -> Answer:
        """The results for events; `replies` answers the requests on the way. Raises like `load`.

        Raises `CallError` for a failure of the whole call.
        """
        number = self._next_number()
        self._begin(lambda: self.channel.send(number, b"R", content, time.monotonic() + _READY_SECONDS + limits.time))
        self.calls += 1
        with self._within(limits) as deadline:
            answer = answer_of(self.channel, number, deadline, limits, replies)
        if self.language == "python":  # without `fork` there is no other way to start afresh
            self.end()
        if answer.error is not None:
            raise CallError(answer)
        return answer

    def _begin(self, send: Callable[[], None]) -> None:
        """Sends a frame, and waits until the worker has cleaned up after the call before; only then time starts.

        It reads the frame meanwhile. One that does not get there ends.
        """
        try:
            send()
            self._await_ready(_READY_SECONDS)
        except (TimeoutError, ClosedError, TransformationError):
            self.end()
            raise LostWorkerError("the worker did not get ready after the call before", kind="sandbox") from None
        self._is_ready = self.language != "javascript"  # Python without `fork` has no call after this

    def _next_number(self) -> int:
        self._number = (self._number + 1) % (1 << 32)
        return self._number

    @contextlib.contextmanager
    def _within(self, limits: Limits) -> Iterator[float]:
        """Until when; whatever goes wrong until then ends the worker."""
        try:
            yield time.monotonic() + limits.time
        except TimeoutError:
            self.end()
            raise timeout(limits) from None
        except ClosedError:
            raise self.death() from None
        except TransformationError:
            self.end()
            raise


def answer_of(channel: Channel, number: int, deadline: float, limits: Limits, replies: Replies) -> Answer:
    """What becomes of a call that has been sent; answers its requests until then. Raises like `Channel`.

    Requests are counted here: what counts in the worker is in reach of the code that runs there.
    """
    requests = 0
    while True:
        answer = decode(channel.receive(number, deadline, _most(limits)), Answer, limits)
        if answer.calls is None:
            return answer
        requests += len(answer.calls)
        if not answer.calls:
            raise unreadable()
        if requests > limits.calls:
            text = f"more than {limits.calls} requests in one call of the transformation"
            raise TransformationError(text, kind="output")
        channel.send(number, b"A", encode(replies(answer.calls, deadline)), deadline)


def timeout(limits: Limits, at: tuple[str, int, int] | None = None) -> TransformationError:
    """A call took too long; `at` is where it was then."""
    text = f"Script execution timed out. One call may take {limits.time:g} s."
    return TransformationError(text, name="Error", kind="time", at=at)


def _most(limits: Limits) -> int:
    """The bytes of a frame: texts are longer as JSON, and logs come with them."""
    return 4 * limits.output_bytes + (4 << 20)
