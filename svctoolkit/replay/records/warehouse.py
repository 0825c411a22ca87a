"""Rows of a warehouse's tables become events again: what `svctoolkit.warehouse` makes of events, the other way round.

>>> row = {"ID": "m1", "RECEIVED_AT": "2026-01-15T10:00:00.000Z", "EVENT_TEXT": "Paid", "CONTEXT_APP_NAME": "Shop"}
>>> Restorer().event({**row, "TOTAL": 5, "_ORDER": "o-1", "UUID_TS": None})
{'type': 'track', 'messageId': 'm1', 'event': 'Paid', 'receivedAt': '2026-01-15T10:00:00.000Z', \
'properties': {'total': 5, 'order': 'o-1'}, 'context': {'app': {'name': 'Shop'}}}

What clients write is called as they write it: `context_user_agent` is `context.userAgent`, `first_name` of an identify
`traits.firstName`. Every other column keeps its name, in `properties`, `traits` or `context`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import PurePath
from typing import Any

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.replay.records.cells import moment, plain, put
from svctoolkit.replay.records.json_text import decode
from svctoolkit.warehouse.providers import PROVIDERS
from svctoolkit.warehouse.rows.names import Names
from svctoolkit.warehouse.rows.own import PLACES, own_names

#: How `columns` calls these tables.
PRESET = "warehouse"
#: table -> type of the events in it; the table of an event's name is one of `tracks`, too
TABLES = {
    "tracks": "track",
    "identifies": "identify",
    "pages": "page",
    "screens": "screen",
    "groups": "group",
    "aliases": "alias",
}
_ALWAYS = {"id", "received_at"}
_SOME = {"event_text", "anonymous_id", "user_id", "original_timestamp", "sent_at", "uuid_ts"}
_OF_EVENTS = {"messageid", "userid", "anonymousid"}  # a table with these has the names of events
_IN_NAME = re.compile(rf"(?:^|[_.=-])({'|'.join(TABLES)})(?=$|[_.-])")
_WITHOUT_EVENTS = re.compile(r"(?:^|[_.=-])(users|rudder_discards|rudder_identity_\w+)(?=$|[_.-])")
_TIMES = {"received_at", "sent_at", "timestamp", "original_timestamp"}
_OF_LOADER = {"uuid_ts", "loaded_at"} | {
    f"context_{side}_{name}" for side in ("source", "destination") for name in ("id", "type")
}
#: Columns of ours in the order in which they are read: of those that say the same, the best one first.
_ORDER = (
    "rudder_event", "id", "context_request_ip", "context_passed_ip", "context_ip", "event_text", "event", *PLACES,
)  # fmt: skip

_TRAITS = """
    firstName lastName createdAt address.street address.city address.state address.postalCode address.country
    company.id company.name company.industry company.employee_count company.plan
"""
_CONTEXT = """
    app.name app.version app.build app.namespace library.name library.version os.name os.version
    device.id device.manufacturer device.model device.name device.type device.token device.advertisingId
    device.adTrackingEnabled device.attTrackingStatus network.carrier network.wifi network.cellular network.bluetooth
    screen.width screen.height screen.density screen.innerWidth screen.innerHeight page.path page.url page.title
    campaign.name campaign.source location.city location.country userAgent userAgentData.platform userAgentData.mobile
    userAgentData.brands sessionId sessionStart externalId groupId consentManagement.provider
    consentManagement.resolutionStrategy consentManagement.allowedConsentIds consentManagement.deniedConsentIds
    traits.email referrer.id referrer.type sources.version
"""


def is_warehouse_table(columns: Iterable[str]) -> bool:
    """Whether columns with these names, in any case, are those of a table with events."""
    names = {str(name).lower() for name in columns}
    return names >= _ALWAYS and not names.isdisjoint(_SOME) and names.isdisjoint(_OF_EVENTS)


def table_of(file: str) -> str:
    """The table that a file or a folder above it is called after (`pages/part-0.parquet`), or an empty text."""
    path = PurePath(file.lower())
    match = _IN_NAME.search(path.name)
    if match:
        return match[1]
    folders = (folder.rpartition("=")[2].lstrip("_") for folder in reversed(path.parts[:-1]))
    return next((folder for folder in folders if folder in TABLES), "")


def is_escaped(name: str) -> bool:
    """Whether a file or folder is called after a table whose name a warehouse does not take: `_groups.parquet`.

    `_temporary` is where Hadoop writes.
    """
    table = name.partition(".")[0].lower()
    return table != "_temporary" and _without_escape(table) != table


def table_without_events(file: str) -> str:
    """The table of a warehouse that a file is called after, if it has no events, or an empty text."""
    match = _WITHOUT_EVENTS.search(PurePath(file.lower()).name)
    return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class _Cell:
    column: str
    name: str
    path: tuple[str, ...]


class Restorer:
    """Makes events of rows. `table` says which one they are of, where neither columns nor a file's name do.

    `taken` are columns that somebody else puts into the event.

    Raises `ConfigError` for a table that there is not.
    """

    def __init__(self, table: str = "", taken: Collection[str] = ()) -> None:
        if table and table not in TABLES:
            raise ConfigError(
                f"no table of events is called {table!r}.{did_you_mean(table, TABLES)} "
                "The table of an event's name is one of tracks",
                where="columns: *",
            )
        self._table, self._taken = table, frozenset(taken)
        self._layouts: dict[Any, tuple[str, list[_Cell]]] = {}
        self._known: dict[Any, bool] = {}

    def knows(self, cells: Mapping[str, Json]) -> bool:
        """Whether this is a row of such a table, by its columns."""
        names = tuple(cells)
        known = self._known.get(names)
        if known is None:
            known = self._known[names] = is_warehouse_table(names)
        return known

    def event(self, cells: Mapping[str, Json], file: str = "") -> dict[str, Json]:
        """The event of a row. `file` has the table in its name, perhaps. Raises `ValueError`."""
        key = (file, tuple(cells))
        if key not in self._layouts:
            self._layouts[key] = self._layout(cells, file)
        kind, layout = self._layouts[key]
        event: dict[str, Any] = {"type": kind}
        present: set[str] = set()
        for cell in layout:
            value = _value(cells[cell.column], is_time=cell.name in _TIMES)
            if value is None:
                continue
            if cell.name == "rudder_event":
                return _whole(value)
            present.add(cell.name)
            if cell.name == "event" and "event_text" in present:
                continue  # the name after the warehouse's rules
            if cell.name == "context_ip" and not present.isdisjoint({"context_passed_ip", "context_request_ip"}):
                continue  # one of these two
            _put(event, cell.path, value)
        return event

    def _layout(self, columns: Iterable[str], file: str) -> tuple[str, list[_Cell]]:
        """The type of the events, and where each column goes; those first that others give way to."""
        names = {str(column).lower(): column for column in columns}
        missing = sorted(_ALWAYS - set(names))
        if missing:
            raise ValueError(f"no row of a warehouse's table of events: there is no column {' and no '.join(missing)}")
        kind = self._kind(names, file)
        reserved = own_names(kind, False)
        cells = []
        for name, column in names.items():
            if name not in _OF_LOADER and column not in self._taken:
                name = _without_escape(name)
                cells.append(_Cell(column, name, _path(name, kind, reserved)))
        return kind, sorted(cells, key=_rank)

    def _kind(self, columns: Collection[str], file: str) -> str:
        table = self._table
        if not table and "event_text" in columns:
            table = "tracks"
        table = table or table_of(file)
        if not table and "previous_id" in columns:
            table = "aliases"
        if not table and "group_id" in columns:
            table = "groups"
        if not table:
            raise ValueError(
                "a warehouse's table, and its columns do not say which: give columns={'*': 'warehouse:pages'}, or one "
                f"of {', '.join(TABLES)}"
            )
        return TABLES[table]


def _rank(cell: _Cell) -> tuple[int, int]:
    """What is short comes first: `context_app` has its place before `context_app_name` needs one."""
    return _ORDER.index(cell.name) if cell.name in _ORDER else len(_ORDER), len(cell.path)


def _path(name: str, kind: str, reserved: Collection[str]) -> tuple[str, ...]:
    """Where a column belongs in an event of a type."""
    if name in reserved:
        return tuple(PLACES[name].split("."))
    if name.startswith("context_") and name != "context_":
        return _fields().get(name) or _in_context(name.removeprefix("context_"))
    if kind in ("identify", "group", "alias"):
        known = _fields().get(f"context_traits_{name}")
        return known[1:] if known else ("traits", name)
    return ("properties", name)


def _in_context(name: str) -> tuple[str, ...]:
    owner, _, member = name.partition("_")
    return ("context", owner, member) if member and owner in _owners() else ("context", name)


@cache
def _fields() -> Mapping[str, tuple[str, ...]]:
    """column -> field of the context, as clients write it."""
    names = Names(PROVIDERS["postgres"])
    fields = [f"context.{field}" for field in (*_CONTEXT.split(), *(f"traits.{trait}" for trait in _TRAITS.split()))]
    return {names.column(field.replace(".", "_")): tuple(field.split(".")) for field in fields}


@cache
def _owners() -> frozenset[str]:
    """Members of the context that are objects."""
    return frozenset(path[1] for path in _fields().values() if len(path) > 2)


@cache
def _escaped_words() -> frozenset[str]:
    return frozenset().union(*(provider.reserved_words for provider in PROVIDERS.values()))


def _without_escape(name: str) -> str:
    """The name that a warehouse does not take: a reserved word, or one with a digit first."""
    plain_name = name.removeprefix("_")
    is_escaped = plain_name != name and (plain_name[:1].isdigit() or plain_name in _escaped_words())
    return plain_name if is_escaped else name


# Any: a cell of any library
def _value(cell: Any, *, is_time: bool) -> Any:
    """A cell as it stood in the event: the loader has written lists as their JSON."""
    value = plain(cell)
    if not isinstance(value, str):
        return value
    if is_time:
        return _time(value)
    if value[:1] == "[":
        try:
            items = decode(value.encode("utf-8", "surrogatepass"))
        except ValueError:
            return value
        return items if isinstance(items, list) else value
    return value or None


def _time(text: str) -> str | None:
    """A time as clients write it, from whatever an export makes of it: `2026-01-15 10:00:00.12 UTC`."""
    try:
        return moment(datetime.fromisoformat(text.removesuffix(" UTC")))
    except ValueError:
        return text or None


# Any: JSON text, or what a library has made of it
def _whole(value: Any) -> dict[str, Any]:
    """The event that stands in `rudder_event`, as a whole."""
    event = decode(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value
    if not isinstance(event, dict):
        raise ValueError("rudder_event is no JSON object")
    return event


def _put(event: dict[str, Any], path: tuple[str, ...], value: Json) -> None:
    """Set a field; where its owner has a value of its own, it stands beside that."""
    try:
        put(event, path, value)
    except ValueError:
        put(event, (path[0], "_".join(path[1:])), value)
