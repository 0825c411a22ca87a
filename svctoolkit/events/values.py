"""Convert values of Python, pandas and numpy to JSON: of table cells, and of events that Python code makes."""

from __future__ import annotations

import marshal
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec

from svctoolkit.events.builders import iso

_encode = msgspec.json.Encoder().encode


# Any: an event of Python code, with values of any library
def plain_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event of Python code as JSON, for example a row of `frame.to_dict("records")`. Most are JSON already.

    Raises `RecursionError` for an event that contains itself.
    """
    try:
        # Two encoders, because each accepts values that the other refuses: `marshal` refuses dates and decimals,
        # msgspec numbers of numpy. Both together take less time than visiting each value in Python.
        marshal.dumps(event)  # type: ignore[arg-type]  # it raises for what it does not know
        _encode(event)
    except (UnicodeEncodeError, OverflowError):  # half of a character, an integer of more than 64 bits
        return dict(event)
    except (TypeError, ValueError):
        return dict(_members(event))
    return dict(event)


# Any: a cell of any library
def plain(value: Any) -> Any:
    """Return a cell as JSON; None for missing values (NaN, NaT, NA)."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None  # also a number of numpy, which is a float
    if isinstance(value, Mapping):
        return dict(_members(value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (datetime, date)):
        return moment(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "tolist"):  # numpy
        return plain(value.tolist())
    return None if type(value).__name__ in ("NAType", "NaTType") else str(value)


def _members(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        cell = plain(inner)
        if cell is not None:
            yield str(key), cell


def moment(value: datetime | date) -> str | None:
    """Return the time as ISO 8601 in the format of the SDKs. A time without a zone is UTC."""
    if value != value:  # NaT
        return None
    if not isinstance(value, datetime):
        return value.isoformat()
    return iso(value.replace(tzinfo=UTC) if value.tzinfo is None else value)
