"""JSON: a list of events, one event, several values in sequence, or a `{"batch": [...]}` request as clients send it."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from svctoolkit.replay.formats._contract import Format
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import InputFile
from svctoolkit.replay.records.json_text import decode
from svctoolkit.replay.records.record import PIECE_BYTES, PIECE_RECORDS, Lines, Piece, Record, Reject, begin, place

_STEP = 1 << 20
_LONGEST = 64 << 20
_BETWEEN = re.compile(r"[\s,]*")
_SCAN = json.JSONDecoder()


class _Text:
    """A sliding window over the text of a file, with no more in memory than one value needs."""

    def __init__(self, file: InputFile) -> None:
        self._file, self._decoder = file, codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.text, self.at, self.line, self.ended = "", 0, 1, False

    def more(self) -> bool:
        """Read more of the file; return False at the end."""
        if self.ended:
            return False
        data = self._file.read(_STEP)
        self.ended = not data
        self.text = self.text[self.at :] + self._decoder.decode(data, final=self.ended)
        self.at = 0
        return True

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Skip the text that matches; return the character after it, or an empty string at the end."""
        while True:
            match = pattern.match(self.text, self.at)
            self.move(match.end() if match else self.at)
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def move(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def value(self) -> str:
        """Return the text of the JSON value at this position. Raises `ValueError`."""
        while True:
            try:
                _, end = _SCAN.raw_decode(self.text, self.at)
            except RecursionError:
                raise ValueError("nested too deeply") from None
            except json.JSONDecodeError as error:
                # an error far from the end of the text is real; one near the end may be due to text not read yet
                open_ended = error.pos > len(self.text) - 4096 or error.msg.startswith("Unterminated")
                if not open_ended or len(self.text) - self.at > _LONGEST or not self.more():
                    raise ValueError(f"invalid JSON: {error.msg}; the rest of the file is not read") from None
                continue
            if end == len(self.text) and not self.ended:  # a number may continue in the next block
                self.more()
                continue
            value = self.text[self.at : end]
            self.move(end)
            return value


def split(file: InputFile) -> Iterator[Piece | Reject]:
    text = _Text(file)
    values: list[tuple[int, str]] = []
    size = 0
    is_list = text.skip(_BETWEEN) == "["
    if is_list:
        text.move(text.at + 1)
    while text.skip(_BETWEEN) not in ("", "]"):
        line = text.line
        try:
            values.append((line, text.value()))
        except ValueError as error:
            yield Piece(line, values)
            reason, values = str(error), []
            yield Reject(place(file.name, line), reason, begin(text.text[text.at : text.at + 1000]), rest_unread=True)
            return
        size += len(values[-1][1])
        if size > PIECE_BYTES or len(values) >= PIECE_RECORDS:
            yield Piece(values[0][0], values)
            values, size = [], 0
    if values:
        yield Piece(values[0][0], values)
    if problem := _end_problem(text, is_list):
        yield Reject(place(file.name, text.line), problem, begin(text.text[text.at : text.at + 1000]), rest_unread=True)


def _end_problem(text: _Text, is_list: bool) -> str:
    """Return why a file does not end after its last value; an empty string if it does."""
    if text.skip(_BETWEEN) == "":
        return "the list has no end: the file is truncated" if is_list else ""
    text.move(text.at + 1)
    return "text after the end of the list is not read" if text.skip(_BETWEEN) else ""


def records(name: str, piece: Piece, columns: Columns, lines: Lines) -> Iterator[Record | Reject]:
    for line, text in piece.data:
        if lines is not None and line not in lines:
            continue
        try:
            value: Any = decode(text.encode("utf-8", "surrogatepass"))
        except ValueError as error:
            yield Reject(place(name, line), str(error), begin(text))
            continue
        batch = value.get("batch") if isinstance(value, dict) and "type" not in value else None
        for event in batch if isinstance(batch, list) else [value]:
            yield columns.record(place(name, line), event)


format = Format((".json",), split, records)
