"""Send the events of a store, with progress in a terminal, and report the result."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Exit
from svctoolkit.cli._progress import Progress
from svctoolkit.cli.commands.forward import _options
from svctoolkit.delivery.live import transport_for
from svctoolkit.errors import ConfigError
from svctoolkit.interrupts import stop_requests
from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker, Secret, secret_texts
from svctoolkit.server.forwarding.forward import forward
from svctoolkit.server.forwarding.position import Position
from svctoolkit.server.forwarding.reader import Reader
from svctoolkit.server.forwarding.sender import ForwardStopped, Part, Sender
from svctoolkit.server.worker.lanes.throttle import Limiter

_SHOWN = 20  # refused events
_STEP = 0.2  # seconds after which Ctrl-C is noticed


def send(args: argparse.Namespace, to: str, reader: Reader, position: Position, keys: Mapping[str, Secret]) -> int:
    """Send the events of these sources, report the result and return the exit code."""
    of_sources = [position.of(name) for name in keys]
    before = sum(of.sent + of.refused for of in of_sources)
    left = reader.left({name: position.of(name).seq for name in keys})
    if before and not left and not args.json:
        _terminal.out(f"nothing new: all {before:,} events were sent before ({position.path.name})")
        return Exit.OK
    if before and not args.json:
        _terminal.out(f"{before:,} of {before + left:,} events were sent before ({position.path.name})")
    result = _Result(to, before, reader, position, Masker.of(tuple(secret_texts(list(keys.values())))))
    with (
        stop_requests(_announce_stop) as is_stopped,
        _appending(args.refused) as refused,
        Progress("events", before + left, earlier=before) as progress,
    ):
        wait, limit = _Wait(progress, is_stopped, result.masker), _options.throttle(args.rate, args.batch)
        sender = Sender(
            to, keys, transport_for((), loopback=True, redirects=0), Limiter(limit, _now) if limit else None,
            clock=_now, sleep=wait.sleep, is_stopped=is_stopped, waiting=wait.because,
        )  # fmt: skip

        def settled(part: Part) -> None:
            result.add(part, refused)
            progress.step(len(part.events))

        try:
            forward(reader, position, list(keys), args.batch, sender, settled)
        except ForwardStopped as error:
            result.problem = str(error)
        result.is_interrupted = is_stopped()
    return result.report(sender, as_json=args.json)


def _announce_stop() -> None:
    with suppress(OSError):
        os.write(2, b"\nsvctoolkit: stopping after this request; Ctrl-C again stops at once\n")


def _now() -> datetime:
    return datetime.now(UTC)


@contextmanager
def _appending(path: str | None) -> Iterator[Callable[[bytes], object] | None]:
    """Yield a function that adds to a file; None without one. Both raise `ConfigError`."""
    if path is None:
        yield None
        return

    def failed(error: OSError) -> ConfigError:
        return ConfigError(f"cannot be written: {error.strerror}", where=path)

    try:
        # Without a buffer, so that a killed process leaves whole lines.
        file = open(path, "ab", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise failed(error) from error

    def append(data: bytes) -> None:
        try:
            file.write(data)
        except OSError as error:
            raise failed(error) from error

    with file:
        yield append


class _Wait:
    """Waits for the next attempt or for the rate, and shows why."""

    def __init__(self, progress: Progress, is_stopped: Callable[[], bool], masker: Masker) -> None:
        self._progress, self._is_stopped, self._masker, self._reason = progress, is_stopped, masker, ""

    def because(self, seconds: float, reason: str) -> None:
        """Note the reason of the next wait; without a terminal, print it."""
        self._reason = _terminal.plain(self._masker.text(reason))
        if not self._progress.is_shown:
            _terminal.err(f"{self._reason}; next attempt in {seconds:.1f} s")

    def sleep(self, seconds: float) -> None:
        """Wait, but not longer than until Ctrl-C."""
        end = time.monotonic() + seconds
        while not self._is_stopped() and (left := end - time.monotonic()) > 0:
            if self._reason:
                self._progress.say(f"next attempt in {left:.0f} s: {self._reason}")
            time.sleep(min(left, _STEP))
        self._reason = ""


@dataclass
class _Result:
    to: str
    before: int
    reader: Reader
    position: Position
    masker: Masker
    sent: int = 0
    refused: int = 0
    examples: list[dict[str, Json]] = field(default_factory=list)
    problem: str = ""
    is_interrupted: bool = False
    began: float = field(default_factory=time.monotonic)

    def add(self, part: Part, append: Callable[[bytes], object] | None) -> None:
        """Count events; list a refused one, and add it to the file."""
        if not part.reason:
            self.sent += len(part.events)
            return
        self.refused += len(part.events)
        for event in part.events:
            about = {"messageId": event.message_id, "source": event.source, "type": event.type, "event": event.name}
            row: dict[str, Json] = {**about, "reason": self.masker.text(part.reason)}
            if len(self.examples) < _SHOWN:
                self.examples.append(row)
            if append is not None:
                append(json.dumps(row)[:-1].encode() + b', "content": ' + event.content + b"}\n")

    def report(self, sender: Sender, *, as_json: bool) -> int:
        """Print the result. Return the exit code."""
        self.problem = self.masker.text(self.problem)
        if as_json:
            _terminal.out(json.dumps(self._data(sender), ensure_ascii=False, indent=2))
        elif sender.requests or not self.problem:
            _terminal.out("\n".join(self._lines(sender)))
        for line in self.reader.problems:
            _terminal.err(f"cannot be read, skipped: {_terminal.plain(line)}")
        if self.problem:
            _terminal.err(_terminal.plain(self.problem))
        elif self.is_interrupted:
            _terminal.err("interrupted; run the command again to continue")
        if self.is_interrupted and not self.problem:
            return Exit.INTERRUPTED
        if self.problem or self.refused or self.reader.damaged:
            return Exit.FAILED
        if not self.before and not self.sent:
            _terminal.err("no events in the store match")
            return Exit.NOTHING
        return Exit.OK

    def _data(self, sender: Sender) -> dict[str, Json]:
        return {
            "to": self.to, "before": self.before, "sent": self.sent, "refused": self.refused,
            "requests": sender.requests, "retries": sender.retries, "repeats": self.reader.repeats,
            "damaged": self.reader.damaged, "interrupted": self.is_interrupted, "problem": self.problem,
            "position": str(self.position.path), "examples": self.examples,
        }  # fmt: skip

    def _lines(self, sender: Sender) -> Iterator[str]:
        seconds = max(0.001, time.monotonic() - self.began)
        rate = f", {self.sent / seconds:,.0f}/s" if self.sent else ""
        details = [
            (self.refused, "refused"),
            (self.reader.repeats, "repeats left out"),
            (sender.retries, "retries"),
            (self.reader.damaged, "damaged"),
        ]
        others = "".join(f"; {count:,} {what}" for count, what in details if count)
        requests = _terminal.quantity(sender.requests, "request")
        yield f"sent {_terminal.quantity(self.sent, 'event')} in {requests}{rate}{others}"
        for row in self.examples:
            name = f" {row['event']}" if row["event"] else ""
            yield _terminal.plain(
                f"  refused: {row['messageId']} ({row['source']}: {row['type']}{name}): {row['reason']}"
            )
        if self.refused > len(self.examples):
            yield f"  and {self.refused - len(self.examples):,} more"
