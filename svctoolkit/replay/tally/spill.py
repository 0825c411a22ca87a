"""Rows of a run without an output folder: a limited number in memory, the rest in a temporary folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import mkdtemp
from weakref import finalize

from svctoolkit.errors import ConfigError
from svctoolkit.replay.tally.rows import COMPARISON, REPLAY, Columns, check_parquet, load_parquet, parquet

#: Rows to keep in memory; each has a few kilobytes.
MOST_ROWS = 50_000


class Rows:
    """Blocks of rows, in the order in which they were added. The temporary folder is deleted with this object.

    Without pyarrow, or if writing to disk fails, all rows stay in memory.
    """

    def __init__(self, most: int = MOST_ROWS) -> None:
        self._most, self._count = most, 0
        self._blocks: list[Columns | Path] = []
        self._folder: Path | None = None
        self._spills = True

    def add(self, columns: Columns) -> None:
        """Add a block."""
        size = len(columns["place"])
        if self._spills and self._count + size > self._most:
            file = self._write(columns)
            if file is not None:
                self._blocks.append(file)
                return
        self._count += size
        self._blocks.append(columns)

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def __iter__(self) -> Iterator[Columns]:
        return self.columns()

    def columns(self, names: Sequence[str] | None = None) -> Iterator[Columns]:
        """Yield the blocks, with at least the columns of these names."""
        for block in self._blocks:
            if isinstance(block, Path):
                yield from load_parquet([block], names)
            else:
                yield block

    @property
    def in_memory(self) -> int:
        """The number of rows in memory."""
        return self._count

    def _write(self, columns: Columns) -> Path | None:
        try:
            check_parquet()
            if self._folder is None:
                self._folder = Path(mkdtemp(prefix="svctoolkit-rows-"))
                finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            file = self._folder / f"part-{len(self._blocks):06d}.parquet"
            file.write_bytes(parquet(columns, COMPARISON if "kind" in columns else REPLAY))
        except (ConfigError, OSError):
            self._spills = False
            return None
        return file
