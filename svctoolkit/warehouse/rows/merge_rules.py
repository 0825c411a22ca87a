"""Rules for which ids belong to the same user. Only with id resolution, and only for BigQuery and Snowflake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.mapping import Misfit
from svctoolkit.warehouse.rows.own import as_text
from svctoolkit.warehouse.rows.values import is_blank

_Pair = tuple[Any, Any]


def merge_rule(event: Mapping[str, Json]) -> dict[str, str]:
    """Return the four columns of an event's rule, two if it has only one id, none without ids.

    Raises `MappingError` for a merge whose two `mergeProperties` are missing or incomplete.
    """
    kind = str(event.get("type")).lower()
    if kind == "merge":
        pairs = _merge_properties(event.get("mergeProperties"))
    elif kind == "alias":
        pairs = [("user_id", event.get("userId")), ("user_id", event.get("previousId"))]
    else:
        person = ("user_id", event.get("userId"))
        anonymous = ("anonymous_id", event.get("anonymousId"))
        pairs = [person] if is_blank(anonymous[1]) else [anonymous, person]
    if is_blank(pairs[0][1]):
        return {}
    whole = [pair for pair in pairs if not is_blank(pair[1])]
    return {
        f"merge_property_{number}_{part}": as_text(value)
        for number, pair in enumerate(whole, 1)
        for part, value in zip(("type", "value"), pair, strict=True)
    }


def _merge_properties(value: Any) -> list[_Pair]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise Misfit("mergeProperties", "two objects", value)
    pairs = [(item.get("type"), item.get("value")) for item in value if isinstance(item, Mapping)]
    if len(pairs) != 2 or any(is_blank(member) for pair in pairs for member in pair):
        raise Misfit("mergeProperties", "a type and a value in each of the two", value, case="members")
    return pairs
