"""Warehouse rows that reverse ETL sends as events, and the external IDs that identify them."""

from __future__ import annotations

from typing import Any, NamedTuple

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping.values import as_object


class ExternalId(NamedTuple):
    """One of `context.externalId`.

    The type of a warehouse row is `<destination>-<object>`, such as `Salesforce-Lead`: `destination` is `salesforce`,
    in lower case, and `object` is `Lead`. `field` (`identifierType`) is the field of that object that contains `id`.
    Missing parts are empty strings, or None for `id`.
    """

    destination: str = ""
    object: str = ""
    field: str = ""
    id: Any = None


_NO_ROW = ExternalId()


def external_ids(event: Event) -> list[ExternalId]:
    """All of `context.externalId`, in its order."""
    listed = event.context.get("externalId")
    return [_external_id(item) for item in listed] if isinstance(listed, list) else []


def warehouse_row(event: Event) -> ExternalId:
    """The warehouse row of the event; an empty `ExternalId` if its traits are not mapped.

    Reverse ETL maps the columns to the destination's own fields, marks the event with `context.mappedToDestination`,
    and identifies the row in the first external ID.
    """
    ids = external_ids(event) if event.context.get("mappedToDestination") else None
    return ids[0] if ids else _NO_ROW


def warehouse_id(event: Event, usual: str = "") -> dict[str, Json]:
    """The ID of the row, keyed by its field or by the `usual` one: `{"email": "a@example.com"}`.

    A null ID is sent (to Amplitude and Customer.io, among others); a row without an ID gives an empty object.
    """
    row = warehouse_row(event)
    field = row.field or usual
    return {field: row.id} if field and row is not _NO_ROW and "id" in as_object(event.context["externalId"][0]) else {}


def _external_id(item: Any) -> ExternalId:
    entry = as_object(item)
    field = entry.get("identifierType")
    destination, _, object_ = str(entry.get("type") or "").partition("-")
    return ExternalId(destination.lower(), object_, field if isinstance(field, str) else "", entry.get("id"))
