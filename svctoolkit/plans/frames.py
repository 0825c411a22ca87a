"""Plans and violations as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from svctoolkit.lexical import storable
from svctoolkit.plans.fields import Field, fields
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.javascript import text_of
from svctoolkit.plans.violation import VIOLATION_TYPES

if TYPE_CHECKING:
    import pandas as pd

_PLAN_COLUMNS = "event_type event_name section property types required values format case where description"
_VIOLATION_COLUMNS = "event event_type event_name message_id violation property path message dropped where"


def plan_frame(rules: Iterable[Rule]) -> pd.DataFrame:
    """Return one row per planned property; an event without properties also has one row.

    Columns: `event_type`, `event_name`, `section`, `property`, `types`, `required`, `values`, `format`, `case` (of a
    variant), `where` (`file:line:col`), `description`.
    """
    rows: list[dict[str, Any]] = []
    for rule in rules:
        head = {"event_type": rule.type, "event_name": rule.name, "section": rule.section}
        planned = fields(rule)
        if not planned:
            rows.append({**head, "where": rule.where, "description": rule.description})
        rows += [{**head, **_members(field)} for field in planned]
    return _frame(rows, _PLAN_COLUMNS.split(), {"required": "boolean"})


def _members(field: Field) -> dict[str, Any]:
    return {
        "property": field.name,
        "types": ", ".join(field.types),
        "required": field.required,
        "values": None if field.values is None else ", ".join(map(text_of, field.values)),
        "format": field.format or None,
        "case": field.case.text if field.case else None,
        "where": field.where,
        "description": field.description or None,
    }


# Any: cells of a frame
def violation_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return one row per violation: `event` is the event's index, `where` the position of the violated rule."""
    import pandas as pd

    frame = _frame(rows, _VIOLATION_COLUMNS.split(), {"event": "Int64", "dropped": "boolean"})
    frame["violation"] = pd.Categorical(frame["violation"], categories=list(VIOLATION_TYPES))
    return frame


def _frame(rows: list[dict[str, Any]], names: list[str], dtypes: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in names:
        values: list[Any] = [row.get(name) for row in rows]
        if name not in dtypes:
            values = [value if value is None else storable(_text(value)) for value in values]
        columns[name] = pd.Series(values, dtype=dtypes.get(name, "string"))
    return pd.DataFrame(columns)


# Any: the value of a property, or a text
def _text(value: Any) -> str:
    return value if isinstance(value, str) else text_of(value)
