"""What a format is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import InputFile
from svctoolkit.replay.records.record import Piece, Record, Reject


@dataclass(frozen=True, slots=True)
class Format:
    """How a kind of file is read, in two steps.

    - `suffixes`: endings of file names, in lower case: `.ndjson`. Those of streams may have `.gz` or `.zst` behind
    - `split(file)`: pieces of about `PIECE_BYTES`, cut without looking into the records more than is needed; a
      `Reject` for what cannot be cut. It runs in one process for the whole input
    - `records(name, piece, columns)`: the records in a piece. It runs where the work is done
    - `stream`: whether `split` reads `file.read`; else it opens `file.path` by itself, and there is no compression.
      Then it sets `file.share`, how much of the file is in the pieces that it has given
    - `header(file)`: the columns, of a format that has tables
    - `identity(path)`: as JSON, what tells the content from another where size and time of the file do not
    """

    suffixes: tuple[str, ...]
    split: Callable[[InputFile], Iterator[Piece | Reject]]
    records: Callable[[str, Piece, Columns], Iterator[Record | Reject]]
    stream: bool = True
    header: Callable[[InputFile], Sequence[str]] | None = None
    identity: Callable[[Path], Any] | None = None
