"""A worker as the host sees it: it has one program at a time, and runs one call at a time.

A worker's output is untrusted until its number, size and shape are checked.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from svctoolkit.errors import TransformationError
from svctoolkit.json_codec import encode
from svctoolkit.transformations._channel import Channel, ClosedError, unreadable
from svctoolkit.transformations._contract import Limits
from svctoolkit.transformations._frames import Answer, LoadAnswer, Request, Unit, decode
from svctoolkit.transformations._memory import shared
from svctoolkit.transformations._process import ANY_SIZE, LostWorkerError, Process

_READY_SECONDS, _READY_SIZE = 0.5, 16

Replies = Callable[[Sequence[Request], float], list[dict[str, Any]]]


class CallError(Exception):
    """The whole call failed; `answer.error` is the worker's report."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.error)
        self.answer = answer


class Worker(Process):
    """One process for all calls of a scope. For JavaScript, each call has its own realm in the process.

    `program` is the identity of the loaded program, `units` its files, `scope` the owner of the code in this process,
    `calls` the number of calls so far.
    """

    def __init__(self, language: str, memory: int = 128, without: Collection[str] = ()) -> None:
        self.program, self.scope = b"", ""
        super().__init__(language, memory, without)
        self.units: list[Unit] = []
        self.calls = 0
        self._number = 0
        self._is_ready = True

    @property
    def has_fresh_processes(self) -> bool:
        """Whether the next call runs in a process that has run no other call."""
        return False

    @property
    def alive(self) -> bool:
        """Whether it is running and silent: a worker that sends anything unasked cannot be trusted."""
        return super().alive and not (self.is_ready and self.channel.has_more())

    @property
    def is_ready(self) -> bool:
        """Whether it has cleaned up after its last call."""
        if not self._is_ready and self.channel.has_more():
            with contextlib.suppress(TimeoutError, ClosedError, TransformationError):
                self._await_ready(_READY_SECONDS)  # the message has arrived already
        return self._is_ready

    def _await_ready(self, seconds: float) -> None:
        if not self._is_ready:
            self.channel.receive(0, time.monotonic() + seconds, _READY_SIZE)
            self._is_ready = True

    def load(self, content: bytes, limits: Limits) -> LoadAnswer:
        """Return the worker's answer to a program.

        Raises `TransformationError` if a limit is exceeded; that ends the worker.
        """
        number = self._next_number()
        self._begin(lambda: self.channel.send(number, b"L", content, time.monotonic() + _READY_SECONDS + limits.time))
        with self._within(limits) as deadline:
            return decode(self.channel.receive(number, deadline, _most(ANY_SIZE)), LoadAnswer, ANY_SIZE)

    def run(self, content: bytes, limits: Limits, replies: Replies) -> Answer:
        """Return the results for events; `replies` answers requests in between. Raises like `load`.

        Raises `CallError` if the whole call fails.
        """
        number = self._next_number()
        self._begin(lambda: self.channel.send(number, b"R", content, time.monotonic() + _READY_SECONDS + limits.time))
        self.calls += 1
        try:
            with self._within(limits) as deadline:
                answer = answer_of(self.channel, number, deadline, limits, replies)
        finally:
            shared.leave(self.scope, self.id)
        if self.language == "python":  # without `fork`, only a new process starts afresh
            self.end()
        if answer.error is not None:
            raise CallError(answer)
        return answer

    def _check_memory(self) -> None:
        super()._check_memory()
        if self.scope:
            shared.check(self.scope, self.id, self.memory, self._resident_at_start)

    def _begin(self, send: Callable[[], None]) -> None:
        """Send a frame, and wait until the worker has cleaned up after the previous call. Then the time limit starts.

        The worker reads the frame meanwhile. One that does not finish cleaning up is ended.
        """
        try:
            send()
            self._await_ready(_READY_SECONDS)
        except (TimeoutError, ClosedError, TransformationError):
            self.end()
            raise LostWorkerError("the worker did not become ready after the previous call", kind="sandbox") from None
        self._is_ready = self.language != "javascript"  # Python without `fork` ends after this call

    def _next_number(self) -> int:
        self._number = (self._number + 1) % (1 << 32)
        return self._number

    @contextlib.contextmanager
    def _within(self, limits: Limits) -> Iterator[float]:
        """Yield the deadline. Any error before it ends the worker."""
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
    """Return the answer to a call that has been sent, and answer its requests. Raises like `Channel`.

    Requests are counted on this side, because user code could change a counter in the worker.
    """
    requests = 0
    while True:
        answer = decode(channel.receive(number, deadline, _most(limits)), Answer, limits)
        if answer.calls is None:
            return answer
        requests += len(answer.calls)
        if not answer.calls:
            raise unreadable()
        # An endless loop of requests would otherwise keep the host busy until the time limit.
        if requests > limits.calls:
            text = f"more than {limits.calls} requests in one call of the transformation"
            raise TransformationError(text, kind="output")
        channel.send(number, b"A", encode(replies(answer.calls, deadline)), deadline)


def timeout(limits: Limits, at: tuple[str, int, int] | None = None) -> TransformationError:
    """Return the error for a call that took too long; `at` is the position it had reached."""
    text = f"Script execution timed out. One call may take {limits.time:g} s."
    return TransformationError(text, name="Error", kind="time", at=at)


def _most(limits: Limits) -> int:
    """Return the maximum size of a frame: JSON makes text longer, and logs are included."""
    return 4 * limits.output_bytes + (4 << 20)
