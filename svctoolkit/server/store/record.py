"""The base of the data plane's records: a struct whose members declare where they are stored and how they are named.

The table and its rows, the items of `/inspect` with their schema, the changes of the stream and the columns of frames
are all derived from that declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from inspect import getdoc
from operator import attrgetter
from types import GenericAlias, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct, structs

from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.server.store.blob import pack, unpack


class Shown(Struct, frozen=True):
    """The names of a member where they differ from its name in Python; an empty string leaves the member out.

    `column` is its column in the table of the record, or with `of_event` in the table of the events; members with the
    same `within` share one column, as one JSON object. `item` is its name in the JSON of `/inspect`, `change` its
    name in the stream, and `frame` the attribute of objects and the column of frames. An `optional` member is left
    out of the JSON if it is None.
    """

    column: str | None = None
    of_event: bool = False
    within: str = ""
    item: str | None = None
    change: str | None = None
    frame: str | None = None
    optional: bool = False


class Member(Struct, frozen=True):
    """One member of a record: `Shown` with every name filled in. `type` is its Python type."""

    name: str
    type: Any
    column: str
    of_event: bool
    within: str
    item: str
    change: str
    frame: str
    optional: bool
    default: Any

    @property
    def sql_type(self) -> str:
        """The type of its column. JSON values are packed into a blob."""
        return "blob" if self.within else _SQL_TYPES.get(_plain(self.type), "blob")

    @property
    def is_large(self) -> bool:
        """Whether it is JSON of any size, which the stream and the repr leave out."""
        kind = _plain(self.type)
        return kind not in _SQL_TYPES and get_origin(kind) is not tuple


R = TypeVar("R", bound="Record")


class Record(Struct, frozen=True, kw_only=True):
    """One thing that the data plane stores. Members whose names start with an underscore are not stored or shown."""


_SQL_TYPES: Mapping[Any, str] = {
    int: "integer", bool: "integer", float: "real", datetime: "real", str: "text", bytes: "blob",
}  # fmt: skip


def _plain(hint: Any) -> Any:
    """Return the type without `None`."""
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else Any
    return hint


@lru_cache
def members(record: type[Record]) -> tuple[Member, ...]:
    """Return the members of a record, in the order of the columns of frames."""
    hints = get_type_hints(record, include_extras=True)
    return tuple(_member(info, hints[info.name]) for info in structs.fields(record) if info.name[0] != "_")


def _member(info: structs.FieldInfo, hint: Any) -> Member:
    kind, shown = hint, Shown()
    if get_origin(hint) is Annotated:
        kind, *metadata = get_args(hint)
        shown = next((item for item in metadata if isinstance(item, Shown)), shown)
    head, *rest = info.name.split("_")
    return Member(
        info.name,
        kind,
        column=info.name if shown.column is None else shown.column,
        of_event=shown.of_event,
        within=shown.within,
        item="".join([head, *map(str.title, rest)]) if shown.item is None else shown.item,
        change=info.name if shown.change is None else shown.change,
        frame=info.name if shown.frame is None else shown.frame,
        optional=shown.optional,
        default=None if info.default is NODEFAULT else info.default,
    )


# --- rows of tables


class Rows(Struct, frozen=True):
    """How the records of a type become rows of their table: `columns` in the order of the values."""

    columns: tuple[str, ...]
    values: Callable[[Sequence[Record]], list[list[Any]]]


def encode(records: Sequence[Record]) -> list[list[Json]]:
    """Return the rows of records of one type."""
    return rows(type(records[0])).values(records) if records else []


@lru_cache
def rows(record: type[Record]) -> Rows:
    """Return how records of this type become rows."""
    own = [member for member in members(record) if member.column and not member.of_event]
    single = [member for member in own if not member.within]
    groups = {m.within: [other for other in own if other.within == m.within] for m in own if m.within}
    plain = attrgetter(*(member.name for member in single))
    special = [(place, encode) for place, member in enumerate(single) if (encode := _encoder(member)) is not None]
    packed = [_Packed(group) for group in groups.values()]

    def values(records: Sequence[Record]) -> list[list[Any]]:
        # Column by column: a call per record would take as long as everything else.
        found = [*map(list, map(plain, records))]
        for place, encode in special:
            for row in found:
                row[place] = encode(row[place])
        for group in packed:
            for row, one in zip(found, records, strict=True):
                row.append(group(one))
        return found

    return Rows((*(member.column for member in single), *groups), values)


def _encoder(member: Member) -> Callable[[Any], Any] | None:
    if _plain(member.type) is datetime:
        return datetime.timestamp
    return _pack_value if member.is_large else None


def _pack_value(value: Any) -> bytes | None:
    return None if value is None else pack(value)


class _Packed:
    """Packs the members that share a column, without those that have their default; None if all have."""

    def __init__(self, group: Sequence[Member]) -> None:
        self._names = [(member.item, member.default) for member in group]
        self._defaults = tuple(member.default for member in group)
        self._values = attrgetter(*(member.name for member in group))

    def __call__(self, record: Record) -> bytes | None:
        values = self._values(record)
        if values == self._defaults:  # as nearly always, in one comparison
            return None
        pairs = zip(self._names, values, strict=True)
        return pack({name: value for (name, default), value in pairs if value != default})


@lru_cache
def selected(record: type[Record]) -> tuple[str, ...]:
    """Return the columns to read for a record, of its own table `o` and of the events' table `e`."""
    columns = ((member, member.within or member.column) for member in members(record) if member.column)
    return tuple(dict.fromkeys(f"{'e' if member.of_event else 'o'}.{column}" for member, column in columns))


@lru_cache
def _readers(record: type[Record]) -> tuple[tuple[str, int, Callable[[Any], Any]], ...]:
    """Return the name, place among the selected columns, and decoder of each member that is read."""
    places = {column: place for place, column in enumerate(selected(record))}
    return tuple(
        (m.name, places[f"{'e' if m.of_event else 'o'}.{m.within or m.column}"], _decoder(m))
        for m in members(record)
        if m.column
    )


def _decoder(member: Member) -> Callable[[Any], Any]:
    if member.within and isinstance(member.default, Mapping):  # JSON encoders accept no other mapping than a dict
        return lambda content: content.get(member.item, {})
    if member.within:
        return lambda content: content.get(member.item, member.default)
    if _plain(member.type) is datetime:
        return time_of
    if _plain(member.type) is bool:
        return bool
    return unpack if member.is_large else _same


def _same(value: Any) -> Any:
    return value


@lru_cache(256)  # the events of a request have the same
def time_of(seconds: float) -> datetime:
    """Return the datetime for a time in the store."""
    return datetime.fromtimestamp(seconds, UTC)


def read(record: type[Record], row: Sequence[Json]) -> dict[str, Json]:
    """Return the members of a record from a row of its `selected` columns."""
    shared = {place: unpack(row[place]) if row[place] else {} for place in _shared(record)}
    return {
        name: decode(shared[place]) if place in shared else None if row[place] is None else decode(row[place])
        for name, place, decode in _readers(record)
    }


@lru_cache
def _shared(record: type[Record]) -> frozenset[int]:
    """Return the places of columns that several members share."""
    within = {f"o.{member.within}" for member in members(record) if member.within}
    return frozenset(place for place, column in enumerate(selected(record)) if column in within)


# --- display


def item(record: Record) -> dict[str, Json]:
    """Return a record as an item of `/inspect`."""
    shown = [(member, getattr(record, member.name)) for member in members(type(record)) if member.item]
    return {m.item: _json(value) for m, value in shown if value is not None or not m.optional}


def _json(value: Any) -> Any:
    if type(value) is datetime:
        return iso(value)
    return list(value) if type(value) is tuple else value


# Any: types
def item_type(record: type[Record], name: str, **more: Any) -> type[Struct]:
    """Return the type of its items, for the OpenAPI document; `more` has members that are not stored with it."""
    fields: list[Any] = [*more.items()]
    for member in members(record):
        kind = Annotated[datetime, Meta(tz=True)] if member.type is datetime else member.type
        if member.item:
            fields.append((member.item, kind | UnsetType, UNSET) if member.optional else (member.item, kind))
    return defstruct(name, fields, frozen=True, kw_only=True, namespace={"__doc__": getdoc(record)})


def list_of(kind: type[Struct]) -> GenericAlias:
    """Return the type of a list of them."""
    return GenericAlias(list, kind)


@lru_cache
def _changes(record: type[Record]) -> tuple[tuple[str, ...], Callable[[Record], tuple[Any, ...]], tuple[str, ...]]:
    shown = [member for member in members(record) if member.change]
    times = tuple(member.change for member in shown if _plain(member.type) is datetime)
    return tuple(member.change for member in shown), attrgetter(*(member.name for member in shown)), times


def change(record: Record) -> dict[str, Json]:
    """Return a record as a change of the stream."""
    names, values, times = _changes(type(record))
    found = dict(zip(names, values(record), strict=True))
    for name in times:
        found[name] = _time_text(found[name])
    return found


@lru_cache(256)
def _time_text(at: datetime) -> str:
    """Format a time. Cached: events that arrive or settle together share one, and formatting is the slowest step."""
    return iso(at)


@lru_cache
def _contents(record: type[Record]) -> tuple[tuple[str, Any], ...]:
    """Return the members of any size, each with its empty value."""
    return tuple((member.name, member.default) for member in members(record) if member.is_large)


def without_contents(record: R) -> R:
    """Return the record without its contents, as the stream shows it, to save memory."""
    present = {name: empty for name, empty in _contents(type(record)) if getattr(record, name) is not empty}
    return structs.replace(record, **present) if present else record
