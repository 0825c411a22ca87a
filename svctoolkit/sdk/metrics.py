"""A client's counts as metrics for Prometheus."""

from __future__ import annotations

import os
from collections.abc import Iterator

from svctoolkit.prometheus import family
from svctoolkit.sdk.base.reporter import Stats

_COUNTERS = {
    "recorded": "Events recorded by calls in this process.",
    "delivered": "Events delivered by this process.",
    "retried": "Events that the data plane did not accept, each time.",
    "missed": "Events that device mode was too slow for.",
}
_GAUGES = {
    "waiting": "Events that wait to be sent, of all processes that share the queue.",
    "parked": "Events that the data plane refused, of all processes that share the queue.",
    "in_memory": "Waiting events that would not survive the end of this process.",
}


def metrics_text(stats: Stats) -> str:
    """Return the counts in Prometheus's text format, labeled with the process."""
    return "\n".join(_lines(stats)) + "\n"


def write_metrics(stats: Stats, path: str | os.PathLike[str]) -> None:
    """Write the metrics to a file, atomically. Raises `OSError`."""
    target = os.fspath(path)
    unfinished = f"{target}.{os.getpid()}.tmp"  # not *.prom: a collector must not read it
    with open(unfinished, "w", encoding="utf-8") as file:
        file.write(metrics_text(stats))
    os.replace(unfinished, target)


def _lines(stats: Stats) -> Iterator[str]:
    process = str(os.getpid())
    for name, text in _COUNTERS.items():
        yield from _family(f"{name}_total", text, "counter", {(process,): getattr(stats, name)})
    dropped = {(process, reason): number for reason, number in stats.dropped.items()}
    yield from family("client_events_dropped_total", "Dropped events.", "counter", ("process", "reason"), dropped)
    for name, text in _GAUGES.items():
        yield from _family(name, text, "gauge", {(process,): getattr(stats, name)})
    paused = "1 while nothing is sent because the write key is refused or the source is disabled."
    yield from family("client_paused", paused, "gauge", ("process",), {(process,): int(bool(stats.paused))})


def _family(name: str, text: str, kind: str, values: dict[tuple[str], int]) -> Iterator[str]:
    return family(f"client_events_{name}", text, kind, ("process",), values)
