"""How a workspace delivers, and what its data planes and warehouses take and keep."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret
from svctoolkit.url_secrets import url_secrets


@dataclass(frozen=True, slots=True)
class Calls:
    """How jobs reach a router call, in which they may share requests: at most `jobs` of them.

    A call is made of what waits when the destination is free. With `wait` it is made as soon as there are so many jobs,
    or when the first has waited so many seconds; whoever waits until nothing is under way lets it be made at once.
    """

    jobs: int = 20
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Throttle:
    """At most `limit` jobs reach a destination in any window of so many `seconds`.

    With `adaptive` they are fewer after the destination has put some off (429), and more again after a quiet time.
    """

    limit: int
    seconds: float
    adaptive: bool = False


@dataclass(slots=True)
class Delivery:
    """Where the destinations' requests go: `mode` is `record` (nothing leaves the machine), `live`, `cassette`, or one
    that another package adds (see `svctoolkit.delivery.modes`).

    In mode `cassette` the file `cassette` answers. As long as there is none, the real destinations do, and their
    answers are kept in it, with secrets masked; once it is there, nothing leaves the machine. A relative path starts
    from the workspace's folder.
    `allow` lists hosts, addresses or networks that the network policy lets through although it would refuse them.
    `timeout` is in seconds, for one request. `geolocation` is the address of a service that answers
    `<geolocation>/geoip/<ip>` with JSON: what `geolocation(ip)` in a transformation gives. One with a password or a key
    in it becomes a `Secret`.

    How a data plane delivers: `profile` is `quick` (for tests) or `production` (as the service, for three hours);
    `backoff` replaces members of its back-off by name; `width` is how many requests a destination gets at a time.
    `batch` says how events share requests; None: each has its own. `throttle` slows destinations down, by the key of
    one or by its type.
    """

    mode: str = "record"
    allow: list[str] = field(default_factory=list)
    timeout: float = 60.0
    geolocation: str | Secret = ""
    cassette: Path | None = None
    profile: str = "quick"
    backoff: dict[str, float] = field(default_factory=dict)
    width: int = 8
    batch: Calls | None = field(default_factory=Calls)
    throttle: dict[str, Throttle] = field(default_factory=dict)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "geolocation" and isinstance(value, str) and any(url_secrets(value)):
            value = Secret(value)
        object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class PlaneLimits:
    """What a data plane takes and holds in memory at most.

    `body` are the bytes of a request after decompression; `answer` those of an answer, of which else the head is kept;
    `waiting` the events of a destination in memory (those of two calls always), and `unrouted` the bytes of requests
    that are not routed yet: the rest waits in the store; `changes` those that are kept for slow readers of the live
    stream.
    """

    body: int = 4000 * 1024
    answer: int = 1_000_000
    waiting: int = 2000
    unrouted: int = 16 << 20
    changes: int = 10_000


@dataclass(frozen=True, slots=True)
class WarehouseSettings:
    """What the operator of the service sets for all warehouses.

    With `id_resolution` BigQuery and Snowflake keep who is whom; an event with more than `max_columns` in a table is
    refused. `rows` are those that a table here keeps, the newest: they are in memory.
    """

    id_resolution: bool = False
    max_columns: int = 1600
    rows: int = 1_000_000

    def for_rows(self) -> dict[str, Json]:
        """The settings that decide how rows come out, as `svctoolkit.warehouse` takes them."""
        return {"id_resolution": self.id_resolution, "max_columns": self.max_columns}


@dataclass(slots=True)
class DataPlaneSettings:
    """How a data plane takes and keeps events.

    `lenient` sets a bad event of a batch aside and takes the rest; for `window` seconds a `messageId` counts as known;
    the newest `events` are kept, none older than `seconds` (None: 1,000,000 and a week in a file, 20,000 in memory).
    """

    lenient: bool = False
    window: float = 3600.0
    events: int | None = None
    seconds: float | None = None
    limits: PlaneLimits = field(default_factory=PlaneLimits)
