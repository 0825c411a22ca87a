"""Queries of a store: records by kind and filter, and counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from svctoolkit.json_types import Json
from svctoolkit.server.store.database import Store
from svctoolkit.server.store.record import Record, read, rows, selected
from svctoolkit.server.store.schema import TABLES, Delivery, Fate, Received, Rejected, Violation, Webhook

_MOST = 2**63 - 1


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter for records: each member that is not None must match. Members that a kind does not have match nothing.

    `violations` says whether an event has any, `violation` is the type of one.
    `status` is a fate, or an HTTP status as text; `since` and `until` are seconds since 1970.
    """

    run: str | None = None
    source: str | None = None
    destination: str | None = None
    type: str | None = None
    name: str | None = None
    user: str | None = None
    status: str | None = None
    message_id: str | None = None
    since: float | None = None
    until: float | None = None
    seq: int | None = None
    attempt: int | None = None
    succeeded: bool | None = None
    repeated: bool | None = None
    violations: bool | None = None
    violation: str | None = None


@dataclass(frozen=True, slots=True)
class Kind(Generic[R]):
    """A kind of record: the column that numbers its records, their order, and whether events are joined to them."""

    record: type[R]
    number: str
    order: str
    with_events: bool = False

    @property
    def tables(self) -> str:
        return f"{TABLES[self.record].name} o" + (" join events e using (seq)" if self.with_events else "")

    @property
    def columns(self) -> str:
        return ", ".join(selected(self.record))

    def column(self, name: str) -> str:
        """Return the column with this name, or an empty string."""
        name = {"message_id": "id"}.get(name, name)
        if name in rows(self.record).columns:
            return f"o.{name}"
        return f"e.{name}" if self.with_events and name in rows(Received).columns else ""

    def read(self, row: Sequence[Json]) -> R:
        return self.record(**read(self.record, row))


EVENTS = Kind(Received, "seq", "o.seq")
REJECTED = Kind(Rejected, "seq", "o.seq")
WEBHOOKS = Kind(Webhook, "seq", "o.seq")
DELIVERIES = Kind(Delivery, "number", "o.number", with_events=True)
VIOLATIONS = Kind(Violation, "number", "o.number", with_events=True)
FATES = Kind(Fate, "seq", "o.seq, o.destination", with_events=True)


class Records(Generic[R]):
    """The records of one kind that match a filter, in their order. Lazy: records are read when they are accessed."""

    def __init__(self, store: Store, kind: Kind[R], chosen: Filter) -> None:
        self._store, self._kind = store, kind
        wanted = {name: value for name in _MEMBERS if (value := getattr(chosen, name)) is not None}
        names = tuple("without_run" if name == "run" and not value else name for name, value in wanted.items())
        self._where, values = _where(kind, names)
        self._values = [wanted[name] for name in values]
        self._sql = _selection(kind)

    def count(self) -> int:
        sql = f"select count(*) from {self._kind.tables} where {self._where}"
        return int(self._store.read(sql, self._values)[0][0])

    def at(self, index: int) -> R | None:
        """Return the record at an index, counted from the end if it is negative; None if it is out of range."""
        backwards = index < 0
        order = self._newest_first if backwards else self._kind.order
        records = self._select(order, 1, -index - 1 if backwards else index)
        return records[0] if records else None

    def page(self, after: int, limit: int, before: int = _MOST, *, newest_first: bool = False) -> list[R]:
        """Return about `limit` records with numbers between `after` and `before`. Those of one number stay together."""
        number = self._kind.column(self._kind.number)
        order = self._newest_first if newest_first else self._kind.order
        sql = f"{self._sql} where {number} > ? and {number} < ? and {self._where} order by {order} limit ?"
        records = [self._kind.read(row) for row in self._store.read(sql, [after, before, *self._values, limit])]
        # Several records may share a number (an event at several destinations): never cut between them.
        if len(records) == limit and "," in order:
            last = getattr(records[-1], self._kind.number)
            together = f"{self._sql} where {number} = ? and {self._where} order by {order}"
            whole = [self._kind.read(row) for row in self._store.read(together, [last, *self._values])]
            records = [record for record in records if getattr(record, self._kind.number) != last] + whole
        return records

    @property
    def _newest_first(self) -> str:
        return f"{self._kind.order} desc".replace(", ", " desc, ")

    def all(self, at_once: int) -> Iterator[R]:
        """Yield every record, read a few at a time."""
        start, last = 0, at_once
        while last == at_once:
            records = self._select(self._kind.order, at_once, start)
            yield from records
            last = len(records)
            start += last

    def _select(self, order: str, limit: int, offset: int) -> list[R]:
        sql = f"{self._sql} where {self._where} order by {order} limit ? offset ?"
        return [self._kind.read(row) for row in self._store.read(sql, [*self._values, limit, offset])]


_MEMBERS = tuple(member.name for member in fields(Filter))


@lru_cache
def _selection(kind: Kind[Any]) -> str:
    return f"select {kind.columns} from {kind.tables}"


@lru_cache(256)
def _where(kind: Kind[Any], wanted: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the condition for these members of a filter, and the members that supply its values, in order."""
    conditions = [(name, _condition(kind, name)) for name in wanted]
    text = " and ".join(condition for _, condition in conditions) or "1"
    # A condition may use its value twice.
    return text, [name for name, condition in conditions for _ in range(condition.count("?"))]


#: A request belongs to each event that it carries.
_OF_BATCH = {
    "seq": ("o.seq", "where seq"),
    "message_id": ("e.id", "join events b using (seq) where b.id"),
}


def _condition(kind: Kind[Any], name: str) -> str:
    """Return a condition that uses the value once or twice. If the kind has no such column, it matches nothing."""
    if name in ("since", "until"):
        return f"o.at {'>=' if name == 'since' else '<'} ?"
    if name == "run" and kind.column("run"):
        # The second part lets SQLite use the index of runs, which leaves out events without a run.
        return f"{kind.column('run')} = ? and {kind.column('run')} <> ''"
    if name == "without_run":
        return f"{kind.column('run')} = ''" if kind.column("run") else "0"
    if name == "user" and kind.column("anonymous"):
        return f"({kind.column('user')} = ? or {kind.column('anonymous')} = ?)"
    if name == "succeeded" and kind is DELIVERIES:
        return "(o.accepted > 0) = ?"
    if name in _OF_BATCH and kind is DELIVERIES:
        own, carried = _OF_BATCH[name]
        return f"({own} = ? or o.number in (select number from carried {carried} = ?))"
    if name == "repeated" and kind.column("repeats"):
        return f"({kind.column('repeats')} is not null) = ?"
    if name == "violations" and kind is EVENTS:
        return "exists (select 1 from violations v where v.seq = o.seq) = ?"
    column = kind.column(name)
    if not column:
        # False: a filter that this kind cannot have matches nothing, instead of being ignored.
        return "0"
    return f"cast({column} as text) = ?" if name == "status" else f"{column} = ?"


class CheckCounts(NamedTuple):
    """How many events were checked against a tracking plan, how many violated it, and how many it dropped."""

    checked: int
    violated: int
    dropped: int


def check_counts(store: Store, run: str | None = None) -> CheckCounts:
    """Return the results of tracking plans, of one run or of all."""
    where, values = ("", []) if run is None else (" where run = ?", [run])
    sql = f"select count(*), coalesce(sum(violations > 0), 0), coalesce(sum(dropped), 0) from checks{where}"
    return CheckCounts(*store.read(sql, values)[0])


def fate_counts(store: Store, run: str | None = None) -> dict[tuple[str, str], int]:
    """Return how many events have which fate, by destination and status."""
    where, values = ("", []) if run is None else (" where run = ?", [run])
    sql = f"select destination, status, count(*) from fates{where} group by 1, 2 order by 1, 2"
    return {(destination, status): number for destination, status, number in store.read(sql, values)}


def carried_ids(store: Store, number: int) -> list[str]:
    """Return the message ids of the events of a delivery that carries several, in their order."""
    sql = "select e.id from carried c join events e using (seq) where c.number = ? order by c.place"
    return [message_id for (message_id,) in store.read(sql, (number,))]
