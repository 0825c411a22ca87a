"""How long events take at each destination, by stage, from what the store has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from svctoolkit.displayed import Displayed, render
from svctoolkit.server.store import schema
from svctoolkit.server.store.records import DELIVERIES, Filter, Records
from svctoolkit.server.worker import Engine

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from svctoolkit.pictures import Spans

_MOST: Final = 2_000  # requests, the last ones
PROCESSING, REQUEST, PAUSE = "until the first request", "request", "pause before a retry"
STAGES: Final = (PROCESSING, REQUEST, PAUSE)


class Latency(NamedTuple):
    """How long a stage takes at a destination, in milliseconds, for a number of `requests`.

    `stage` is `until the first request` (routing, transformation, mapping, and waiting for earlier events), `request`
    or `pause before a retry`.
    """

    destination: str
    stage: str
    requests: int
    median: float
    p95: float
    longest: float


class Latencies(Displayed):
    """The latency of each destination and stage, over the last 2,000 requests."""

    def __init__(self, rows: Sequence[Latency]) -> None:
        self.rows = list(rows)

    def frame(self) -> pd.DataFrame:
        """Return one row for each destination and stage, with the columns of `Latency`."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(Latency._fields))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return the picture as matplotlib axes. Raises `ConfigError` without `svctoolkit[plot]`."""
        return self.picture().plot(ax)

    def picture(self) -> Spans:
        from svctoolkit.pictures import Span, Spans  # 13 ms, and few planes show one

        return Spans("Latency by stage", [Span(*of) for of in self.rows])

    def __repr__(self) -> str:
        return render(self, "text")


def latencies(engine: Engine, run: str | None) -> Latencies:
    """Return the latencies of one run or of all."""
    last = Records(engine.store, DELIVERIES, Filter(run=run)).page(0, _MOST, newest_first=True)
    received = _received(engine, {record.seq for record in last})
    taken: dict[tuple[str, str], list[float]] = {}
    for destination, stage, milliseconds in _times(last[::-1], received):
        taken.setdefault((destination, stage), []).append(max(milliseconds, 0.0))
    rows = [Latency(*key, len(of), _quantile(of, 0.5), _quantile(of, 0.95), max(of)) for key, of in taken.items()]
    return Latencies(sorted(rows, key=lambda row: (row.destination, STAGES.index(row.stage))))


def _received(engine: Engine, numbers: set[int]) -> dict[int, float]:
    sql = "select seq, at from events where seq in (select value from json_each(?))"
    return {int(seq): float(at) for seq, at in engine.store.read(sql, [json.dumps(sorted(numbers))])}


def _times(records: Sequence[schema.Delivery], received: dict[int, float]) -> Iterator[tuple[str, str, float]]:
    """Yield destination, stage and milliseconds. Pauses are those after attempts that are among the records."""
    ended: dict[tuple[int, str], float] = {}
    for record in records:
        end = record.at.timestamp() * 1000
        start, key = end - record.milliseconds, (record.seq, record.destination)
        yield record.destination, REQUEST, record.milliseconds
        if record.attempt == 1 and record.part == 0 and record.seq in received:
            yield record.destination, PROCESSING, start - received[record.seq] * 1000
        if record.attempt > 1 and key in ended:
            yield record.destination, PAUSE, start - ended[key]
        ended[key] = end


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
