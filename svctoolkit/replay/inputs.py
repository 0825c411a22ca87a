"""Inputs of a replay: files and folders, lists, DataFrames, data planes, and any iterable of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from glob import has_magic
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from svctoolkit.errors import ConfigError
from svctoolkit.events import MAX_DEPTH
from svctoolkit.events.values import plain_event
from svctoolkit.json_types import Json
from svctoolkit.replay.formats import FORMATS, format_by_ending, format_of, left_out
from svctoolkit.replay.records.arrow import Arrow, arrow_records, is_arrow
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.files import STDIN, InputFile, walk
from svctoolkit.replay.records.json_text import decode
from svctoolkit.replay.records.record import PIECE_RECORDS, Chunk, Lines, Piece, Record, Reject, begin, place
from svctoolkit.replay.records.remote import Place, is_url, local_glob, remote_files

#: Files, folders, URLs or globs; events, a DataFrame, any object with the Arrow stream protocol, a data plane, or any
#: iterable of events.
Events: TypeAlias = "str | Path | Sequence[str | Path] | Iterable[Mapping[str, Any]] | Any"


class Input(Protocol):
    """A source of events. `total` is its size in `unit` (bytes or events), or None if unknown."""

    total: int | None
    unit: str

    def chunks(self) -> Iterator[Chunk | Reject]:
        """Yield the same chunks each time, numbered from 0, and a `Reject` for each part that could not be cut."""
        ...

    def identity(self) -> Json:
        """Return JSON that identifies this input. Raises `ConfigError` if the input can be read only once."""
        ...


def input_of(events: Events) -> Input:
    """Return the input for `events`. Raises `ConfigError` if it is not a supported type or cannot be opened."""
    # The order of these tests matters: strings are iterables, and frames have `received` if a column is called that.
    if isinstance(events, (str, Path)):
        return Files([events])
    if isinstance(events, Mapping):
        return Objects([events])
    if hasattr(events, "iloc") and hasattr(events, "columns"):  # in this order: `columns` of a LazyFrame is slow
        return Frame(events)
    if is_arrow(events):
        return Arrow(events)
    if hasattr(events, "received"):  # a data plane, or the events that it received in one run
        return Objects(events.received)
    if isinstance(events, Sequence) and events and all(isinstance(path, (str, Path)) for path in events):
        return Files(events)
    if isinstance(events, Iterable):
        return Objects(events)
    raise ConfigError(f"events must be files, a list, a DataFrame, Arrow or an iterable, not {type(events).__name__}")


def records(chunk: Chunk, columns: Columns, lines: Lines = None) -> Iterator[Record | Reject]:
    """Yield the records in a chunk, or those at some of its lines or rows."""
    if chunk.format == "objects":
        return _objects(chunk, columns, lines)
    if chunk.format == "arrow":
        return arrow_records(chunk, columns, lines)
    if chunk.format == "rows":
        return _rows(chunk, columns, lines)
    return FORMATS[chunk.format].records(chunk.name, chunk.piece, columns, lines)


class Files:
    """Files, and all files of known formats in folders."""

    unit = "bytes"

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._files = [file for path in paths for file in _files_at(path)]
        stdin = any(str(path) == STDIN for path, _ in self._files)
        self.total = None if stdin else sum(path.stat().st_size for path, _ in self._files)
        self._left_out = left_out([(path, FORMATS[name]) for path, name in self._files])

    def identity(self) -> Json:
        if self.total is None:
            raise ConfigError("standard input can be read only once: its replay cannot be resumed")
        return [[str(path), *_fingerprint(path, name)] for path, name in self._files]

    def chunks(self) -> Iterator[Chunk | Reject]:
        number, behind = 0, 0
        for path, name in self._files:
            for piece, position in self._pieces(path, name):
                if isinstance(piece, Reject):
                    yield piece
                else:
                    yield Chunk(
                        number, str(path) if str(path) != STDIN else "standard input", name, piece, behind + position
                    )
                    number += 1
            behind += path.stat().st_size if str(path) != STDIN else 0

    def _pieces(self, path: Place, name: str) -> Iterator[tuple[Piece | Reject, int]]:
        if str(path) in self._left_out:
            yield Reject(str(path), self._left_out[str(path)]), path.stat().st_size
            return
        opened = InputFile(path, stream=FORMATS[name].stream)
        last = Piece(1, None)
        try:
            for piece in FORMATS[name].split(opened):
                last = piece if isinstance(piece, Piece) else last
                yield piece, opened.position()
            # Everything before the damage was read; the rest of the file is one rejected part.
            if opened.damage:
                line = last.first + (last.data.count(b"\n") if isinstance(last.data, bytes) else 0)
                yield Reject(place(opened.name, line), opened.damage, rest_unread=True), opened.position()
        finally:
            opened.close()


def _files_at(named: str | Path) -> list[tuple[Place, str]]:
    if is_url(str(named)):
        files = remote_files(str(named))
        formats = [(file, format_by_ending(file.name)) for file in files]
        # A single file must have a known format; a glob may match others, which are skipped.
        if len(files) == 1:
            format_of(files[0].name)  # raises an error that lists the known formats
        return [(file, name) for file, name in formats if name]
    path = Path(named)
    # A file may really be called `orders[1].json`.
    if has_magic(str(named)) and not path.exists():
        return [(file, name) for file in local_glob(str(named)) if (name := format_by_ending(file.name))]
    if str(path) == STDIN:
        return [(path, "ndjson")]
    if path.is_dir():
        known: list[tuple[Place, str]] = []
        known += ((file, name) for file in walk(path) if (name := format_by_ending(file.name)))
        if not known:
            raise ConfigError("this folder contains no file of a known format", where=str(path))
        return known
    if not path.exists():
        raise ConfigError("no such file", where=str(path))
    return [(path, format_of(str(path)))]


def _fingerprint(path: Place, name: str) -> list[Any]:
    """Return values that change with the content of a file."""
    identity = FORMATS[name].identity
    if identity is not None and isinstance(path, Path):
        return [identity(path)]
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]


class Objects:
    """Events one by one: objects, JSON strings, or records with an `event` attribute and optionally a `source`."""

    unit = "events"

    def __init__(self, events: Iterable[Json]) -> None:
        self._events = events
        self.total = len(events) if isinstance(events, Sized) else None

    def identity(self) -> Json:
        if self.total is None:
            raise ConfigError("an iterator of events can be read only once: its replay cannot be resumed")
        return ["list", self.total, _digest(self)]

    def chunks(self) -> Iterator[Chunk | Reject]:
        items: list[Any] = []
        number, first = 0, 0
        for event in islice(self._events, self.total):  # the list of a data plane may grow meanwhile
            items.append(_item(event))
            if len(items) == PIECE_RECORDS:
                yield Chunk(number, "", "objects", Piece(first, items), first + len(items))
                number, first, items = number + 1, first + len(items), []
        if items:
            yield Chunk(number, "", "objects", Piece(first, items), first + len(items))


# Any: an event, its JSON text, or a data plane's record of one
def _item(event: Any) -> tuple[Any, str, bool]:
    """Return an event, its source, and whether it is a repeat of an earlier event."""
    if not hasattr(event, "event"):
        return event, "", False
    return event.event, getattr(event, "source", ""), getattr(event, "repeats", None) is not None


def _objects(chunk: Chunk, columns: Columns, lines: Lines) -> Iterator[Record | Reject]:
    for index, (item, source, repeats) in enumerate(chunk.piece.data, chunk.piece.first):
        if lines is not None and index not in lines:
            continue
        at, value = place(chunk.name, index), item
        if isinstance(item, (str, bytes)):
            try:
                value = decode(item.encode("utf-8", "surrogatepass") if isinstance(item, str) else item)
            except ValueError as error:
                yield Reject(at, str(error), begin(item))
                continue
        elif isinstance(item, Mapping):
            try:
                value = plain_event(item)
            except RecursionError:
                yield Reject(at, f"nested too deeply; the maximum is {MAX_DEPTH} levels", "")
                continue
        yield columns.record(at, value, source, repeats=repeats)


class Frame:
    """A pandas DataFrame; its rows are read as described in `Columns`."""

    unit = "events"

    # Any: a frame of pandas, Polars or Dask
    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.total: int | None = len(frame)

    def identity(self) -> Json:
        return ["frame", self.total, _digest(self)]

    def chunks(self) -> Iterator[Chunk | Reject]:
        for number, first in enumerate(range(0, len(self._frame), PIECE_RECORDS)):
            slice = self._frame.iloc[first : first + PIECE_RECORDS]
            rows = Piece(first, slice.to_dict("records"))
            yield Chunk(number, "", "rows", rows, first + len(slice))


def _digest(source: Input) -> str:
    """Return a digest of the content of an input in memory."""
    digest = blake2b(digest_size=16)
    for chunk in source.chunks():
        if isinstance(chunk, Chunk):
            digest.update(repr(chunk.piece.data).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _rows(chunk: Chunk, columns: Columns, lines: Lines) -> Iterator[Record | Reject]:
    for index, cells in enumerate(chunk.piece.data, chunk.piece.first):
        if lines is None or index in lines:
            yield columns.row(place(chunk.name, index), cells)
