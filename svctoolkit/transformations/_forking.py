"""A worker that gives each call its own child process and channel."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import count
from typing import Any

from svctoolkit.errors import TransformationError
from svctoolkit.transformations._channel import Channel, ClosedError, Words
from svctoolkit.transformations._contract import Limits
from svctoolkit.transformations._frames import Answer, ControlAnswer, LoadAnswer, Request, decode
from svctoolkit.transformations._layers import unconfirmed_of_child
from svctoolkit.transformations._memory import out_of_memory, resident_bytes, shared
from svctoolkit.transformations._process import ANY_SIZE, LostWorkerError, cause_of_death
from svctoolkit.transformations._worker import CallError, Replies, Worker, answer_of, timeout

_CONTROL_SECONDS = 20.0  # for commands to the parent, which runs no user code: fork a child, end it
_WHERE_SECONDS = 0.3
_READY_SECONDS, _READY_SIZE = 0.5, 16
_LARGEST = 64 << 20  # bytes; the largest answer of the parent
_FRAME = re.compile(r'File "([^"\n]{1,200})", line (\d{1,9}) in')


class _Child:
    """A process for one call, as the host sees it. Its descriptors are passed to the parent that forks it."""

    def __init__(self, number: int) -> None:
        self.number, self.ended = number, False
        self.process = self.before = 0  # before: its memory when it has seen no code yet, in bytes
        connection, theirs = socket.socketpair()
        self.channel, self._theirs = Channel(connection), theirs
        self.words = Words()

    @property
    def descriptors(self) -> list[int]:
        return [self._theirs.fileno(), self.words.descriptor]

    def hand_over(self) -> None:
        self._theirs.close()
        self.words.hand_over()

    def close(self) -> None:
        self.ended = True
        self._theirs.close()
        self.channel.close()
        self.words.close()


class ForkingWorker(Worker):
    """Talks to the parent over the process's channel, and to each child over a channel created for its call.

    The next child is requested while one runs, and the parent ends each child after its answer: what a call leaves
    behind ends with it, and what it writes late is never read. A child of stateless code is kept for the next call.
    """

    def __init__(self, language: str, memory: int = 128, without: Collection[str] = ()) -> None:
        self._next: _Child | None = None
        self._kept: _Child | None = None
        self._is_stateless = False
        super().__init__(language, memory, without)
        self._numbers = count(1)
        self._expected: deque[tuple[bytes, int]] = deque()  # commands that the parent has not answered yet, in order
        self._answers: dict[tuple[bytes, int], bytes] = {}
        self._verified = False

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def has_fresh_processes(self) -> bool:
        return self._kept is None

    def load(self, content: bytes, limits: Limits) -> LoadAnswer:
        """See `Worker`. The parent compiles the program, and a child runs its top level."""
        with self._control():
            for child in filter(None, (self._next, self._kept)):
                self._end_child(child)  # forked from another program
            self._next = self._kept = None
            number = next(self._numbers)
            self._command(b"L", number, content)
            try:
                answer = decode(self._answer_to(b"L", number, limits.time), LoadAnswer, ANY_SIZE)
            except TimeoutError:  # some code takes CPython forever to compile
                self.end()
                raise timeout(limits) from None
        self._is_stateless = answer.stateless
        if answer.error is None:
            answer.error = self._call(b"C", b"", limits, _no_replies).error
        return answer

    def run(self, content: bytes, limits: Limits, replies: Replies) -> Answer:
        """See `Worker`. An exceeded limit ends only the child."""
        self.calls += 1
        answer = self._call(b"R", content, limits, replies)
        if answer.error is not None:
            raise CallError(answer)
        return answer

    def _call(self, letter: bytes, content: bytes, limits: Limits, replies: Replies) -> Answer:
        child = self._take_kept() or self._take_fresh()
        # The time limit starts when the child is locked down, so that a slow machine does not shorten it.
        deadline, number = time.monotonic() + limits.time, next(self._numbers)
        stays = False
        try:
            child.channel.send(number, letter, content, deadline)
            if self._next is None and not (self._is_stateless and letter == b"R"):
                with self._control():
                    self._next = self._fork()  # while this one runs
            child.channel.watch = lambda: self._check_memory_of(child)
            answer = answer_of(child.channel, number, deadline, limits, replies)
            stays = self._is_stateless and letter == b"R"
            return answer
        except TimeoutError:
            raise timeout(limits, self._place(child)) from None
        except ClosedError:
            raise self._death_of(child) from None
        finally:
            shared.leave(self.scope, child.process)
            if stays:
                self._kept = child
            else:
                self._end_child(child)

    def _take_kept(self) -> _Child | None:
        """Return the child of the previous call if it is ready for another."""
        child, self._kept = self._kept, None
        if child is None:
            return None
        try:
            child.channel.watch = None
            child.channel.receive(0, time.monotonic() + _READY_SECONDS, _READY_SIZE)
        except (ClosedError, TimeoutError, TransformationError):  # it has used too much, and ended
            self._end_child(child)
            return None
        return child

    def _take_fresh(self) -> _Child:
        with self._control():
            # Usually forked already, while the previous call ran: a fork takes most of a millisecond.
            child = self._next or self._fork()
            self._next = None
            try:
                self._verify_child(child)
            except BaseException:
                child.close()  # no other reference to it is left
                raise
        return child

    def _check_memory_of(self, child: _Child) -> None:
        """Check the memory that a child shares with others; on macOS also its own, which that kernel does not limit."""
        if sys.platform == "darwin" and resident_bytes(child.process) > child.before + (self.memory << 20):
            raise out_of_memory(self.memory)
        if self.scope:
            shared.check(self.scope, child.process, self.memory, child.before)

    @contextlib.contextmanager
    def _control(self) -> Iterator[None]:
        """Talk to the parent, which runs no user code: if that fails, the worker is no longer usable."""
        try:
            yield
        except (ClosedError, TimeoutError, OSError):
            death = self.death()
            if death.kind == "memory":
                raise death from None
            raise LostWorkerError(f"the sandbox has ended: {death.message}", kind="sandbox") from None
        except TransformationError:
            self.end()
            raise

    def _command(self, letter: bytes, number: int, content: bytes = b"", attached: Sequence[int] = ()) -> None:
        self.channel.send(number, letter, content, time.monotonic() + _CONTROL_SECONDS, attached)
        self._expected.append((letter, number))

    def _answer_to(self, letter: bytes, number: int, seconds: float = _CONTROL_SECONDS) -> bytes:
        """Return the parent's answer to this. Earlier answers come first; those about another child are kept."""
        while (letter, number) not in self._answers:
            if not self._expected:  # the command was not sent
                raise ClosedError
            question = self._expected.popleft()
            frame = self.channel.receive(question[1], time.monotonic() + seconds, _LARGEST)
            if question[0] == b"F" or question == (letter, number):
                self._answers[question] = frame
        return self._answers.pop((letter, number))

    def _fork(self) -> _Child:
        child = _Child(next(self._numbers))
        try:
            self._command(b"F", child.number, attached=child.descriptors)
            child.hand_over()
        except BaseException:
            child.close()
            raise
        return child

    def _end_child(self, child: _Child) -> None:
        """End the child now, whatever it is doing. Harmless if it has ended already."""
        if not child.ended:
            child.close()
            with contextlib.suppress(ClosedError, TimeoutError, OSError):  # the next call will notice
                # Killed by the parent: only it may wait for its child, and the host must not signal a reused process
                # id.
                self._command(b"K", child.number)

    def _verify_child(self, child: _Child) -> None:
        """Wait until the child is locked down, and verify it from outside.

        Done once per worker: all its children are locked by the same steps, and end if one of them fails.
        """
        process = child.process = decode(self._answer_to(b"F", child.number), ControlAnswer, ANY_SIZE).child
        # The child reports that it is locked down before it sees any code.
        child.channel.receive(0, time.monotonic() + _CONTROL_SECONDS, 16)
        child.before = resident_bytes(process)  # less than its parent has: a fork copies only some of the page tables
        if not self._verified and (lost := unconfirmed_of_child(process, self.layers)):
            text = f"a child reports locks that the kernel does not show: {', '.join(lost)}"
            raise TransformationError(text, kind="sandbox")
        self._verified = True

    def _place(self, child: _Child) -> tuple[str, int, int] | None:
        """Return the file and line that a stuck child has reached, as its faulthandler prints them."""
        text, until = "", time.monotonic() + _WHERE_SECONDS
        child.words.text()
        poll = select.poll()  # accepts descriptors of any number
        poll.register(child.words, select.POLLIN)
        with contextlib.suppress(ClosedError, TimeoutError, OSError):
            self._command(b"S", child.number)
            while (remaining := until - time.monotonic()) > 0:
                poll.poll(remaining * 1000)
                text += child.words.text()
                for file, line in _FRAME.findall(text):
                    if any(unit.file == file for unit in self.units):
                        return file, int(line), 0
        return None

    def _death_of(self, child: _Child) -> TransformationError:
        words = child.words.text()
        self._end_child(child)
        with self._control():
            status = decode(self._answer_to(b"K", child.number), ControlAnswer, ANY_SIZE).status
        return cause_of_death(status, words, self.language, self.memory)

    def end(self) -> None:
        """End the parent, and its children with it."""
        for child in filter(None, (self._next, self._kept)):
            child.close()
        self._next = self._kept = None
        super().end()


def _no_replies(requests: Sequence[Request], _deadline: float) -> list[dict[str, Any]]:
    error = "requests are answered while events run, not while the transformation is loaded"
    return [{"id": request.id, "value": None, "error": error} for request in requests]
