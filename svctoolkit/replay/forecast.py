"""Estimate the time, disk space and requests of a long run from its first events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from svctoolkit.errors import ConfigError
from svctoolkit.replay.api import job_of
from svctoolkit.replay.engine import work
from svctoolkit.replay.engine.cluster import is_collection
from svctoolkit.replay.engine.progress import duration
from svctoolkit.replay.inputs import Events, Input, input_of, records
from svctoolkit.replay.options import Options, complete
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.record import Chunk, Piece, Record
from svctoolkit.replay.requests import count_requests
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    from svctoolkit.replay.engine.engine import Job

_FIRST, _ENOUGH = 2000, 1.0  # maximum number of events, and seconds after which to stop


@dataclass(frozen=True, slots=True, repr=False)
class Forecast:
    """Estimated cost of a run, extrapolated from its first events; None where the number of events is unknown.

    The first `looked_at` of `events` were run in this process, one after the other. `seconds` is the total time with
    the requested number of workers, `bytes` the size of the Parquet files in `out`. `requests` maps each destination to
    the number of requests that a delivery would make, in calls of 20 jobs.
    """

    looked_at: int
    events: int | None
    seconds: float | None
    bytes: int | None
    requests: Mapping[str, int]

    def __repr__(self) -> str:
        if self.events is None or self.seconds is None or self.bytes is None:
            return f"{self.looked_at:,} events were measured; the total number of events is unknown"
        head = f"about {self.events:,} events: {duration(self.seconds)}, {self.bytes / 1e6:,.1f} MB as Parquet"
        lines = [f"{key}: about {count:,} requests" for key, count in self.requests.items()]
        return "\n".join([f"{head} (measured on the first {self.looked_at:,})", *lines])


def forecast(
    events: Events, workspace: Workspace, after: Workspace | None = None, **options: Unpack[Options]
) -> Forecast:
    """Estimate what `replay`, or with two workspaces `compare`, would cost. The options are those of `replay`.

    Runs at most two thousand events from the beginning of the input. Raises `ConfigError` for events that can be read
    only once, for a Dask collection, and for any problem that is found before the first event.
    """
    if isinstance(events, Iterator) or is_collection(events):
        raise ConfigError("a forecast reads the events before the replay does: give files, a list or a frame")
    chosen = complete(options)
    sides = (workspace,) if after is None else (workspace, after)
    job = replace(job_of(sides, chosen), rows="parquet" if chosen["out"] is not None or chosen["rows"] else "")
    source = input_of(events)
    share, beginning = _beginning(source, Columns(job.columns))
    if not beginning:
        return Forecast(0, 0 if share else None, 0.0 if share else None, 0 if share else None, {})
    run, seconds, size = _measure(job, beginning)
    if not share:
        return Forecast(run, None, None, None, {})
    total = round(len(beginning) / share)
    scale = total / run
    counts = count_requests(
        [record.event for record in beginning],
        sides[-1],
        destinations=chosen["destinations"],
        source=chosen["source"],
    )
    requests = {count.destination: round(count.requests * total / len(beginning)) for count in counts}
    return Forecast(run, total, seconds * scale / chosen["workers"], round(size * scale), requests)


def _beginning(source: Input, columns: Columns) -> tuple[float, list[Record]]:
    """Return the share of the input that the first events make up (0 if unknown), and these events."""
    for chunk in source.chunks():
        if not isinstance(chunk, Chunk):
            continue
        whole = [record for record in records(chunk, columns) if isinstance(record, Record)]
        first = whole[:_FIRST]
        share = chunk.position / source.total if source.total else 0.0
        return (share * len(first) / len(whole) if whole else share), first
    return 1.0, []


# Any: events as read
def _measure(job: Job, beginning: list[Record]) -> tuple[int, float, int]:
    """Return how many events were run, in how many seconds, and the size of their rows. User code is loaded before."""
    engine = work.engine_of(job)
    items: list[Any] = [(record.event, record.source, record.repeats) for record in beginning]
    engine.run(Chunk(0, "", "objects", Piece(0, items[:1]), 1))
    run, size, started = 0, 0, time.perf_counter()
    while run < len(items) and (not run or time.perf_counter() - started < _ENOUGH):
        part = items[run : run + job.batch]
        _, rows = engine.run(Chunk(0, "", "objects", Piece(run, part), run + len(part)))
        run += len(part)
        size += len(rows or b"")
    return run, time.perf_counter() - started, size
