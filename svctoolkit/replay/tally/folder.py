"""The output folder of a replay: it has complete parts only, so it can be read and resumed at any time.

rows/part-000000.parquet   the rows of a chunk; `pandas.read_parquet("FOLDER/rows")` reads all of them
done/000000.json           the counts of a chunk; written last, so it marks the chunk as done
rejects.ndjson             records that are not events, with file and line; written at the end
replay.json                the input, workspaces and options of the replay
judged.json                the parts for which all conditions were checked, and none was met
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.replay.records.record import Reject
from svctoolkit.replay.tally.rows import Columns, load_parquet
from svctoolkit.replay.tally.tally import Tally, as_json, from_json, plain

_NAME = "replay.json"
_JUDGED = "judged.json"


class Folder:
    """A replay's folder. `header` describes the replay; when resuming, `now` comes from the earlier run.

    `is_current` is false if the input has changed since: then call `adopt` with its chunks first.

    Raises `ConfigError` for a folder with other content, one with a replay that is not to be resumed, and one with a
    different replay.
    """

    def __init__(self, path: Path, header: Mapping[str, Json], *, resume: bool) -> None:
        self.path = path
        self.header = dict(header)
        earlier = self._load_header()
        self.is_current = earlier is None or earlier.get("input") == json.loads(json.dumps(self.header["input"]))
        if earlier is not None:
            self._check(earlier, resume)
            self.header["now"] = earlier.get("now", self.header["now"])
            return
        try:
            (path / "rows").mkdir(parents=True, exist_ok=True)
            (path / "done").mkdir(exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot create this folder: {error.strerror}", where=str(path)) from error
        self._write(path / _NAME, json.dumps(self.header, indent=2).encode() + b"\n")

    def _load_header(self) -> dict[str, Any] | None:
        file = self.path / _NAME
        if file.is_file():
            try:
                return dict(json.loads(file.read_bytes()))
            except (OSError, ValueError, TypeError) as error:
                raise ConfigError(f"cannot be read: {error}", where=str(file)) from error
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise ConfigError(
                "contains files that are not from a replay: give a new or empty folder", where=str(self.path)
            )
        return None

    def _check(self, earlier: Mapping[str, Any], resume: bool) -> None:
        if not resume:
            raise ConfigError(
                "contains a replay: resume it (resume=True, --resume), or give another folder", where=str(self.path)
            )
        for name, value in self.header.items():
            if name not in ("now", "input") and earlier.get(name) != json.loads(json.dumps(value)):
                raise ConfigError(f"cannot be resumed: {_WORDS.get(name, name)} has changed", where=str(self.path))

    def adopt(self, digests: Sequence[str]) -> None:
        """Adapt the folder to an input that has changed; `digests` are those of its chunks, in order.

        Parts whose chunks no longer exist are removed, the others are renumbered. If interrupted at any point, the
        folder is valid, with fewer parts. Raises `ConfigError` if no part can be kept.
        """
        numbers = {digest: number for number, digest in enumerate(digests)}
        tallies = list(self.tallies())
        stays = {tally.number for tally in tallies if numbers.get(tally.digest) == tally.number}
        moves = [tally for tally in tallies if tally.digest in numbers and tally.number not in stays]
        if tallies and not stays and not moves:
            raise ConfigError("cannot be resumed: the input has changed completely", where=str(self.path))
        try:
            for file in (self.path / "rows").glob(".moving-*"):  # left by an interrupted run
                file.unlink()
            for file in (self.path / "done").glob("*.json"):
                # Counts first: a part without counts is not done, so an interruption here only costs a rerun.
                if not (file.stem.isdecimal() and int(file.stem) in stays):
                    file.unlink()
            for tally in moves:
                # Through a temporary name, because the new number may still belong to another part.
                self._rows(tally.number).rename(self.path / "rows" / f".moving-{numbers[tally.digest]:06d}")
            for file in (self.path / "rows").glob("part-*.parquet"):
                if file not in {self._rows(number) for number in stays}:
                    file.unlink()
            for tally in moves:
                tally.number = numbers[tally.digest]
                (self.path / "rows" / f".moving-{tally.number:06d}").rename(self._rows(tally.number))
                self._write(self.path / "done" / f"{tally.number:06d}.json", as_json(tally))
        except OSError as error:
            raise ConfigError(f"cannot be changed: {error.strerror}", where=str(self.path)) from error
        self._write(self.path / _NAME, json.dumps(self.header, indent=2).encode() + b"\n")
        self.is_current = True

    def tallies(self) -> Iterator[Tally]:
        """Yield the parts that are done, in the order of their numbers."""
        for file in sorted((self.path / "done").glob("*.json")):
            try:
                tally = from_json(file.read_bytes())
            except ValueError:
                continue  # not written by this class; its chunk is run again
            if self._rows(tally.number).is_file():
                yield tally

    def judged(self) -> frozenset[str]:
        """Return the digests of the parts whose conditions were checked and not met."""
        try:
            return frozenset(json.loads((self.path / _JUDGED).read_bytes()))
        except (OSError, ValueError, TypeError):  # missing, or not written by this class: check them again
            return frozenset()

    def mark_judged(self) -> None:
        """Record that conditions were checked for all parts in the folder, and none was met."""
        digests = sorted(tally.digest for tally in self.tallies())
        self._write(self.path / _JUDGED, json.dumps(digests).encode() + b"\n")

    def add(self, tally: Tally, rows: bytes) -> None:
        """Store a part. When this returns, the chunk is done."""
        # Rows before counts: the counts mark the part as done.
        self._write(self._rows(tally.number), rows)
        self._write(self.path / "done" / f"{tally.number:06d}.json", as_json(tally))

    def finish(self, rejects: Iterable[Reject]) -> None:
        """Write the list of rejects: those of the parts, then `rejects`."""
        with self._writing(self.path / "rejects.ndjson") as file:
            for reject in chain((reject for tally in self.tallies() for reject in tally.rejects), rejects):
                line = json.dumps(plain(reject), ensure_ascii=False)
                file.write(line.encode("utf-8", "replace") + b"\n")

    def columns(self, names: Sequence[str] | None = None) -> Iterator[Columns]:
        """Yield the rows, block by block, with all columns or those with these names."""
        return load_parquet(sorted((self.path / "rows").glob("part-*.parquet")), names)

    def _rows(self, number: int) -> Path:
        return self.path / "rows" / f"part-{number:06d}.parquet"

    def _write(self, file: Path, content: bytes) -> None:
        with self._writing(file) as new:
            new.write(content)

    @contextmanager
    def _writing(self, file: Path) -> Iterator[BinaryIO]:
        """Write a file atomically: readers see all of it, or none."""
        new = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            with new.open("wb") as opened:
                yield opened
            os.replace(new, file)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise ConfigError(f"cannot be written: {error.strerror}", where=str(file)) from error


_WORDS = {
    "version": "the version of svctoolkit",
    "sides": "the workspace",
    "options": "an option (destinations, stages, source, columns, batch, sample, masking)",
    "rows": "the kind of rows (replay or comparison)",
}
