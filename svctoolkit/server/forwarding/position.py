"""Up to which event a store has been forwarded: a small file that is replaced as a whole after each batch."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from svctoolkit.errors import ConfigError, UsageError
from svctoolkit.server.batches import Batch
from svctoolkit.server.store.archive import Archive, Chosen

_VERSION = 1
_SAME = 0.001  # seconds: a time is rounded to microseconds


class OfSource(msgspec.Struct):
    """The last event of a source that needs no further request, its time of receipt, and the counts up to it."""

    seq: int = 0
    at: float = 0.0
    sent: int = 0
    refused: int = 0


class _Content(msgspec.Struct):
    version: int
    to: str
    run: str
    event: str
    since: float | None
    sources: dict[str, OfSource]


def default_path(store: Path, to: str) -> Path:
    """Return the file next to the store that is used for the data plane at `to`."""
    return store.with_name(f"{store.name}.forward-{sha256(to.encode()).hexdigest()[:8]}.position")


class Position:
    """A position file. The methods raise `ConfigError` if it cannot be read or written, or belongs to something else.

    It belongs to one data plane, one `--run` and one `--event`: with other ones, the events before the position were
    never sent. `sync` forces the file to disk.
    """

    def __init__(
        self, path: Path, to: str, chosen: Chosen, event: str, *, sync: Callable[[int], None] = os.fsync
    ) -> None:
        self.path, self._sync = path, sync
        since = None if chosen.since == float("-inf") else chosen.since
        self._content = _Content(_VERSION, to, chosen.run, event, since, {})
        self._written = self._read()
        if self._written is not None:
            self._load(self._written, self._content)

    def _read(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(f"the position cannot be read: {error.strerror}", where=str(self.path)) from error

    def _load(self, data: bytes, wanted: _Content) -> None:
        where = str(self.path)
        try:
            found = msgspec.json.decode(data, type=_Content)
        except ValueError as error:
            raise ConfigError(f"not a position that `svctoolkit forward` has written: {error}", where=where) from error
        if found.version != _VERSION:
            raise ConfigError(f"written by another version of svctoolkit ({found.version})", where=where)
        if not found.sources:  # nothing was sent yet
            return
        for option, was, now in (
            ("--to", found.to, wanted.to),
            ("--run", found.run, wanted.run),
            ("--event", found.event, wanted.event),
        ):
            if was != now:
                text = f"this position belongs to {f'{option} {was}' if was else f'all events, without {option}'}"
                raise UsageError(f"{where}: {text}; name another file with --position")
        # An earlier start is a gap: the position says that everything before it was sent.
        if found.since is not None and (wanted.since is None or wanted.since < found.since):
            raise UsageError(f"{where}: with this position, earlier events were skipped (--since); name another file "
                             "with --position to send them")  # fmt: skip
        self._content = found

    def of(self, source: str) -> OfSource:
        """Return the position of a source; 0 if nothing was sent."""
        return self._content.sources.get(source) or OfSource()

    def check(self, store: Archive, source: str) -> None:
        """Check that the position is one in this store: a new store starts to number its events again."""
        position = self.of(source)
        if not position.seq:
            return
        found, last = store.request_of(position.seq), store.bounds().last
        if found is None:
            is_other = False  # the requests up to it are no longer kept
        elif found.holds(position.seq):
            is_other = abs(found.at - position.at) > _SAME
        else:
            is_other = found.at > position.at + _SAME or found.first >= last
        if is_other:
            raise UsageError(
                f"{self.path}: this position belongs to another store, or to an earlier one at this path; delete it, "
                "or name another file with --position"
            )

    def advance(self, events: Batch, *, refused: bool) -> None:
        """Record that these events of one source need no further request, and save."""
        last, position = events[-1], self._content.sources.setdefault(events[-1].source, OfSource())
        position.seq, position.at = last.seq, last.received.timestamp()
        if refused:
            position.refused += len(events)
        else:
            position.sent += len(events)
        self.save()

    def save(self) -> None:
        """Replace the file. Raises `ConfigError`, also if another process has changed it."""
        if self._read() != self._written:
            raise UsageError(f"{self.path}: another `svctoolkit forward` uses this position; wait until it finishes")
        data = msgspec.json.format(msgspec.json.encode(self._content), indent=2)
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                self._sync(file.fileno())
            draft.replace(self.path)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            why = f"the position cannot be saved: {error.strerror}"
            raise ConfigError(f"{why}. Name another file with --position", where=str(self.path)) from error
        self._written = data
