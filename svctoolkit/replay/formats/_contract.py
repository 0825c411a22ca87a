"""The interface of a file format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import InputFile
from svctoolkit.replay.records.record import Lines, Piece, Record, Reject


@dataclass(frozen=True, slots=True)
class Format:
    """A file format, which is read in two steps.

    - `suffixes`: endings of file names, in lower case: `.ndjson`. Streams may also have `.gz` or `.zst` after it
    - `split(file)`: yields pieces of about `PIECE_BYTES`, and parses no more of the records than it must to cut them; a
      `Reject` for each part that cannot be cut. It runs in one process for the whole input
    - `records(name, piece, columns, lines)`: yields the records in a piece; with `lines`, only those at these lines or
      rows, without decoding others. It runs in the worker
    - `stream`: whether `split` reads `file.read`. Otherwise it opens `file.path` itself, compression is not supported,
      and it sets `file.share` to the share of the file that its pieces cover so far
    - `header(file)`: returns the columns; for tabular formats
    - `identity(path)`: returns JSON that identifies the content, for formats where size and modification time do not
    """

    suffixes: tuple[str, ...]
    split: Callable[[InputFile], Iterator[Piece | Reject]]
    records: Callable[[str, Piece, Columns, Lines], Iterator[Record | Reject]]
    stream: bool = True
    header: Callable[[InputFile], Sequence[str]] | None = None
    identity: Callable[[Path], Any] | None = None
