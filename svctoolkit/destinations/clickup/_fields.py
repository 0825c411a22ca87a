"""Values of ClickUp's custom fields (https://clickup.com/api/clickupreference/operation/SetCustomFieldValue/)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.lexical import is_email, is_url
from svctoolkit.mapping import Misfit, as_object, converter, moment, number_or_none, objects, text
from svctoolkit.mapping.times import microseconds

_PHONE = re.compile(r"\+[1-9][\d ().-]{5,20}")
_FORMATS = {
    "email": ("an e-mail address", is_email),
    "url": ("a URL", is_url),
    "phone": ("a telephone number", lambda text: _PHONE.fullmatch(text) is not None),
}


@converter
def milliseconds(value: Json) -> int | None:
    """Return a time as milliseconds since 1970, None for an invalid time; numbers and booleans are not converted."""
    if isinstance(value, (int, float)):
        return int(value)
    when = moment(value) if isinstance(value, str) else None
    return None if when is None else microseconds(when) // 1000


def custom_fields(
    properties: Mapping[str, Json], rows: Iterable[tuple[str, Mapping[str, Json] | None]]
) -> list[dict[str, Json]]:
    """Return fields with values, given rows of property name and field; fields without a value are left out."""
    fields = []
    for name, field in rows:
        value = properties.get(name)
        if field is None or value is None or value == "":
            continue
        form = _form(name, field, value)
        if form is not None:
            fields.append({"id": field.get("id"), "value": form})
    return fields


def _form(name: str, field: Mapping[str, Json], value: Any) -> Json:
    kind = field.get("type")
    if kind == "drop_down":
        return _option(field, value, "name")
    if kind == "labels":
        chosen = (_option(field, label, "label") for label in (value if isinstance(value, list) else [value]))
        return [label for label in chosen if label is not None]
    if kind == "location":
        return _location(name, as_object(value))
    if kind == "date":
        return milliseconds.of(value)
    if kind == "emoji":
        _check_range(name, value, 0, number_or_none.of(as_object(field.get("type_config")).get("count")) or 5)
    if kind in _FORMATS:
        expected, is_valid = _FORMATS[kind]
        if not is_valid(text(value)):
            raise Misfit(f"properties.{name}", expected, text(value), case=kind)
    return value


def _option(field: Mapping[str, Json], value: Json, member: str) -> Json:
    """Return the ID of the option with that name, in any case."""
    for option in objects(as_object(field.get("type_config")).get("options")):
        if text(option.get(member)).lower() == text(value).lower():
            return option.get("id")
    return None


def _location(name: str, place: Mapping[str, Json]) -> Json:
    """Return a place with its address; None if a part is missing or zero (as on the equator), as in RudderStack."""
    latitude, longitude, address = place.get("lat"), place.get("lng"), place.get("formattedAddress")
    if not (latitude and longitude and address):
        return None
    _check_range(f"{name}.lat", latitude, -90, 90)
    _check_range(f"{name}.lng", longitude, -180, 180)
    return {"location": {"lat": latitude, "lng": longitude}, "formatted_address": address}


def _check_range(name: str, value: Json, low: int, high: Any) -> None:
    number = number_or_none.of(value)
    if isinstance(number, str) or not low <= number <= high:
        where = f"properties.{name}"
        raise Misfit(where, f"a number from {low} to {high}", value, case="range")
