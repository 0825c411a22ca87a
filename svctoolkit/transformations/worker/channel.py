"""Frames to and from the host: a length and the number of the call (4 bytes each, little-endian), then the content.

The host's content begins with a letter for its kind. The number ties an answer to its call: the host rejects all
others.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

TYPE_CHECKING = False  # `typing` takes longer to import than this package's modules
if TYPE_CHECKING:
    from typing import Any

_HEAD = struct.Struct("<II")
_SMALL = 1 << 14

Read = Callable[[int], bytes]
Write = Callable[[bytes | memoryview], int]
Receive = Callable[[], tuple[int, bytes, bytes]]
Send = Callable[[int, bytes], None]


def frames(read: Read, write: Write, leave: Callable[[int], object] = os._exit) -> tuple[Receive, Send]:
    """Return functions that receive (number, letter, content) and send. User code cannot patch them: they are closures.

    When the host disconnects, the process ends: `leave` ends it.
    """
    head, pack = _HEAD.unpack, _HEAD.pack

    def exactly(size: int) -> bytes:
        chunks = []
        while size:
            chunk = read(min(size, 1 << 20))
            if not chunk:
                leave(0)
            chunks.append(chunk)
            size -= len(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def receive() -> tuple[int, bytes, bytes]:
        size, number = head(exactly(8))
        content = exactly(size)
        return number, content[:1], content[1:]

    def send(number: int, content: bytes) -> None:
        start = pack(len(content), number)
        # copying a lot costs more than a second call
        for piece in (start + content,) if len(content) < _SMALL else (start, content):
            rest = memoryview(piece)
            while rest:
                rest = rest[write(rest) :]

    return receive, send


def of_descriptor(descriptor: int) -> tuple[Receive, Send]:
    """Return frames over a socket or pipe."""
    read, write = os.read, os.write
    return frames(lambda size: read(descriptor, size), lambda content: write(descriptor, content))


def read_with_descriptors(control: Any, size: int, descriptors: list[int]) -> bytes:
    """Read at most `size` bytes from a socket, and add the descriptors that come with them."""
    content, ancillary, _, _ = control.recvmsg(size, 64)
    for _, _, data in ancillary:
        descriptors += memoryview(data).cast("i")
    return bytes(content)


def of_share(share: str) -> tuple[Receive, Send]:
    """Return frames over a socket shared the Windows way, because Windows does not pass descriptors."""
    import socket

    peer = socket.fromshare(bytes.fromhex(share))  # type: ignore[attr-defined]
    return frames(peer.recv, peer.send)
