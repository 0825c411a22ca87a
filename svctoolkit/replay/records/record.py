"""What an input is cut into: pieces, which are cheap to make and are read where the work is done, and their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec

#: About how much of an input is one piece of work.
PIECE_BYTES = 4 << 20
PIECE_RECORDS = 2000
_SHOWN = 200


class Reject(msgspec.Struct, frozen=True):
    """A record that is no event: where it stands (`file:line`), why, and how it begins."""

    place: str
    reason: str
    text: str = ""


class Record(msgspec.Struct, frozen=True):
    """An event, and where it stands: `file:line`, or `[row]` of what has no file. `source` is a key or id, if known.

    `repeats`: a data plane has found that its client had sent it before. `stratum` is its shape, in a sample.
    """

    place: str
    event: Mapping[str, Any]
    source: str = ""
    repeats: bool = False
    stratum: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of one input, as its format cut it. `first` is the line or row of the first record."""

    first: int
    data: Any


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of work. The same input gives the same chunks with the same numbers.

    `position` is how much of the input lies behind when it is done, in the unit of `Input.total`.
    """

    number: int
    name: str
    format: str
    piece: Piece
    position: int


def digest_of(chunk: Chunk) -> str:
    """What tells the content of a piece of work, and where it stands, from another."""
    first, data = chunk.piece.first, chunk.piece.data
    digest = blake2b(f"{chunk.name}\0{chunk.format}\0{first}\0".encode("utf-8", "surrogatepass"), digest_size=16)
    if hasattr(data, "serialize"):  # Arrow
        data = data.serialize().to_pybytes()
    digest.update(data if isinstance(data, bytes) else repr(data).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def place(name: str, line: int) -> str:
    return f"{name}:{line}" if name else f"[{line}]"


def begin(text: str | bytes) -> str:
    """The first characters of a record, for a reject."""
    short = text[: 4 * _SHOWN]
    line = short.decode("utf-8", "replace") if isinstance(short, bytes) else short
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
