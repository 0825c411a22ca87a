"""Arrivals: one line for each event or refusal. The newest ones, or pages of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from svctoolkit.server.store.blob import unpack
from svctoolkit.server.store.database import Store
from svctoolkit.server.store.schema import marks

_WITHIN = 5000  # events that a selection of the newest searches: bounds the cost of a query
REJECTED = "rejected"
_USER = "coalesce(nullif(user, ''), anonymous)"


@dataclass(frozen=True, slots=True)
class Selection:
    """A filter for arrivals: each non-empty member must match. `text` is part of a name, a user or a message id.

    `status` is a fate (at `destination`, if that is given), or `rejected`; `since` and `until` are seconds since 1970;
    `violations` says whether an event has any. `before` and `after` are seqs. Without `full_scan`, only the newest
    5,000 events are searched.
    """

    run: str | None = None
    source: str = ""
    type: str = ""
    destination: str = ""
    status: str = ""
    text: str = ""
    name: str = ""
    user: str = ""
    since: float | None = None
    until: float | None = None
    violations: bool | None = None
    before: int | None = None
    after: int | None = None
    full_scan: bool = False


class Arrival(NamedTuple):
    """One line about an event, or about a refusal with the reason in `refused`."""

    seq: int
    at: float
    source: str
    type: str
    name: str
    user: str
    refused: str
    run: str


def arrivals(store: Store, chosen: Selection, limit: int) -> list[Arrival]:
    """Return at most `limit` arrivals, newest first: the newest matches, or with `after` the next ones after it."""
    rows = [] if chosen.status == REJECTED else _events(store, chosen, limit)
    of_events = (chosen.type, chosen.name, chosen.user, chosen.destination, chosen.violations is not None)
    if not any(of_events) and chosen.status in ("", REJECTED):
        rows += _refusals(store, chosen, limit)
    if chosen.after is None:
        return sorted(rows, reverse=True)[:limit]
    # With `after`, the oldest ones after it come first, or a reader that lags would skip some.
    return sorted(sorted(rows)[:limit], reverse=True)


def _events(store: Store, chosen: Selection, limit: int) -> list[Arrival]:
    conditions, values = _conditions(chosen, "run", "source", "type", "name")
    if not chosen.full_scan:
        # First, so that SQLite starts from the primary key and never scans the whole table.
        conditions.insert(0, f"seq > (select max(seq) from events) - {_WITHIN}")
    if chosen.user:
        conditions.append("(user = ? or anonymous = ?)")
        values += [chosen.user, chosen.user]
    if chosen.text:
        conditions.append("instr(lower(name || char(10) || user || char(10) || anonymous || char(10) || id), lower(?))")
        values.append(chosen.text)
    if chosen.violations is not None:
        conditions.append("exists (select 1 from violations v where v.seq = events.seq) = ?")
        values.append(chosen.violations)
    if chosen.destination or chosen.status:
        fits, of_fate = _same(replace(chosen, run=None), "destination", "status")
        conditions.append(f"exists (select 1 from fates f where f.seq = events.seq and {' and '.join(fits)})")
        values += of_fate
    columns = f"seq, at, source, type, name, {_USER}, '', run"
    return _read(store, f"select {columns} from events", conditions, values, chosen, limit)


def _refusals(store: Store, chosen: Selection, limit: int) -> list[Arrival]:
    conditions, values = _conditions(chosen, "run", "source")
    if chosen.text:
        conditions.append("instr(lower(reason), lower(?))")
        values.append(chosen.text)
    columns = "seq, at, source, '', '', '', status || ' ' || reason, run"
    return _read(store, f"select {columns} from rejected", conditions, values, chosen, limit)


def _read(
    store: Store, select: str, conditions: Sequence[str], values: Sequence[Any], chosen: Selection, limit: int
) -> list[Arrival]:
    order = "seq desc" if chosen.after is None else "seq"
    sql = f"{select} where {' and '.join(conditions) or '1'} order by {order} limit ?"
    return [Arrival(*row) for row in store.read(sql, [*values, limit])]


def _conditions(chosen: Selection, *columns: str) -> tuple[list[str], list[Any]]:
    """Return the conditions for the columns that events and refusals share."""
    conditions, values = _same(chosen, *columns)
    bounds = {"at >=": chosen.since, "at <": chosen.until, "seq <": chosen.before, "seq >": chosen.after}
    for comparison, bound in bounds.items():
        if bound is not None:
            conditions.append(f"{comparison} ?")
            values.append(bound)
    return conditions, values


def _same(chosen: Selection, *columns: str) -> tuple[list[str], list[Any]]:
    """Return a condition for each of the columns that the selection restricts, and the values."""
    values = {column: getattr(chosen, column) for column in columns}
    chosen_columns = {column: value for column, value in values.items() if value or (column == "run" and value == "")}
    return [f"{column} = ?" for column in chosen_columns], [*chosen_columns.values()]


def fates_of(store: Store, seqs: Sequence[int]) -> dict[int, dict[str, str]]:
    """Return the statuses of each of these events, by destination."""
    fates: dict[int, dict[str, str]] = {}
    sql = f"select seq, destination, status from fates where seq in ({marks(seqs)}) order by seq, destination"
    for seq, destination, status in store.read(sql, seqs):
        fates.setdefault(seq, {})[destination] = status
    return fates


def lossy_of(store: Store, seqs: Sequence[int], destinations: Sequence[str]) -> dict[int, list[str]]:
    """Return at which of these destinations the user transformation lost values of each event, without others."""
    lossy: dict[int, list[str]] = {}
    if not destinations:
        return lossy
    sql = (
        f"select seq, destination, detail from fates where seq in ({marks(seqs)}) "
        f"and destination in ({marks(destinations)}) order by seq, destination"
    )
    for seq, destination, detail in store.read(sql, [*seqs, *destinations]):
        if detail is not None and unpack(detail).get("losses"):
            lossy.setdefault(seq, []).append(destination)
    return lossy


def ids_of(store: Store, seqs: Sequence[int]) -> dict[int, str]:
    """Return the `messageId` of each of these events."""
    return dict(store.read(f"select seq, id from events where seq in ({marks(seqs)})", seqs))


def violations_of(store: Store, seqs: Sequence[int]) -> dict[int, int]:
    """Return how many violations each of these events has, without those that have none."""
    sql = f"select seq, count(*) from violations where seq in ({marks(seqs)}) group by seq"
    return dict(store.read(sql, seqs))


class RunRecord(NamedTuple):
    """A run: how many events it received, and when the first and the last of them arrived."""

    run: str
    received: int
    first: float
    last: float


def runs(store: Store, limit: int) -> list[RunRecord]:
    """Return the runs that received events, at most `limit`, the newest first. Events without a run are the run ''."""
    sql = "select run, count(*), min(at), max(at) from events group by run order by max(seq) desc limit ?"
    return [RunRecord(*row) for row in store.read(sql, [limit])]


class TransformationError(NamedTuple):
    """How often the user transformation of a destination failed, and when it last did."""

    destination: str
    errors: int
    seq: int
    at: float
    reason: str


def transformation_errors(store: Store) -> dict[str, TransformationError]:
    """Return the errors by destination, without destinations that have none."""
    # In a group, SQLite takes the other columns from the row with the maximum.
    sql = (
        "select destination, count(*), max(seq), at, reason from fates "
        "where by = 'user_transform' and status in ('failed', 'dead') group by destination"
    )
    return {row[0]: TransformationError(*row) for row in store.read(sql, [])}
