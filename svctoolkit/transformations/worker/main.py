"""The process that runs a transformation: imports what it needs, locks itself, then serves one host.

Started as `python -I -S -B main.py CONFIG`. Frames on the channel are a length (4 bytes, little-endian) and that many
bytes; the host's begin with one letter: L (a program to load), R (events to run: a line with the events, and one with
their metadata), A (answers to requests).
"""

from __future__ import annotations

import gc
import json
import os
import struct
import sys
from collections.abc import Callable
from typing import Any

OUT_OF_MEMORY = 3  # exit status


def _channel(descriptor: int, share: str) -> tuple[Callable[[], tuple[bytes, bytes]], Callable[[bytes], None]]:
    """Reads and writes frames. They are closures: user code has no module to patch them in."""
    read, write, pack, unpack, leave = os.read, os.write, struct.pack, struct.unpack, os._exit
    if share:  # Windows passes no descriptors
        import socket

        peer = socket.fromshare(bytes.fromhex(share))  # type: ignore[attr-defined]
        read, write = lambda _fd, size: peer.recv(size), lambda _fd, data: peer.send(data)

    def exactly(size: int) -> bytes:
        chunks = []
        while size:
            chunk = read(descriptor, min(size, 1 << 20))
            if not chunk:
                leave(0)  # the host is gone
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)

    def receive() -> tuple[bytes, bytes]:
        size, kind = unpack("<Ic", exactly(5))
        return kind, exactly(size - 1)

    def send(frame: bytes) -> None:
        rest = memoryview(pack("<I", len(frame)) + frame)
        while rest:
            rest = rest[write(descriptor, rest) :]

    return receive, send


def _lock(config: dict[str, Any], engine: Any) -> dict[str, str]:
    """Starts the engine inside the locks. Which of them hold, in words."""
    if not sys.platform.startswith("linux"):
        engine.start()
        return {}
    import lock  # type: ignore[import-not-found]  # beside this file, which runs as a script

    without = config["without"]
    status = os.open("/proc/self/status", os.O_RDONLY)
    active = lock.before_threads(config["parent"], without)
    engine.start()
    gc.collect()
    used = lock.memory_use(status)
    memory = config["memory"] + engine.spare
    return {**active, **lock.after_start(memory, used, jit=engine.jit, without=without)}


class _Probe:
    """No engine: only the locks, to see which there are."""

    jit = False
    spare = 0

    def start(self) -> None:
        """There is nothing to start."""


def _engine(config: dict[str, Any]) -> Any:
    if config["language"] == "probe":
        return _Probe()
    if config["language"] == "python":
        import python  # type: ignore[import-not-found]

        return python.Engine(config)
    import javascript  # type: ignore[import-not-found]

    return javascript.Engine(config)


def main() -> None:
    """Serves until the host is gone."""
    config = json.loads(sys.argv[1])
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    receive, send = _channel(config["channel"], sys.stdin.readline().strip() if config["shared"] else "")
    engine = _engine(config)
    os.environ.clear()
    encode, decode, leave = json.dumps, json.loads, os._exit
    send(encode({"ready": _lock(config, engine)}).encode())

    def ask(calls: bytes) -> list[dict[str, Any]]:
        send(calls)
        answers: list[dict[str, Any]] = decode(receive()[1])
        return answers

    while True:
        kind, payload = receive()
        try:
            if kind == b"R":
                send(engine.run(payload, ask))
                engine.clean()
            else:
                send(encode(engine.load(decode(payload))).encode())
        except MemoryError:
            leave(OUT_OF_MEMORY)


try:
    main()
except MemoryError:
    os._exit(OUT_OF_MEMORY)
except BaseException as error:  # noqa: BLE001 - the host is told by the exit status and stderr
    os.write(2, f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace"))
    os._exit(1)
