"""Restore events from rows of warehouse tables: the inverse of what `svctoolkit.warehouse` does.

>>> row = {"ID": "m1", "RECEIVED_AT": "2026-01-15T10:00:00.000Z", "EVENT_TEXT": "Paid", "CONTEXT_APP_NAME": "Shop"}
>>> Restorer().event({**row, "TOTAL": 5, "_ORDER": "o-1", "UUID_TS": None})
{'type': 'track', 'messageId': 'm1', 'event': 'Paid', 'receivedAt': '2026-01-15T10:00:00.000Z', \
'properties': {'total': 5, 'order': 'o-1'}, 'context': {'app': {'name': 'Shop'}}}

Fields that SDKs send get their original names: `context_user_agent` becomes `context.userAgent`, and `first_name` of an
identify `traits.firstName`. Every other column keeps its name, in `properties`, `traits` or `context`.
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
from svctoolkit.events.values import moment, plain
from svctoolkit.json_types import Json
from svctoolkit.replay.records.cells import put
from svctoolkit.replay.records.json_text import decode
from svctoolkit.warehouse.providers import PROVIDERS
from svctoolkit.warehouse.rows.names import Names
from svctoolkit.warehouse.rows.own import PLACES, own_names

#: The name of the preset in `columns`.
PRESET = "warehouse"
#: table -> type of the events in it; a table named after an event belongs to `tracks`
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
_OF_EVENTS = {"messageid", "userid", "anonymousid"}  # event fields: a table with these is not from a warehouse
_IN_NAME = re.compile(rf"(?:^|[_.=-])({'|'.join(TABLES)})(?=$|[_.-])")
_WITHOUT_EVENTS = re.compile(r"(?:^|[_.=-])(users|rudder_discards|rudder_identity_\w+)(?=$|[_.-])")
_TIMES = {"received_at", "sent_at", "timestamp", "original_timestamp"}
_OF_LOADER = {"uuid_ts", "loaded_at"} | {
    f"context_{side}_{name}" for side in ("source", "destination") for name in ("id", "type")
}
#: RudderStack's columns in reading order: of several with the same meaning, the best comes first.
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
    """Return whether columns with these names (in any case) are those of an event table."""
    names = {str(name).lower() for name in columns}
    return names >= _ALWAYS and not names.isdisjoint(_SOME) and names.isdisjoint(_OF_EVENTS)


def table_of(file: str) -> str:
    """Return the table that a file or a parent folder is named after (`pages/part-0.parquet`), or an empty string."""
    path = PurePath(file.lower())
    match = _IN_NAME.search(path.name)
    if match:
        return match[1]
    folders = (folder.rpartition("=")[2].lstrip("_") for folder in reversed(path.parts[:-1]))
    return next((folder for folder in folders if folder in TABLES), "")


def is_escaped(name: str) -> bool:
    """Return whether a name is that of a table with an underscore because it is a reserved word: `_groups.parquet`.

    `_temporary` is excluded: Hadoop writes there.
    """
    table = name.partition(".")[0].lower()
    return table != "_temporary" and _without_escape(table) != table


def table_without_events(file: str) -> str:
    """Return the warehouse table without events that a file is named after, or an empty string."""
    match = _WITHOUT_EVENTS.search(PurePath(file.lower()).name)
    return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class _Cell:
    column: str
    name: str
    path: tuple[str, ...]


class Restorer:
    """Restores events from rows. `table` names the table, if neither columns nor file name identify it.

    `taken` are columns that the caller puts into the event.

    Raises `ConfigError` for an unknown table.
    """

    def __init__(self, table: str = "", taken: Collection[str] = ()) -> None:
        if table and table not in TABLES:
            raise ConfigError(
                f"unknown event table {table!r}.{did_you_mean(table, TABLES)} "
                "For a table named after an event, use tracks",
                where="columns: *",
            )
        self._table, self._taken = table, frozenset(taken)
        self._layouts: dict[Any, tuple[str, list[_Cell]]] = {}
        self._known: dict[Any, bool] = {}

    def knows(self, cells: Mapping[str, Json]) -> bool:
        """Return whether this is a row of an event table, by its columns."""
        names = tuple(cells)
        known = self._known.get(names)
        if known is None:
            known = self._known[names] = is_warehouse_table(names)
        return known

    def event(self, cells: Mapping[str, Json], file: str = "") -> dict[str, Json]:
        """Return the event of a row. The table may be in the name of `file`. Raises `ValueError`."""
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
                continue  # the event name as the warehouse spells it
            if cell.name == "context_ip" and not present.isdisjoint({"context_passed_ip", "context_request_ip"}):
                continue  # a copy of one of these two
            _put(event, cell.path, value)
        return event

    def _layout(self, columns: Iterable[str], file: str) -> tuple[str, list[_Cell]]:
        """Return the type of the events, and where each column goes, sorted by priority."""
        names = {str(column).lower(): column for column in columns}
        missing = sorted(_ALWAYS - set(names))
        if missing:
            raise ValueError(f"not a row of an event table: there is no {' and no '.join(missing)} column")
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
                "the columns do not identify the warehouse table: set columns={'*': 'warehouse:pages'}, with one "
                f"of {', '.join(TABLES)}"
            )
        return TABLES[table]


def _rank(cell: _Cell) -> tuple[int, int]:
    """Return the sort key. Short paths come first: `context_app` must be set before `context_app_name`."""
    return _ORDER.index(cell.name) if cell.name in _ORDER else len(_ORDER), len(cell.path)


def _path(name: str, kind: str, reserved: Collection[str]) -> tuple[str, ...]:
    """Return where a column belongs in an event of this type."""
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
    """Return column -> field of the context, spelled as in the SDKs."""
    names = Names(PROVIDERS["postgres"])
    fields = [f"context.{field}" for field in (*_CONTEXT.split(), *(f"traits.{trait}" for trait in _TRAITS.split()))]
    return {names.column(field.replace(".", "_")): tuple(field.split(".")) for field in fields}


@cache
def _owners() -> frozenset[str]:
    """Return the members of the context that are objects."""
    return frozenset(path[1] for path in _fields().values() if len(path) > 2)


@cache
def _escaped_words() -> frozenset[str]:
    return frozenset().union(*(provider.reserved_words for provider in PROVIDERS.values()))


def _without_escape(name: str) -> str:
    """Return the name before escaping: warehouses prefix reserved words and leading digits with an underscore."""
    plain_name = name.removeprefix("_")
    is_escaped = plain_name != name and (plain_name[:1].isdigit() or plain_name in _escaped_words())
    return plain_name if is_escaped else name


# Any: a cell of any library
def _value(cell: Any, *, is_time: bool) -> Any:
    """Return a cell as it was in the event: the loader stores lists as JSON."""
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
    """Return a time in the format of the SDKs, from the format of an export: `2026-01-15 10:00:00.12 UTC`."""
    try:
        return moment(datetime.fromisoformat(text.removesuffix(" UTC")))
    except ValueError:
        return text or None


# Any: JSON text, or a value that a library has decoded
def _whole(value: Any) -> dict[str, Any]:
    """Return the event in `rudder_event`, which holds all of it."""
    event = decode(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value
    if not isinstance(event, dict):
        raise ValueError("rudder_event is not a JSON object")
    return event


def _put(event: dict[str, Any], path: tuple[str, ...], value: Json) -> None:
    """Set a field. If its parent is set to another value, set it next to the parent, with an underscore in its name."""
    try:
        put(event, path, value)
    except ValueError:
        put(event, (path[0], "_".join(path[1:])), value)
