"""Metrics for Prometheus, in its text format (version 0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from threading import Lock

from svctoolkit.prometheus import family
from svctoolkit.server.worker import Engine

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_AREAS = ("v1", "v0", "beacon", "pixel", "sourceConfig", "inspect", "admin", "metrics", "health")


class Metrics:
    """Counts since the start of the data plane."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._lock = engine, Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(_BUCKETS) + 1)
        self._seconds = 0.0

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count one answered request, by the first part of its path, so that clients cannot create many labels."""
        area = path.removeprefix("/").partition("/")[0]
        with self._lock:
            self._requests[area if area in _AREAS else "other", status] += 1
            self._buckets[bisect_left(_BUCKETS, seconds)] += 1
            self._seconds += seconds

    def text(self) -> str:
        with self._lock:
            lines = [line for family in self._families() for line in family]
        return "\n".join(lines) + "\n"

    def _families(self) -> Iterator[Iterable[str]]:
        requests = {(area, str(status)): count for (area, status), count in self._requests.items()}
        yield family("http_requests_total", "Answered requests.", "counter", ("path", "status"), requests)
        yield self._durations()
        for kind, text, labels in (
            ("received", "Accepted events.", ("source",)),
            ("repeated", "Accepted events that were repeats.", ("source",)),
            ("rejected", "Refused requests and events.", ("source", "status")),
            ("deliveries", "Requests to destinations.", ("destination", "status")),
            ("fates", "Outcomes of events at destinations.", ("destination", "fate")),
            ("checks", "Events checked against a tracking plan.", ("plan", "outcome")),
            ("violations", "Violations of tracking plans.", ("source", "type")),
        ):
            yield family(f"{kind}_total", text, "counter", labels, self._engine.journal.counts(kind))
        streams = {(): self._engine.journal.feed.readers}
        yield family("streams", "Open live streams.", "gauge", (), streams)
        pending = {(key,): count for key, count in self._engine.pending.under_way().items()}
        yield family("pending", "Events under way to a destination.", "gauge", ("destination",), pending)

    def _durations(self) -> Iterator[str]:
        name = "svctoolkit_http_request_seconds"
        yield f"# HELP {name} Time from the request's headers to the end of the answer."
        yield f"# TYPE {name} histogram"
        total = 0
        for limit, count in zip([*map(str, _BUCKETS), "+Inf"], self._buckets, strict=True):
            total += count
            yield f'{name}_bucket{{le="{limit}"}} {total}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {total}"
