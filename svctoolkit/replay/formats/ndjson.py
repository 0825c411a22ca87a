"""One event per line."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.json_codec import is_json
from svctoolkit.replay.formats._contract import Format
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import InputFile
from svctoolkit.replay.records.record import (
    PIECE_BYTES,
    TRUNCATED,
    Lines,
    Piece,
    Record,
    Reject,
    begin,
    place,
)

_LONGEST = 16 << 20
_BOM = b"\xef\xbb\xbf"


def split(file: InputFile) -> Iterator[Piece | Reject]:
    """Yield whole lines. A line of more than 16 MB is rejected without keeping it in memory.

    The file is truncated if its last line has no end and is not JSON.
    """
    line, rest = 1, b""
    while block := file.read(PIECE_BYTES):
        rest += block
        cut = rest.rfind(b"\n") + 1
        if cut:
            yield Piece(line, rest[:cut])
            line += rest.count(b"\n", 0, cut)
            rest = rest[cut:]
        elif len(rest) > _LONGEST:
            yield Reject(place(file.name, line), f"the line is longer than {_LONGEST >> 20} MB", begin(rest))
            rest = _next_line(file)
            line += 1
    if rest.strip():
        if not file.damage and not is_json(rest.removeprefix(_BOM) if line == 1 else rest):
            yield Reject(place(file.name, line), TRUNCATED, begin(rest), rest_unread=True)
        else:
            yield Piece(line, rest)


def _next_line(file: InputFile) -> bytes:
    """Skip to the end of the line; return what was read of the next one."""
    while block := file.read(PIECE_BYTES):
        _, end, rest = block.partition(b"\n")
        if end:
            return rest
    return b""


def records(name: str, piece: Piece, columns: Columns, lines: Lines) -> Iterator[Record | Reject]:
    for line, text in enumerate(piece.data.split(b"\n"), piece.first):
        if line == 1:
            text = text.removeprefix(_BOM)
        if not text or text.isspace() or (lines is not None and line not in lines):
            continue
        try:
            yield columns.line(place(name, line), text)
        except ValueError as error:
            yield Reject(place(name, line), str(error), begin(text))


format = Format((".ndjson", ".jsonl", ".jsonlines"), split, records)
