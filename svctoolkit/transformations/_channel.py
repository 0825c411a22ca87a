"""Frames between the host and a worker, on the host's side."""

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
_WATCH_SECONDS = 0.05  # how often the memory of a long call is checked


class ClosedError(Exception):
    """The other end is closed."""


class Channel:
    """One end of a socket pair. `watch` is called periodically while waiting for an answer.

    Every frame has the number of its call: an answer to any other call is rejected.
    """

    def __init__(self, connection: socket.socket, watch: Callable[[], None] | None = None) -> None:
        self._socket, self.watch = connection, watch
        self._buffer = bytearray(1 << 12)

    def send(self, number: int, letter: bytes, content: bytes, deadline: float, attached: Sequence[int] = ()) -> None:
        """Send a frame, with descriptors if there are any. Raises `ClosedError`, `TimeoutError`."""
        head = _HEAD.pack(len(content) + 1, number) + letter
        # copying a lot costs more than a second call
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
        """Return the content of the next frame. Raises `ClosedError`, `TimeoutError`, and `TransformationError`.

        `TransformationError` is for a frame of more than `most` bytes, or of another call.
        """
        size, answered = _HEAD.unpack(self._exactly(_HEAD.size, deadline))
        # A late answer of an earlier call, or a forged one: neither may be taken for this event's result.
        if answered != number:
            raise unreadable()
        # Checked before any of it is read, so that a worker cannot fill the host's memory.
        if size > most:
            raise TransformationError(f"the output is larger than {most} bytes", kind="output")
        return bytes(self._exactly(size, deadline))

    def has_more(self) -> bool:
        """Whether there is data to read, or the other end is closed."""
        self._socket.setblocking(False)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def _exactly(self, size: int, deadline: float) -> memoryview:
        """Return the next `size` bytes, in a reused buffer."""
        if len(self._buffer) < size:
            # Kept and reused: allocating megabytes for every answer costs more than copying them.
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
            # Wakes up regularly to check V8's memory, which the kernel does not limit.
            self._socket.settimeout(min(remaining, _WATCH_SECONDS) if self.watch else remaining)
            try:
                count = self._socket.recv_into(space)
            except ConnectionError:
                count = 0
            except TimeoutError:
                if self.watch is not None:
                    self.watch()
                continue
            if not count:
                raise ClosedError
            return count

    def close(self) -> None:
        self._socket.close()


class Words:
    """A process's stderr: its last words, and its position when the host asks for it."""

    def __init__(self) -> None:
        self._read, self.descriptor = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self.descriptor, False)  # a writer never waits for a reader

    def hand_over(self) -> None:
        """Close our copy of the writing end, which now belongs to the other process. Harmless after `close`."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1

    def text(self) -> str:
        """Return what has arrived since the last call."""
        try:
            # At most a pipe's capacity: code that prints without end only fills the pipe.
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
    """Return the error for worker output that is not a valid answer."""
    return TransformationError("the sandbox returned an unreadable answer", kind="output")
