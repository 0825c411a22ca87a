"""Journals: a file per process that events are appended to before a call returns, with one write and no lock.

The worker sends full batches straight from there, see `flights`, and moves everything else into the database. Up to its
position in the journal, which the database keeps, all events are delivered or stored. The owner of a journal holds a
lock on it; when a process ends, the system releases the lock, and another process adopts the journal.

Format, version 1: records, one after the other. Each is the 4 bytes F5 53 4A 31, the length of its content and the
CRC-32 of its content (unsigned, 32 bits, little-endian), then the content. The first record's content is the source and
the origin of all events, separated by a line feed. Every other content is an event: its time (a double), a byte of
flags (1: for device mode, too), the length of its users (unsigned, 32 bits), its users, its JSON. A record that is
cut off was never acknowledged. Other versions get another last byte of the mark.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import NamedTuple

from svctoolkit.sdk.base.settings import new_id

try:
    import fcntl
except ImportError:  # Windows: no journals, every call writes to the database
    IS_SUPPORTED = False
else:
    IS_SUPPORTED = True

SUFFIX = ".journal"
_UNLOCKED = ".new"
#: A process that needs longer than this to lock a new journal may lose it, before anything is in it.
_STRAY_SECONDS = 60.0
#: A journal is replaced when it is this long and its events were read; beyond `FULL`, nothing is appended.
LONG = 4 << 20
FULL = 64 << 20
#: Bytes that are read at a time; longer than any record, because an event has at most 32 KB.
CHUNK = 1 << 20
_LONGEST = 64 << 10  # of one record
_MARK = b"\xf5SJ1"
_HEAD = struct.Struct("<4sII")
_EVENT = struct.Struct("<dBI")


class Entry(NamedTuple):
    """An event in a journal."""

    at: float
    user: str
    body: bytes
    for_devices: bool


class Journal:
    """One file that this process appends to, from any thread and any signal handler.

    Reading needs a lock around it; `append` needs none.
    """

    def __init__(self, path: str, source: str, origin: str) -> None:
        """Create the file. Raises `OSError`."""
        self.path = path
        self.name = os.path.basename(path)
        self._file = -1
        # Under another name until it is locked: another process would adopt a journal without a lock.
        unlocked = path + _UNLOCKED
        self._file = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        try:
            # Held as long as the file is open: others see that the owner is alive.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.position = _write(self._file, f"{source}\n{origin}".encode())
            os.rename(unlocked, path)
        except BaseException:
            self.close()
            with suppress(OSError):
                os.unlink(unlocked)
            raise
        self._writers: deque[None] = deque()
        self._numbers = count(1)
        self._appended = 0
        self.taken = 0  # events that were read
        self._size = self.position  # roughly, without asking the system
        self._is_retired = False

    @property
    def unread(self) -> int:
        """Number of events that were appended and not read yet."""
        return max(0, self._appended - self.taken)

    @property
    def size(self) -> int:
        return os.fstat(self._file).st_size

    @property
    def next_at(self) -> float | None:
        """When the event at `position` was recorded; None if there is no whole record."""
        entries = self.read(1, _LONGEST)[0] if self._file >= 0 else []
        return entries[0].at if entries else None

    @property
    def is_removed(self) -> bool:
        """Whether the file was removed or renamed. It can still be read here, but no other process would adopt it."""
        try:
            return not os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except FileNotFoundError:
            return True

    def append(self, at: float, user: str, body: bytes, *, for_devices: bool) -> bool:
        """Append an event with one write. Return False if it is not in the file: the disk or the journal is full."""
        users = user.encode("utf-8", "surrogatepass")
        content = b"%b%b%b" % (_EVENT.pack(at, for_devices, len(users)), users, body)
        # Announced before the check: `retire` waits for writers that may still use the file.
        self._writers.append(None)
        try:
            if self._is_retired or self._size - self.position > FULL:
                return False
            self._size += _write(self._file, content)
            self._appended = next(self._numbers)
        except OSError:
            return False
        finally:
            self._writers.pop()
        return True

    def read(self, most: int = CHUNK, size: int = CHUNK) -> tuple[list[Entry], int]:
        """Return the events after `position` and the position after them. To continue, set `position` and `taken`.

        They are at most `most` events, and their records have at most `size` bytes.
        """
        return _read(self._file, self.position, most, size)

    def retire(self) -> None:
        """Append nothing more."""
        self._is_retired = True

    @property
    def is_finished(self) -> bool:
        """Whether the file can be removed: it is retired, and no thread is writing to it."""
        return self._is_retired and not self._writers

    def remove(self) -> None:
        """Remove the file: all of it is delivered or in the database."""
        # Emptied as well: if its directory was renamed, its events must not be adopted again.
        with suppress(OSError):
            os.ftruncate(self._file, 0)
        if not self.is_removed:
            with suppress(OSError):
                os.unlink(self.path)
        self.close()

    def close(self) -> None:
        """Close the file, and with it give up the lock. Also happens when the client is garbage."""
        file, self._file = self._file, -1
        if file >= 0:
            with suppress(OSError):
                os.close(file)

    def __del__(self) -> None:
        self.close()


class Orphan:
    """The journal of a dead process, locked by this one. A context manager that closes it."""

    def __init__(self, path: str) -> None:
        """Open and lock the file. Raises `OSError` if another process has locked it, or it cannot be read."""
        self.path, self.name = path, os.path.basename(path)
        self._file = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(self._file).st_nlink == 0:
                raise OSError(f"{path} was adopted by another process")
            #: Where the next event begins.
            self.position = 0
            self.source, self.origin, self._start = _header(self._file)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Orphan:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def read(self) -> tuple[list[Entry], int]:
        """Return the next events, up to about a megabyte, and the position after them."""
        return _read(self._file, max(self.position, self._start))

    def remove(self) -> None:
        os.unlink(self.path)


@contextmanager
def adoption(database: str, patience: float) -> Iterator[bool]:
    """Hold the lock of the process that adopts. Gives False if another one had it for `patience` seconds."""
    try:
        file = os.open(f"{os.path.splitext(database)[0]}.adoption", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield False
        return
    try:
        yield _try_lock(file, patience)
    finally:
        os.close(file)  # and with it the lock


def _try_lock(file: int, patience: float) -> bool:
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.005)
        else:
            return True


class Reader:
    """A journal that is only read, also while its process writes to it. A context manager that closes it."""

    def __init__(self, path: str) -> None:
        """Open the file. Raises `OSError` if it cannot be read, or is not a journal of this version."""
        self.name = os.path.basename(path)
        self._file = os.open(path, os.O_RDONLY)
        try:
            self.source, _, self._start = _header(self._file)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    @property
    def is_removed(self) -> bool:
        """Whether the file was removed: all of it is delivered or in the database."""
        return os.fstat(self._file).st_nlink == 0

    @property
    def size(self) -> int:
        return os.fstat(self._file).st_size

    def entries(self, position: int) -> Iterator[Entry]:
        """Yield the events after `position`."""
        while True:
            entries, end = _read(self._file, max(position, self._start))
            if not entries:
                return
            yield from entries
            position = end


def new_path(database: str) -> str:
    """Return a path for another journal in the database's directory."""
    stem, _ = os.path.splitext(database)
    return f"{stem}.{os.getpid()}-{new_id()[:8]}{SUFFIX}"


def others(database: str, own: set[str]) -> Iterator[str]:
    """Yield the paths of the journals in the database's directory whose names are not in `own`, sorted by name."""
    for path in _files(database, SUFFIX):
        if os.path.basename(path) not in own:
            yield path


def remove_strays(database: str) -> None:
    """Remove the files of processes that were killed while they created a journal."""
    for path in _files(database, SUFFIX + _UNLOCKED):
        with suppress(OSError):
            if time.time() - os.stat(path).st_mtime < _STRAY_SECONDS:
                continue
            file = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            finally:
                os.close(file)


def _files(database: str, suffix: str) -> Iterator[str]:
    """Yield the paths of the files next to the database that begin with its name, sorted."""
    directory, stem = os.path.split(os.path.splitext(database)[0])
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in sorted(names):
        if name.startswith(f"{stem}.") and name.endswith(suffix):
            yield os.path.join(directory, name)


def _write(file: int, content: bytes) -> int:
    record = _HEAD.pack(_MARK, len(content), zlib.crc32(content)) + content
    written = os.write(file, record)
    if written < len(record):
        raise OSError("the disk took only a part of a record")  # readers skip it
    return written


def _header(file: int) -> tuple[str, str, int]:
    """Return source and origin of a journal, and where its events begin.

    Raises `OSError` if the file has another version or a damaged beginning: it is left as it is.
    """
    data = os.pread(file, CHUNK, 0)
    end = _record(data, 0)
    if end is None:
        if not data.startswith(_MARK[: len(data)]) or _next_record(data, 1) is not None:
            raise OSError("not a journal of this version")
        return "", "", len(data)  # its process died before it recorded anything
    source, _, origin = data[_HEAD.size : end].decode("utf-8", "replace").partition("\n")
    return source, origin, end


def _read(file: int, position: int, most: int = CHUNK, size: int = CHUNK) -> tuple[list[Entry], int]:
    data = os.pread(file, size, position)
    entries: list[Entry] = []
    place = 0
    while len(entries) < most and (end := _record(data, place)) is not None:
        entries.append(_entry(data, place + _HEAD.size, end))
        place = end
    if place or not data:
        return entries, position + place
    # Damage, or a record that is just being written. Read again: what is still not a whole record then is damage.
    data = os.pread(file, CHUNK, position)
    return [], position + _skip(data)


def _skip(data: bytes) -> int:
    """Return how many bytes of damage come before the next whole record; 0 if it may come later."""
    if _record(data, 0) is not None:
        return 0
    following = _next_record(data, 1)
    if following is not None:
        return following
    # No record is as long as a chunk.
    return len(data) - len(_MARK) if len(data) == CHUNK else 0


def _record(data: bytes, place: int) -> int | None:
    """Return the end of the whole and undamaged record at `place`, else None."""
    start = place + _HEAD.size
    if start > len(data):
        return None
    mark, length, checksum = _HEAD.unpack_from(data, place)
    end = start + int(length)
    if mark != _MARK or end > len(data) or zlib.crc32(data[start:end]) != checksum:
        return None
    return end


def _next_record(data: bytes, place: int) -> int | None:
    """Return where the next whole record begins, at or after `place`."""
    # The mark is not valid UTF-8, so it does not occur within an event.
    while (place := data.find(_MARK, place)) >= 0:
        if _record(data, place) is not None:
            return place
        place += 1
    return None


def _entry(data: bytes, start: int, end: int) -> Entry:
    at, flags, length = _EVENT.unpack_from(data, start)
    users = start + _EVENT.size
    body = users + length
    return Entry(at, data[users:body].decode("utf-8", "surrogatepass"), data[body:end], bool(flags & 1))
