"""The parts of an input: pieces, which are cheap to cut and are decoded by the workers, and their records."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.replay.records.json_text import decode

#: Approximate size of one piece.
PIECE_BYTES = 4 << 20
PIECE_RECORDS = 2000
_SHOWN = 200
TRUNCATED = "the file ends within a record: it is truncated"
_TIMES = ("receivedAt", "timestamp", "originalTimestamp")
_DAY = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d)")
#: The lines or rows of a piece to read, or None for all.
Lines: TypeAlias = Container[int] | None


class Reject(msgspec.Struct, frozen=True):
    """A record that is not an event: its place (`file:line`), the reason, and the start of its text.

    `rest_unread`: the file is damaged here, and an unknown number of events after this place was not read.
    """

    place: str
    reason: str
    text: str = ""
    rest_unread: bool = False


class Record(msgspec.Struct, frozen=True):
    """An event and its place: `file:line`, or `[row]` for input without a file. `source` is a key or id, if known.

    `repeats`: a data plane recognized it as a repeated event. `stratum` is its shape, in a sample.
    `head` is the event, or of one that stays text, the members in `Head`; `text` is its JSON then.
    """

    place: str
    head: Mapping[str, Any]
    source: str = ""
    repeats: bool = False
    stratum: str = ""
    text: bytes = b""
    whole: Mapping[str, Any] | None = None

    @property
    # Any: an event
    def event(self) -> Mapping[str, Any]:
        """The event, the same object each time."""
        if not self.text:
            return self.head
        if self.whole is None:
            msgspec.structs.force_setattr(self, "whole", decode(self.text))
        return self.whole or {}

    @property
    def day(self) -> str:
        """The day of the event, as written in its time (`2026-11-26`); empty without one."""
        for name in _TIMES:
            text = self.head.get(name)
            if isinstance(text, str) and _DAY.match(text):
                return text[:10]
        return ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of one input, as cut by its format. `first` is the line or row of the first record."""

    first: int
    data: Any

    @property
    def records(self) -> int:
        """The number of records; of text, that of its lines. 0 if it is not known before they are read."""
        if isinstance(self.data, bytes):
            return self.data.count(b"\n") + (not self.data.endswith(b"\n"))
        return len(self.data) if isinstance(self.data, list) else int(getattr(self.data, "num_rows", 0))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A unit of work. The same input yields the same chunks with the same numbers.

    `position` is how much of the input is done after this chunk, in the unit of `Input.total`.
    """

    number: int
    name: str
    format: str
    piece: Piece
    position: int


def digest_of(chunk: Chunk) -> str:
    """Return a digest of the content of a chunk and its place in the input."""
    first, data = chunk.piece.first, chunk.piece.data
    digest = blake2b(f"{chunk.name}\0{chunk.format}\0{first}\0".encode("utf-8", "surrogatepass"), digest_size=16)
    if hasattr(data, "serialize"):  # Arrow
        data = data.serialize().to_pybytes()
    digest.update(data if isinstance(data, bytes) else repr(data).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def place(name: str, line: int) -> str:
    return f"{name}:{line}" if name else f"[{line}]"


def split_place(text: str) -> tuple[str, int]:
    """Return the name of the input and the line or row of a place; -1 if the text is not a place."""
    name, _, number = ("", "", text[1:-1]) if text.startswith("[") else text.rpartition(":")
    return name, int(number) if number.isdecimal() else -1


def begin(text: str | bytes) -> str:
    """Return the first characters of a record, for a reject."""
    short = text[: 4 * _SHOWN]
    line = short.decode("utf-8", "replace") if isinstance(short, bytes) else short
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def paths_of(value: Json, wanted: str, path: str = "", depth: int = 12) -> Iterator[str]:
    """Yield the paths in an event at which a text is."""
    if value == wanted:
        yield path
    elif isinstance(value, (Mapping, list)) and depth:
        for step, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from paths_of(inner, wanted, f"{path}.{step}" if path else str(step), depth - 1)
