"""The function `profile`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from svctoolkit.errors import ConfigError
from svctoolkit.history import Collector, History, Part
from svctoolkit.json_types import Json
from svctoolkit.profile.model import Profile
from svctoolkit.profile.needs import losses, refusals
from svctoolkit.profile.shapes import Shape, shape_key
from svctoolkit.replay.api import replay_all
from svctoolkit.replay.inputs import Events, input_of, records
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.record import Chunk, Record, Reject
from svctoolkit.workspace import Workspace

ENDINGS = (".duckdb", ".ddb")  # of the files of histories
_REJECTS = 1_000
_SAMPLES = 3  # events per name, of different shapes, whose lineage is measured
_MOST_NAMES = 2_000  # limits memory if names contain values; all further names are counted as one


def profile(
    events: Events,
    workspace: Workspace | None = None,
    *,
    since: str | date | None = None,
    columns: Mapping[str, str] | None = None,
    history: Path | str | None = None,
    against: Events | None = None,
) -> Profile:
    """Return a profile of events: fields by event name, how often each is missing, types and mixes of them, volumes.

    `events` and `columns` are as in `svctoolkit.replay`. With `since` (a date, ISO 8601), types that a field first had
    after that date are marked as new. With a workspace, the profile includes what its destinations refuse, filter, drop
    and lose; nothing is sent. An iterator of events is then loaded into memory, because it has to be read twice.

    `history` is a DuckDB file to which counts of the events are added: see `svctoolkit.history`. With `against` (such a
    file, or other events), the profile includes what changed since then.

    Raises `ConfigError`. A damaged file is in `unread`; with `history` or `against`, it raises `ConfigError`.
    """
    begin = _moment(since)
    if (workspace or history or against is not None) and isinstance(events, Iterator):
        events = list(events)
    if history is None and against is None:
        return _profile(events, workspace, begin, columns)
    baseline = read_history(against) if against is not None else None
    counted = read_history(events, workspace, columns=columns)
    changes = None if baseline is None else counted.changes(baseline)
    basis = "" if baseline is None else counted.basis(baseline)
    if history is not None:
        counted.write(history)
    return replace(_profile(events, workspace, begin, columns), changes=changes, basis=basis)


def read_history(
    events: Events,
    workspace: Workspace | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    rejects: list[Reject] | None = None,
) -> History:
    """Return the history in a file that `--history` writes, or of events.

    `events` are as in `svctoolkit.replay`; records that are no events are added to `rejects`. Secrets of a workspace
    are hidden in names. Raises `ConfigError`, also for
    a damaged file: half a day in a history would look like a drop.
    """
    if isinstance(events, (str, Path)) and str(events).endswith(ENDINGS):
        return _stored(Path(events))
    collector = Collector(workspace.masker.text if workspace is not None else str, examines_all=True)
    parts: dict[str, Part] = {}
    for chunk in input_of(events).chunks():
        for record in _all_records(chunk, Columns(columns)):
            if isinstance(record, Record):
                collector.begin(record.event)
                collector.add(record.event)
            elif record.rest_unread:
                raise ConfigError(record.reason, where=record.place)
            elif rejects is not None:
                rejects.append(record)
        if isinstance(chunk, Chunk):
            parts.setdefault(chunk.name, Part(chunk.name)).add(collector.finish(chunk.name))
    return History([part for part in parts.values() if part.events])


def _stored(path: Path) -> History:
    if not path.exists():
        raise ConfigError("file not found; `svctoolkit replay --history FILE` writes one", where=str(path))
    return History.load(path)


def _profile(
    events: Events, workspace: Workspace | None, begin: datetime | None, columns: Mapping[str, str] | None
) -> Profile:
    shapes: dict[tuple[str, str], Shape] = {}
    rejects: list[Reject] = []
    samples: dict[tuple[str, str], dict[frozenset[str], Mapping[str, Json]]] = {}
    rejected = 0
    for record in _records(events, Columns(columns)):
        if isinstance(record, Reject):
            rejected += 1
            rejects += [record] if record.rest_unread or len(rejects) < _REJECTS else []
            continue
        event = record.event
        key = shape_key(event)
        if key not in shapes and len(shapes) >= _MOST_NAMES:
            key = (key[0], "…")
        shape = shapes.setdefault(key, Shape(*key))
        shape.add(event, record.place)
        kept = samples.setdefault(key, {})
        if len(kept) < _SAMPLES:
            kept.setdefault(frozenset(_members(event)), event)
    for shape in shapes.values():
        shape.finish(workspace.masker.text if workspace is not None else str)
    ordered = sorted(shapes.values(), key=lambda shape: -shape.count)
    if workspace is None:
        return Profile(ordered, (), rejects, rejected, begin)
    present = {(shape.title, path): field.present for shape in ordered for path, field in shape.fields.items()}
    by_title = {shape.title: list(samples[key].values()) for key, shape in shapes.items()}
    needs = [
        *refusals(replay_all(events, workspace, rows=False, columns=columns), workspace),
        *losses(workspace, by_title, present),
    ]
    return Profile(ordered, needs, rejects, rejected, begin)


def _records(events: Events, columns: Columns) -> Iterator[Record | Reject]:
    for chunk in input_of(events).chunks():
        yield from _all_records(chunk, columns)


def _all_records(chunk: Chunk | Reject, columns: Columns) -> Iterable[Record | Reject]:
    return records(chunk, columns) if isinstance(chunk, Chunk) else [chunk]


def _members(event: Mapping[str, Json]) -> Iterator[str]:
    """Yield the names of members that distinguish shapes, down to the second level."""
    for key, value in event.items():
        yield key
        if isinstance(value, Mapping):
            yield from (f"{key}.{inner}" for inner in value)


def _moment(since: str | date | None) -> datetime | None:
    if since is None:
        return None
    try:
        text = since if isinstance(since, str) else since.isoformat()
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"since must be a date such as 2026-01-31, not {since!r}") from None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
