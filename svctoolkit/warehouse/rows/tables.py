"""Which tables an event gets rows in, and the contents of the rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

from svctoolkit.causes import Refusal, json_value
from svctoolkit.errors import UnsupportedEvent
from svctoolkit.json_types import Json
from svctoolkit.mapping import Misfit
from svctoolkit.warehouse.providers import provider
from svctoolkit.warehouse.rows import own
from svctoolkit.warehouse.rows.flatten import Flattener
from svctoolkit.warehouse.rows.merge_rules import merge_rule
from svctoolkit.warehouse.rows.notes import Columns, Notes
from svctoolkit.warehouse.rows.options import Config, Options, Settings
from svctoolkit.warehouse.rows.values import is_blank, stored_json

_NOTHING: Mapping[str, Any] = {}


class Row(TypedDict):
    """A row of a table: `columns` is the warehouse-neutral type of each column, `data` its value.

    `columns` contains all of `data`, and `uuid_ts` (for BigQuery also `loaded_at`), which are filled on loading.
    """

    table: str
    columns: dict[str, str]
    data: dict[str, Any]


#: a row, and the field of the event that each of its columns came from
Entry = tuple[Row, dict[str, str]]


def new_id() -> str:
    """Return an id for an event without one."""
    return f"auto-{uuid.uuid4()}"


@dataclass(frozen=True, slots=True)
class Metadata:
    """RudderStack's data about where an event comes from and goes to."""

    source_id: str = ""
    source_type: str = ""
    source_category: str = ""
    destination_id: str = ""
    destination_type: str = ""
    received_at: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Json]) -> Metadata:
        """Create it from the names used on the wire: `sourceId`, `sourceCategory`..."""
        names = ("sourceId", "sourceType", "sourceCategory", "destinationId", "destinationType", "receivedAt")
        return cls(*(str(given.get(name) or "") for name in names))

    @property
    def extracts(self) -> bool:
        """Whether the source extracts records: the same record may arrive again, changed."""
        return self.source_category.lower() in own.RECORD_CATEGORIES

    def context(self) -> dict[str, str]:
        """The members that are added to every event's context."""
        return {
            "sourceId": self.source_id,
            "sourceType": self.source_type,
            "destinationId": self.destination_id,
            "destinationType": self.destination_type,
        }


class Tables:
    """Converts one destination's events to rows. Provider, configuration and the operator's settings are read once."""

    def __init__(
        self,
        kind: str,
        config: Mapping[str, Json] | None = None,
        *,
        settings: Mapping[str, Json] | None = None,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        self.provider = provider(kind)
        self.settings = Settings.of(settings)
        self.config = Config.of(config or _NOTHING, self.provider)
        self.usual = Options.of(_NOTHING, self.provider, self.config)  # for events without options
        self._new_id = new_id

    def rows(
        self,
        event: Mapping[str, Json],
        clock: str | datetime | None = None,
        metadata: Metadata | None = None,
        notes: Notes | None = None,
    ) -> list[Row]:
        """Return the rows of one event. Losses go to `notes`. Raises what `svctoolkit.warehouse.rows` does."""
        return [row for row, _ in self.entries(event, clock, metadata, notes)]

    def entries(
        self,
        event: Mapping[str, Json],
        clock: str | datetime | None = None,
        metadata: Metadata | None = None,
        notes: Notes | None = None,
    ) -> list[Entry]:
        """Return each row with the source field of every column (only filled with `notes`)."""
        work = self._work(event, clock, metadata, notes)
        if notes:
            notes.settle(row for row, _ in work.entries)
        return work.entries

    def lossless_rows(
        self, event: Mapping[str, Json], clock: str | datetime | None, metadata: Metadata | None
    ) -> list[Row] | None:
        """Return the rows of an event without losses, else None: then `entries` lists them. Raises the same errors."""
        if is_blank(event.get("messageId")):  # a second pass would give it another id
            return None
        work = self._work(event, clock, metadata, None)
        rows = [row for row, _ in work.entries]
        if work.flattener.is_lossy or any(
            not any(column in row["data"] and row["data"][column] == value for row in rows)
            for column, value in work.flattener.dropped
        ):
            return None
        return rows

    def _work(
        self,
        event: Mapping[str, Json],
        clock: str | datetime | None,
        metadata: Metadata | None,
        notes: Notes | None,
    ) -> _Work:
        """Return the work object for an event, with its rows."""
        kind = event.get("type")
        name = kind.lower() if isinstance(kind, str) else "undefined" if kind is None else str(kind)
        make = _MAKERS.get(name)
        if make is None:
            subject, known = f"warehouses do not accept {name} events", ", ".join(_MAKERS)
            raise UnsupportedEvent(
                Refusal("unsupported", field="type", expected=known, value=json_value(name), subject=subject)
            )
        context = event.get("context")
        if metadata and context is not None and not isinstance(context, Mapping):
            raise Misfit("context", "an object", context)
        work = _Work.of(self, event, name, clock, metadata, notes, self._new_id)
        try:
            make(work)
        except RecursionError:
            raise Misfit("context or properties or traits", "objects that are not nested as deep as this") from None
        return work


@dataclass(slots=True)
class _Work:
    """Converts one event to rows."""

    tables: Tables
    event: Mapping[str, Any]
    options: Options
    flattener: Flattener
    category: str
    received_at: str
    id: Any
    context: Any
    notes: Notes | None
    entries: list[Entry] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        tables: Tables,
        event: Mapping[str, Any],
        name: str,
        clock: str | datetime | None,
        metadata: Metadata | None,
        notes: Notes | None,
        new_id: Callable[[], str],
    ) -> _Work:
        kind = tables.provider
        options = Options.of(event, kind, tables.config) if event.get("integrations") else tables.usual
        category, received = (metadata.source_category, metadata.received_at) if metadata else ("", "")
        context = event.get("context")
        if metadata:
            context = {**(context or _NOTHING), **metadata.context()}
        flattener = Flattener(
            kind,
            options.names,
            options.json_paths,
            event_type=name,
            reserved=own.own_names(name, kind.upper_case),
            is_cloud=category.lower() == "cloud",
            notes=notes,
        )
        id = event.get("messageId")
        if notes:
            notes.event_id = own.as_text(id)
        return cls(
            tables=tables,
            event=event,
            options=options,
            flattener=flattener,
            category=category,
            received_at=own.receipt(event, received, clock),
            id=new_id() if is_blank(id) else id,
            context=context,
            notes=notes,
        )

    def begin(self, table: str) -> Columns:
        """Start the columns of a new row."""
        if self.notes:
            self.notes.table = table
        return Columns()

    def add_context(self, into: Columns) -> None:
        self.flattener.flatten(self.context, "context", into, "context_")

    def add_own(self, into: Columns, values: Mapping[str, Any]) -> None:
        """Set RudderStack's own columns. If a source is blank, an object or a list, the user's value is used."""
        names, notes, type_value = self.options.names, self.notes, self.flattener.type_value
        known, data, types, paths = names.own_columns, into.data, into.types, into.paths
        has_long_text = self.tables.provider.has_long_text
        for raw, value in values.items():
            column = known.get(raw) or names.own(raw)
            if column in data:
                value_of_user, path = into.remove(column)
                if not notes:
                    self.flattener.dropped.append((column, value_of_user))
                elif path not in own.ORIGINS:
                    notes.drop(path, column, value_of_user)
            if not value and is_blank(value):
                continue
            if type(value) is str and value[4:5] != "-" and not has_long_text:
                type_ = "string"
            elif isinstance(value, (Mapping, list, tuple)):
                continue
            else:
                value, type_ = type_value(value)
            data[column] = value
            types[column] = type_
            if notes:
                paths[column] = own.PLACES.get(raw, raw)

    def add_event(self, into: Columns) -> None:
        """Add the whole event if the configuration asks for it."""
        if self.tables.config.store_event:
            column = self.options.names.own("rudder_event")
            event = {**self.event, "context": self.context} if self.context is not None else self.event
            into.set(column, stored_json(event), self.tables.provider.event_type, "")

    def common(self) -> dict[str, Any]:
        return own.common(self.event, self.id, self.received_at)

    def finish(self, table: str, columns: Columns) -> None:
        """Finish a row. Raises `MappingError` if it has too many columns."""
        kind, name = self.tables.provider, self.options.names.own
        types = {name("uuid_ts"): "datetime"}
        if kind.name in ("bq", "bqstream_all_events"):
            types["loaded_at"] = "datetime"
        types.update(columns.types)
        if len(types) > self.tables.settings.max_columns and not (
            kind.is_datalake or columns.data.get(name("channel")) == "sources"
        ):
            raise Misfit(
                "properties", f"at most {self.tables.settings.max_columns} columns", len(types), case="columns"
            )
        self.entries.append(({"table": table, "columns": types, "data": columns.data}, columns.paths))

    def add_merge_rule(self) -> None:
        if self.tables.settings.id_resolution and self.tables.provider.resolves_ids:
            rule = merge_rule(self.event)
            if rule:
                data = {self.options.names.own(column): text for column, text in rule.items()}
                table = self.options.names.own("rudder_identity_merge_rules")
                self.entries.append(({"table": table, "columns": dict.fromkeys(data, "string"), "data": data}, {}))


def _track(work: _Work) -> None:
    names, event = work.options.names, work.event
    shared = work.begin(names.own("tracks"))
    work.add_context(shared)
    work.add_own(shared, {"event_text": event.get("event"), **work.common()})
    title = shared.data.get(names.own("event_text"))
    value = names.event(title) if isinstance(title, str) else ""
    shared.set(names.own("event"), value, "string", "event")
    takes_record = own.uses_record_id(event, work.category)
    record = own.record_id(event) if takes_record else None
    if not work.options.skip_tracks:
        columns = shared.copy()
        if takes_record:
            work.add_own(columns, {"record_id": own.as_text(record)})
        work.add_event(columns)
        work.finish(names.own("tracks"), columns)
    table = names.table(value) if value.strip() else ""
    if not table:
        work.flattener.is_lossy = True
        if work.notes:
            message = "the event's name has no ASCII letters or digits, so it gets no table"
            work.notes.add("untabled", "event", "", message)
        return
    columns = work.begin(table)
    work.flattener.flatten(event.get("properties"), "properties", columns)
    work.flattener.flatten(event.get("userProperties"), "userProperties", columns)
    if takes_record:
        work.add_own(shared, {"id": record})
    columns.update(shared)
    work.finish(table, columns)
    work.add_merge_rule()


def _identify(work: _Work) -> None:
    names, event, kind = work.options.names, work.event, work.tables.provider
    shared = work.begin(names.own("identifies"))
    work.flattener.flatten(event.get("userProperties"), "userProperties", shared)
    if work.tables.config.context_traits:
        traits = work.context.get("traits") if isinstance(work.context, Mapping) else None
        work.flattener.flatten(traits, "context.traits", shared)
    work.flattener.flatten(event.get("traits"), "traits", shared)
    work.add_context(shared)
    columns = shared.copy()
    work.add_own(columns, work.common())
    work.add_event(columns)
    work.finish(names.own("identifies"), columns)
    work.add_merge_rule()
    if own.as_text(event.get("userId")).strip() and not work.options.skip_users:
        work.add_own(shared, own.of_user(event, work.received_at, with_times=not kind.is_datalake))
        id, id_type = work.flattener.type_value(
            event["userId"]
        )  # also an object or a list, which create no column in other tables
        shared.set(names.own("id"), id, id_type, "userId")
        work.finish(names.own("users"), shared)


def _single_row(
    table: str, member: str, extra: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> Callable[[_Work], None]:
    """Return a function for the single row of a page, screen, group or alias. `member` holds the user's data."""

    def make(work: _Work) -> None:
        name = work.options.names.own(table)
        columns = work.begin(name)
        work.flattener.flatten(work.event.get(member), member, columns)
        work.add_context(columns)
        work.add_own(columns, {**work.common(), **extra(work.event)})
        work.add_event(columns)
        work.finish(name, columns)
        work.add_merge_rule()

    return make


def _extract(work: _Work) -> None:
    names, event = work.options.names, work.event
    title = event.get("event")
    table = names.table(names.event(title)) if isinstance(title, str) else ""
    if not table:
        raise Misfit("event", "a name with letters or digits", title)
    columns, shared = work.begin(table), Columns()
    work.add_context(shared)
    work.add_own(shared, {"id": own.record_id(event), "received_at": work.received_at, "event": title})
    work.flattener.flatten(event.get("properties"), "properties", columns)
    columns.update(shared)
    work.finish(table, columns)


def _merge(work: _Work) -> None:
    work.add_merge_rule()


_MAKERS: dict[str, Callable[[_Work], None]] = {
    "track": _track,
    "identify": _identify,
    "page": _single_row("pages", "properties", lambda event: {"name": own.page_name(event)}),
    "screen": _single_row("screens", "properties", lambda event: {"name": own.page_name(event)}),
    "group": _single_row("groups", "traits", lambda event: {"group_id": event.get("groupId")}),
    "alias": _single_row("aliases", "traits", lambda event: {"previous_id": event.get("previousId")}),
    "extract": _extract,
    "merge": _merge,
}
