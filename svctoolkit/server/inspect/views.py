"""What a data plane has seen and done, as sequences of records that are read from its store."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from svctoolkit.delivery import HttpRequest
from svctoolkit.server.store.database import unpacked

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.server.inspect.newest import Arrival
    from svctoolkit.server.worker import Engine

T = TypeVar("T")
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Received:
    """An event that was accepted. `seq` numbers the events of a data plane in the order of their arrival."""

    seq: int
    event: Mapping[str, Any] = field(repr=False)
    message_id: str
    type: str
    name: str
    source: str
    run: str
    received_at: datetime

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import received

        return display.bundle(received(self), repr(self))


@dataclass(frozen=True, slots=True)
class Rejected:
    """What was refused: `body` is the request's, parsed if it is JSON, or the event alone where the rest was taken.

    `position` is the place of the bad event in its batch. `source` is empty where the write key was wrong.
    """

    status: int
    reason: str
    body: Any = field(repr=False)
    position: int | None
    source: str
    run: str
    at: datetime

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import rejected

        return display.bundle(rejected(self), repr(self))


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request to a destination with its answer. `attempt` counts from 1; `part` numbers the payloads of an event.

    `response` is parsed if it is JSON. Without an answer `error` says why, and `status` is what the service reports.
    A store in a file has secrets masked here; one in memory has them as they were sent.
    """

    seq: int
    message_id: str
    destination: str
    run: str
    attempt: int
    part: int
    status: int
    at: datetime
    payload: Mapping[str, Any] = field(repr=False)
    request: HttpRequest = field(repr=False)
    response: Any = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    error: str
    milliseconds: float
    _engine: Engine = field(repr=False, compare=False)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import delivery

        return display.bundle(delivery(self, self._engine.masker()), repr(self))


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one event at one destination.

    `status` is `delivered`, `filtered` (it was not meant to get there), `dropped` (by the user transformation),
    `failed` (no use in trying again), `dead` (tried too often) or `pending`; `by` is the stage that decided, `reason`
    says why. `transformed` are the events after the user transformation, None without one. `retry_in` are the seconds
    from the last attempt to the next one.
    """

    seq: int
    message_id: str
    type: str
    name: str
    source: str
    destination: str
    status: str
    by: str
    reason: str
    attempts: int
    run: str
    at: datetime
    transformed: Sequence[Mapping[str, Any]] | None = field(repr=False)
    retry_in: float | None = field(repr=False)
    _engine: Engine = field(repr=False, compare=False)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import of_fate

        return display.bundle(of_fate(self, self._engine.masker()), repr(self))

    @property
    def event(self) -> Mapping[str, Any]:
        """The event as it was accepted."""
        return self._engine.event(self.seq)

    @property
    def payloads(self) -> list[Mapping[str, Any]]:
        """The payloads of the first attempt; later ones only send what is left."""
        sql = "select data from deliveries where seq = ? and destination = ? and attempt = 1 order by part"
        return [unpacked(data)["payload"] for (data,) in self._engine.store.read(sql, (self.seq, self.destination))]


class Rows(Sequence[T], Generic[T]):
    """Records of one kind, oldest first. Always what is there now: it grows while the data plane works."""

    def __init__(
        self, engine: Engine, sql: str, order: str, where: Sequence[tuple[str, Any]], make: Callable[[Engine, Any], T]
    ) -> None:
        self._engine, self._make = engine, make
        conditions = " and ".join(condition for condition, _ in where)
        self._sql = sql + (f" where {conditions}" if conditions else "")
        self._values = [value for _, value in where]
        self._order = order

    def __len__(self) -> int:
        self._settle()
        return int(self._engine.store.read(f"select count(*) from ({self._sql})", self._values)[0][0])

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return list(self)[index]
        self._settle()
        direction, offset = ("asc", index) if index >= 0 else ("desc", -index - 1)
        sql = f"{self._sql} order by {self._order} {direction} limit 1 offset ?"
        rows = self._engine.store.read(sql, [*self._values, offset])
        if not rows:
            raise IndexError(f"there is no record {index}; there are {len(self)}")
        return self._make(self._engine, rows[0])

    def __iter__(self) -> Iterator[T]:
        self._settle()
        start = 0
        while True:
            sql = f"{self._sql} order by {self._order} limit {_PAGE} offset ?"
            rows = self._engine.store.read(sql, [*self._values, start])
            for row in rows:
                yield self._make(self._engine, row)
            if len(rows) < _PAGE:
                return
            start += _PAGE

    def _settle(self) -> None:
        """Let what was accepted before get into the tables."""
        self._engine.bell.wait(self._engine.routed, 5.0)
        self._engine.store.flush()

    def frame(self) -> pd.DataFrame:
        """One row per record; JSON values become columns with dotted names. Secrets are masked."""
        from svctoolkit.server.inspect.frames import frame

        return frame(self, self._engine.masker())

    def __repr__(self) -> str:
        few = self[:3] if len(self) <= 3 else [*self[:2], ...]
        return f"[{', '.join('...' if item is ... else repr(item) for item in few)}] ({len(self)} records)"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import rows

        return display.bundle(rows(self, self._engine.masker()), repr(self))


class View:
    """What a data plane has of one run, or of all. The sequences are live."""

    def __init__(self, engine: Engine, run: str | None = None) -> None:
        self._engine, self._run = engine, run

    def __repr__(self) -> str:
        return f"<what a data plane has of {f'run {self._run!r}' if self._run else 'all runs'}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.server.inspect._display import view

        return display.bundle(view(self), repr(self))

    def _where(self, column: str = "run", *more: tuple[str, Any]) -> list[tuple[str, Any]]:
        return [*([] if self._run is None else [(f"{column} = ?", self._run)]), *more]

    @property
    def received(self) -> Rows[Received]:
        """Every accepted event, also one whose `messageId` came before."""
        return Rows(
            self._engine, "select seq, id, type, name, source, run, at from events", "seq", self._where(), received
        )

    @property
    def rejected(self) -> Rows[Rejected]:
        """What was refused, by request or (`lenient`) by event."""
        sql = "select status, reason, body, position, source, run, at, seq from rejected"
        return Rows(self._engine, sql, "seq", self._where(), rejected)

    @property
    def delivered(self) -> Rows[Delivery]:
        """Every request that the destination answered with 2xx."""
        return Rows(self._engine, _DELIVERIES, "number", self._where("d.run", (_SUCCEEDED, 200)), delivery)

    @property
    def deliveries(self) -> Rows[Delivery]:
        """Every request to a destination, whatever the answer."""
        return Rows(self._engine, _DELIVERIES, "number", self._where("d.run"), delivery)

    @property
    def fates(self) -> Rows[Fate]:
        """One record for each event and destination that its source is connected to."""
        return Rows(self._engine, _FATES, "seq, destination", self._where("f.run"), fate)

    def newest(
        self,
        limit: int = 50,
        *,
        source: str = "",
        type: str = "",
        destination: str = "",
        status: str = "",
        text: str = "",
    ) -> list[Arrival]:
        """The newest events and refusals, newest first, in one line each, with their fates; secrets are masked.

        `status` is a fate (at `destination`, if given) or `rejected`; `text` is part of a name, a user or a message id.
        They choose among the newest 5,000 events: this is made for looking on, several times a second.
        """
        from svctoolkit.server.inspect.newest import Chosen, newest

        return newest(self._engine, self._run, Chosen(source, type, destination, status, text), limit)

    def about(self, seq: int) -> dict[str, list[dict[str, Any]]]:
        """Everything about one event or refusal as `/inspect` shows it: `events`, `rejected`, `fates`, `deliveries`."""
        from svctoolkit.server.inspect.queries import about

        return about(self._engine, seq)

    def fate_counts(self) -> dict[tuple[str, str], int]:
        """How many events have which fate, by destination and status."""
        where, values = ("", []) if self._run is None else (" where run = ?", [self._run])
        sql = f"select destination, status, count(*) from fates{where} group by 1, 2 order by 1, 2"
        return {(destination, status): n for destination, status, n in self._engine.store.read(sql, values)}


_SUCCEEDED = "(status / 100) * 100 = ?"
_DELIVERIES = (
    "select seq, id, destination, d.run, attempt, part, status, d.at, data, number "
    "from deliveries d join events e using (seq)"
)
_FATES = (
    "select seq, id, type, name, source, destination, status, by, reason, attempts, f.run, f.at, detail "
    "from fates f join events e using (seq)"
)


def received(engine: Engine, row: Sequence[Any]) -> Received:
    seq, message_id, kind, name, source, run, at = row
    return Received(seq, engine.event(seq), message_id, kind, name, source, run, time_of(at))


def rejected(_engine: Engine, row: Sequence[Any]) -> Rejected:
    status, reason, body, position, source, run, at, _ = row
    return Rejected(status, reason, unpacked(body), position, source, run, time_of(at))


def delivery(engine: Engine, row: Sequence[Any]) -> Delivery:
    seq, message_id, destination, run, attempt, part, status, at, data, _ = row
    made = unpacked(data)
    return Delivery(
        seq,
        message_id,
        destination,
        run,
        attempt,
        part,
        status,
        time_of(at),
        made["payload"],
        _request(made["request"]),
        made["response"],
        made["headers"],
        made["error"],
        made["milliseconds"],
        engine,
    )


def fate(engine: Engine, row: Sequence[Any]) -> Fate:
    known = unpacked(row[-1]) if row[-1] else {}
    *columns, at, _ = row
    return Fate(*columns, time_of(at), known.get("transformed"), known.get("retry_in"), engine)  # type: ignore[call-arg]


def _request(shown: Mapping[str, Any]) -> HttpRequest:
    body: str = shown["body"]
    raw = base64.b64decode(body[7:]) if body.startswith("base64:") else body.encode("utf-8", "surrogatepass")
    return HttpRequest(shown["method"], shown["url"], shown["headers"], raw)


def time_of(seconds: float) -> datetime:
    """A time of the store."""
    return datetime.fromtimestamp(seconds, UTC)
