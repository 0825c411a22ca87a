"""Check the documented shapes of the Test API's responses. Raise `ValueError` that says what was found instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.results import DestinationResult


def destination_result(data: Json, event: Mapping[str, Json]) -> DestinationResult:
    """Check one destination result (Test API specification, sections Destination result and Entry of `data`)."""
    result = _object("the destination result", data)
    for name in ("destinationId", "destinationName"):
        _expect(isinstance(result.get(name), str), name, "a string", result.get(name))
    _expect(isinstance(result.get("destination", ""), str), "destination", "a string", result.get("destination"))
    if "error" in result:
        _expect(isinstance(result["error"], str), "error", "a string", result["error"])
        result = {**result, "data": result.get("data") or []}
    entries = _list("data", result.get("data"))
    return DestinationResult.from_dict(
        {**result, "data": [_entry(f"data[{n}]", e) for n, e in enumerate(entries)]}, event
    )


def source_result(data: Json, event: Mapping[str, Json]) -> list[DestinationResult]:
    """Check and return the destination results of one source, in order."""
    return [destination_result(item, event) for item in _list("the source result", data)]


def check_results(data: Json) -> None:
    """Raise `ValueError` unless `data` is a destination result or a list of them (the result of a source)."""
    for item in data if isinstance(data, list) else [data]:
        destination_result(item, {})


def definitions(data: Json) -> list[dict[str, Json]]:
    """Check and return destination definitions."""
    return [definition(item) for item in _list("the answer", data)]


def definition(data: Json) -> dict[str, Json]:
    """Check and return one destination definition."""
    members = _object("the definition", data)
    _expect(isinstance(members.get("name"), str), "name", "a string", members.get("name"))
    return members


def _entry(where: str, data: Any) -> dict[str, Any]:
    entry = {name: value for name, value in _object(where, data).items() if value is not None}
    if "user_transformed_payload" in entry:
        _object(f"{where}.user_transformed_payload", entry["user_transformed_payload"])
    for name in ("dest_transformed_payload", "destination_response"):
        value = entry.get(name, [])
        failed = isinstance(value, dict) and isinstance(value.get("error"), str)
        _expect(failed or isinstance(value, list), f"{where}.{name}", "a list or an object with `error`", value)
    for number, payload in enumerate(entry.get("dest_transformed_payload", [])):
        if isinstance(entry["dest_transformed_payload"], list):
            _object(f"{where}.dest_transformed_payload[{number}]", payload)
    statuses = entry.get("destination_response_status", [])
    numbers = isinstance(statuses, list) and all(type(status) is int for status in statuses)
    _expect(numbers, f"{where}.destination_response_status", "a list of integers", statuses)
    return entry


def _object(where: str, value: Any) -> dict[str, Any]:
    _expect(isinstance(value, dict), where, "an object", value)
    return value  # type: ignore[no-any-return]


def _list(where: str, value: Any) -> list[Any]:
    _expect(isinstance(value, list), where, "a list", value)
    return value  # type: ignore[no-any-return]


def _expect(fits: bool, where: str, expected: str, value: Any) -> None:
    if not fits:
        raise ValueError(f"{where} must be {expected}, not {_describe(value)}")


def _describe(value: Any) -> str:
    if value is None:
        return "null or absent"
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names[type(value)]
