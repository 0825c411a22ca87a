"""Settings of a workspace for delivery, data planes and warehouses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret
from svctoolkit.simulations import Level
from svctoolkit.url_secrets import url_secrets


@dataclass(frozen=True, slots=True)
class Calls:
    """Grouping of jobs into router calls, in which they may share requests: at most `jobs` per call.

    By default a call contains the jobs that are waiting when the destination is free. With `wait`, it starts as soon as
    there are `jobs` jobs, or when the first one has waited `wait` seconds; a caller that waits for all deliveries to
    finish starts it immediately.
    """

    jobs: int = 20
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Throttle:
    """Rate limit: at most `limit` jobs reach a destination in any `seconds` seconds.

    With `adaptive` the limit decreases after responses with status 429, and increases again after a quiet period.
    """

    limit: int
    seconds: float
    adaptive: bool = False


@dataclass(slots=True)
class Delivery:
    """How requests to destinations are delivered.

    `mode` is `record` (nothing leaves the machine), `live`, `cassette`, or a mode of another package (see
    `svctoolkit.delivery.modes`). In mode `cassette`, responses come from the file `cassette`. If it does not exist, the
    requests go to the real destinations, and their responses are saved in it with secrets masked; from then on, nothing
    leaves the machine. Relative paths start from the workspace's folder.

    `allow` lists hosts, addresses or networks that the network policy would otherwise block. `timeout` is in seconds,
    per request. `geolocation` is the URL of a service that answers `<geolocation>/geoip/<ip>` with JSON, the result of
    `geolocation(ip)` in transformations. If it contains a password or a key, it becomes a `Secret`.

    For data planes: `profile` is `quick` (for tests) or `production` (like RudderStack, three hours of retries);
    `backoff` overrides members of its back-off by name; `concurrency` is the number of requests to one destination
    at a time. `batch` says how events share requests; None: each has its own. `throttle` limits the rate of
    destinations, by key or type.

    `simulate` is how the servers of destinations are simulated in mode `record`, unless a destination says otherwise:
    `answers` (success), `simulated` or `strict`. See `svctoolkit.simulations`. `braze_limit` is what a request to Braze
    may contain: 75 attributes, 75 events and 75 purchases (`each`, as RudderStack sends by default), or 75 objects in
    all (`total`, the limit of Braze's present contracts).
    """

    mode: str = "record"
    allow: list[str] = field(default_factory=list)
    timeout: float = 60.0
    geolocation: str | Secret = ""
    cassette: Path | None = None
    profile: str = "quick"
    backoff: dict[str, float] = field(default_factory=dict)
    concurrency: int = 8
    batch: Calls | None = field(default_factory=Calls)
    throttle: dict[str, Throttle] = field(default_factory=dict)
    simulate: Level = "answers"
    braze_limit: Literal["each", "total"] = "each"

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "geolocation" and isinstance(value, str) and any(url_secrets(value)):
            value = Secret(value)
        object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class PlaneLimits:
    """Limits of a data plane.

    `body`: bytes of a request after decompression. `answer`: bytes of a response; longer ones are truncated.
    `waiting`: events per destination in memory (at least those of two calls), and `unrouted`: bytes of requests that
    are not routed yet; the rest waits in the store. `changes`: changes that are kept for slow readers of the live
    stream. `mapping`: seconds of processor time in which one event must be mapped to one destination.
    `head`: seconds for the line and the headers of a request; then the connection is closed.
    """

    body: int = 4000 * 1024
    answer: int = 1_000_000
    waiting: int = 2000
    unrouted: int = 16 << 20
    changes: int = 10_000
    mapping: float = 2.0
    head: float = 20.0


@dataclass(frozen=True, slots=True)
class WarehouseSettings:
    """Settings for all warehouses, which the operator of RudderStack chooses.

    With `id_resolution`, BigQuery and Snowflake get tables for identity resolution; events with more than `max_columns`
    columns in a table are rejected. `rows` is the number of rows that a table keeps in memory here, the newest ones.
    """

    id_resolution: bool = False
    max_columns: int = 1600
    rows: int = 1_000_000

    def for_rows(self) -> dict[str, Json]:
        """Return the settings that affect rows, as arguments for `svctoolkit.warehouse`."""
        return {"id_resolution": self.id_resolution, "max_columns": self.max_columns}


@dataclass(slots=True)
class DataPlaneSettings:
    """How a data plane accepts and stores events.

    `lenient` sets invalid events of a batch aside and accepts the rest. Events with the same `messageId` within
    `dedup_window` seconds are duplicates. The newest `events` are kept, none older than `seconds` (None: 1,000,000 and
    a week in a file, 20,000 in memory). `event_blocking` lists, by event type, names of events that no destination
    receives. `traces` is the URL of a trace with `{trace_id}` in it, for links on the page.
    """

    lenient: bool = False
    dedup_window: float = 3600.0
    events: int | None = None
    seconds: float | None = None
    limits: PlaneLimits = field(default_factory=PlaneLimits)
    event_blocking: Mapping[str, Sequence[str]] = field(default_factory=dict)
    traces: str = ""
