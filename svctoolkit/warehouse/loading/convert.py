"""How the loader converts a value whose type is not its column's.

>>> convert("int", "float", 12.9), convert("string", "float", 1e6), convert("boolean", "int", 1)
((12, 'rounded'), ('1e+06', ''), (None, 'null'))
"""

from __future__ import annotations

import math
from decimal import Decimal

from svctoolkit.json_types import Json
from svctoolkit.warehouse.rows.values import stored_json

_TEXTS = frozenset({"string", "text"})
_OF_TEXT = frozenset({"int", "float", "boolean", "datetime"})
_LEAST = -(2**63)  # Go's result for a double beyond 64 bits


def convert(column: str, type: str, value: Json) -> tuple[Json, str]:
    """Convert a value to the column's type. Returns it and the loss: "" (none), `rounded`, or `null` (discarded)."""
    if column in _TEXTS:
        if type in _TEXTS:
            return value, ""
        return (text_of(value), "") if type in _OF_TEXT else (None, "null")
    if column == "float" and type == "int":
        return float(value), ""
    if column == "int" and type == "float":
        return cut(value), "rounded"
    if column == "json" and type in ("int", "float", "boolean", "string", "text"):
        return stored_json(value), ""
    return None, "null"


def cut(value: float) -> int:
    """Return a number as a 64-bit integer, without its fraction."""
    return int(value) if math.isfinite(value) and -(2.0**63) <= value < 2.0**63 else _LEAST


def text_of(value: Json) -> str:
    """Return a value of a text column as Go writes it: `true`, `1.5`, `1e+06`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return go_float(value) if isinstance(value, float) else str(value)


def go_float(value: float) -> str:
    """Return the shortest digits; with an exponent from a million on, and below a ten-thousandth.

    >>> go_float(1000000.0), go_float(123.5), go_float(0.00001), go_float(1234567.5)
    ('1e+06', '123.5', '1e-05', '1.2345675e+06')
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    number = Decimal(repr(value)).normalize()
    power = number.adjusted()
    if value == 0 or -4 <= power < 6:
        return format(number, "f")
    sign, digits, _ = number.as_tuple()
    fraction = "".join(map(str, digits[1:]))
    return f"{'-' * sign}{digits[0]}{'.' * bool(fraction)}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"
