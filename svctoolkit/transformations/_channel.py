"""Frames between the host and a worker, from the host's side."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Callable, Sequence

from svctoolkit.errors import TransformationError

_HEAD = struct.Struct("<II")  # length, number of the call
_SMALL = 1 << 14
_WATCH_SECONDS = 0.05  # how often the memory of a long call is looked at


class ClosedError(Exception):
    """There is nobody at the other end any more."""


class Channel:
    """One end of a pair of sockets. `watch` is called now and then while an answer takes its time.

    Every frame carries the number of its call: an answer to any other call is not taken.
    """

    def __init__(self, connection: socket.socket, watch: Callable[[], None] | None = None) -> None:
        self._socket, self._watch = connection, watch
        self._buffer = bytearray(1 << 12)

    def send(self, number: int, letter: bytes, content: bytes, deadline: float, attached: Sequence[int] = ()) -> None:
        """Sends a frame, with descriptors if there are any. Raises `ClosedError`, `TimeoutError`."""
        head = _HEAD.pack(len(content) + 1, number) + letter
        # to copy much costs more than a call
        pieces = [head + content] if len(content) < _SMALL else [head, content]
        self._socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            if attached:
                socket.send_fds(self._socket, [pieces[0]], attached)
                pieces = pieces[1:]
            for piece in pieces:
                self._socket.sendall(piece)
        except (BrokenPipeError, ConnectionError):
            raise ClosedError from None

    def receive(self, number: int, deadline: float, most: int) -> bytes:
        """The content of the next frame. Raises `ClosedError`, `TimeoutError`, and `TransformationError`.

        The last for a frame of more than `most` bytes, or of another call.
        """
        size, answered = _HEAD.unpack(self._exactly(_HEAD.size, deadline))
        if answered != number:
            raise unreadable()
        if size > most:
            raise TransformationError(f"the output is larger than {most} bytes", kind="output")
        return bytes(self._exactly(size, deadline))

    def has_more(self) -> bool:
        """Whether something waits to be read, or the other end is closed."""
        self._socket.setblocking(False)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def _exactly(self, size: int, deadline: float) -> memoryview:
        """The next `size` bytes, in a buffer that is used again."""
        if len(self._buffer) < size:
            self._buffer = bytearray(size)
        content = memoryview(self._buffer)[:size]
        complete = 0
        while complete < size:
            complete += self._receive_into(content[complete:], deadline)
        return content

    def _receive_into(self, space: memoryview, deadline: float) -> int:
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self._socket.settimeout(min(remaining, _WATCH_SECONDS) if self._watch else remaining)
            try:
                count = self._socket.recv_into(space)
            except ConnectionError:
                count = 0
            except TimeoutError:
                if self._watch is not None:
                    self._watch()
                continue
            if not count:
                raise ClosedError
            return count

    def close(self) -> None:
        self._socket.close()


class Words:
    """What a process writes to its stderr: last words, and where it is when it is asked."""

    def __init__(self) -> None:
        self._read, self.descriptor = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self.descriptor, False)  # nobody waits for a reader

    def hand_over(self) -> None:
        """The other process has its end now."""
        os.close(self.descriptor)
        self.descriptor = -1

    def text(self) -> str:
        """What has come since the last look."""
        try:
            return os.read(self._read, 1 << 16).decode("utf-8", "replace")
        except OSError:
            return ""

    def fileno(self) -> int:
        return self._read

    def close(self) -> None:
        for descriptor in (self._read, self.descriptor):
            with contextlib.suppress(OSError):
                if descriptor >= 0:
                    os.close(descriptor)
        self._read = self.descriptor = -1


def unreadable() -> TransformationError:
    """What came out of a worker is no answer."""
    return TransformationError("the sandbox gave an answer that cannot be read", kind="output")
