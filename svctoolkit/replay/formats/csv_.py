"""CSV with a header. The column names are dotted paths in the event, unless `columns` maps them."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from typing import Any

from svctoolkit.replay.formats._contract import Format
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import InputFile
from svctoolkit.replay.records.record import (
    PIECE_BYTES,
    PIECE_RECORDS,
    TRUNCATED,
    Lines,
    Piece,
    Record,
    Reject,
    begin,
    place,
)

_STEP = 1 << 18
_LONGEST = 16 << 20
_NUL_IN_HEADER = "a NUL byte in the header"


class _Lines:
    """The lines of a file. `has_end` is false after a last line that does not end with a line break."""

    def __init__(self, file: InputFile) -> None:
        self._file, self.has_end = file, True

    def __iter__(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        rest = ""
        while data := self._file.read(_STEP):
            lines = (rest + decoder.decode(data)).split("\n")
            rest = lines.pop()
            yield from (f"{line}\n" for line in lines)
        if rest:
            self.has_end = False
            yield rest
        yield "\n"  # an empty row at the end, unless a quote is still open: see `split`


# Any: the csv module's reader
def _reader(file: InputFile, lines: _Lines) -> Any:
    csv.field_size_limit(_LONGEST)
    return csv.reader(lines, delimiter="\t" if ".tsv" in file.name.lower() else ",")


def header(file: InputFile) -> list[str]:
    """Return the names in the first line, or an empty list if the file is not CSV."""
    try:
        return [name.strip() for name in next(_reader(file, _Lines(file)), [])]
    except csv.Error:
        return []


def split(file: InputFile) -> Iterator[Piece | Reject]:
    """Yield rows with the number of their first line. The first error of the csv module ends the file.

    So does a quote that is never closed, because all rows after it are in its value, a NUL byte in the header, and a
    last row without an end that has too few fields: the file is truncated.
    """
    lines = _Lines(file)
    reader = _reader(file, lines)
    names: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    size = 0
    line, start, row = 1, 1, list[str]()
    try:
        for row in reader:
            if size > PIECE_BYTES or len(rows) >= PIECE_RECORDS:
                yield Piece(rows[0][0], (names, rows))
                rows, size = [], 0
            if not names:
                names = [name.strip() for name in row]
                if _has_nul(row):
                    yield Reject(place(file.name, line), f"invalid CSV: {_NUL_IN_HEADER}", rest_unread=True)
                    return
            elif row:
                rows.append((line, row))
                size += sum(map(len, row))
            start, line = line, reader.line_num + 1
    except csv.Error as error:
        if rows:
            yield Piece(rows[0][0], (names, rows))
        reason = f"invalid CSV: {error}; the rest of the file is not read"
        yield Reject(place(file.name, line), reason, rest_unread=True)
        return
    is_open, is_cut = bool(row), False
    if rows and (is_open or (is_cut := not (lines.has_end or file.damage) and len(rows[-1][1]) < len(names))):
        start, _ = rows.pop()
    if rows:
        yield Piece(rows[0][0], (names, rows))
    if is_open or is_cut:
        reason = "invalid CSV: a quote is opened and never closed" if is_open else TRUNCATED
        yield Reject(place(file.name, start), reason, rest_unread=True)


def _has_nul(row: list[str]) -> bool:
    return "\0" in "".join(row)


def records(name: str, piece: Piece, columns: Columns, lines: Lines) -> Iterator[Record | Reject]:
    names, rows = piece.data
    for line, row in rows:
        if lines is not None and line not in lines:
            continue
        if _has_nul(row):
            column = next(number for number, cell in enumerate(row, 1) if "\0" in cell)
            yield Reject(place(name, line), f"invalid CSV: a NUL byte in field {column}", begin(",".join(row)))
            continue
        if len(row) != len(names):
            reason = f"{len(row)} fields, but the header has {len(names)}"
            yield Reject(place(name, line), reason, begin(",".join(row)))
            continue
        cells = {column: cell or None for column, cell in zip(names, row, strict=True)}
        yield columns.row(place(name, line), cells, name)


format = Format((".csv", ".tsv"), split, records, header=header)
