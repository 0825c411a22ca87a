"""Count the requests that many events make, for different sizes of calls, and compare batches with their limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Any

from svctoolkit.destinations import definitions
from svctoolkit.errors import ConfigError, ToolkitError
from svctoolkit.events import check
from svctoolkit.events.clock import time_of
from svctoolkit.json_codec import encode
from svctoolkit.pipeline import Pipeline
from svctoolkit.replay.engine.sides import select
from svctoolkit.replay.inputs import Events, input_of, records
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.record import Record, Reject
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd


@dataclass(slots=True)
class RequestCount:
    """The requests to one destination, with calls of at most `jobs` events.

    `events` is the number of events sent, `requests` the number of requests for them. `largest` is the highest number
    of events in a request (the average, if a batch needs several requests), `bytes` the size of the longest body as
    JSON, and `limit` the maximum number of events that the destination accepts in a request (0 if unknown).
    """

    destination: str
    jobs: int
    limit: int
    events: int = 0
    requests: int = 0
    largest: int = 0
    bytes: int = 0

    @property
    def per_request(self) -> float:
        """Events per request, on average."""
        return self.events / self.requests if self.requests else 0.0

    @property
    def per_million(self) -> int:
        """The number of requests for a million such events."""
        return round(1e6 * self.requests / self.events) if self.events else 0

    @property
    def share_of_limit(self) -> float | None:
        """The largest request as a share of the limit; None without a limit."""
        return self.largest / self.limit if self.limit else None


class RequestCounts(tuple[RequestCount, ...]):
    """One count for each destination and size of calls."""

    __slots__ = ()

    def frame(self) -> pd.DataFrame:
        """Return one row for each count, with its fields and `per_request` and `share_of_limit`."""
        import pandas as pd

        names = ("destination", "jobs", "events", "requests", "per_request", "largest", "bytes", "limit")
        rows = [[getattr(count, name) for name in (*names, "share_of_limit")] for count in self]
        return pd.DataFrame(rows, columns=[*names, "share_of_limit"]).astype({"share_of_limit": "Float64"})

    def __repr__(self) -> str:
        return "\n".join(map(_line, self)) or "no destinations"


def count_requests(
    events: Events,
    workspace: Workspace,
    *,
    jobs: int | Sequence[int] = 20,
    destinations: Sequence[str] | None = None,
    source: str | None = None,
) -> RequestCounts:
    """Count the requests that the events make at each destination, for one or several sizes of calls. Nothing is sent.

    `events` accepts everything that `replay` accepts; the input is never loaded into memory as a whole. Records that
    are not events are skipped.

    Raises `ConfigError` or a subclass for any problem that is found before the first event.
    """
    sizes = [jobs] if isinstance(jobs, int) else list(jobs)
    if not sizes or min(sizes) < 1:
        raise ConfigError("jobs must be at least 1")
    pipeline = Pipeline(workspace.in_mode("record"))
    counts: list[RequestCount] = []
    for key in sent_to(workspace, select((workspace,), destinations, source), destinations):
        limit = definitions.get(workspace.destination(key).type).batch_limit
        counts += [RequestCount(key, size, limit) for size in sizes]
    calls: list[list[Mapping[str, Any]]] = [[] for _ in counts]
    for event in valid_events(events):
        for count, call in zip(counts, calls, strict=True):
            call.append(event)
            if len(call) == count.jobs:
                _add(count, pipeline, call, source)
                call.clear()
    for count, call in zip(counts, calls, strict=True):
        _add(count, pipeline, call, source)
    return RequestCounts(counts)


def sent_to(workspace: Workspace, keys: Sequence[str], chosen: Sequence[str] | None) -> list[str]:
    """Return the destinations that receive requests; all of them if the caller named some."""
    items = [workspace.destination(key) for key in keys]
    return [d.key for d in items if chosen is not None or (d.enabled and _makes_requests(d.type))]


def _makes_requests(type: str) -> bool:
    return not definitions.reason_unmapped(type) and not definitions.is_recorded_only(type)


# Any: events
def valid_events(events: Events) -> Iterator[Mapping[str, Any]]:
    """Yield the events that RudderStack accepts."""
    columns = Columns({})
    for chunk in input_of(events).chunks():
        for record in () if isinstance(chunk, Reject) else records(chunk, columns):
            if isinstance(record, Record):
                try:
                    yield check(record.event)
                except ToolkitError:  # RudderStack rejects the event, so there is no request for it
                    continue


def _add(count: RequestCount, pipeline: Pipeline, events: Sequence[Mapping[str, Any]], source: str | None) -> None:
    now = datetime.now(UTC)
    times = [time_of(event, now) for event in events]  # as in a replay: old events are not refused
    for item in pipeline.deliveries(count.destination, events, jobs=count.jobs, source=source, times=times):
        if item.status == "sent" and item.payloads:
            count.events += len(item.events)
            count.requests += len(item.payloads)
            count.largest = max(count.largest, ceil(len(item.events) / len(item.payloads)))
            count.bytes = max(count.bytes, *(len(encode(payload["body"])) for payload in item.payloads))


def _line(count: RequestCount) -> str:
    share = f", {count.share_of_limit:.0%} of {count.limit}" if count.share_of_limit is not None else ""
    per = f"{count.per_request:.1f} events each, at most {count.largest}{share}"
    total = f"{count.requests:,} requests of {count.events:,} events in calls of {count.jobs}"
    return f"{count.destination}: {total}: {per}; {count.per_million:,} requests for a million events"
