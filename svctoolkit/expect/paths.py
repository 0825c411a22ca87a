"""Dotted paths into JSON values: `products.0.sku`; `*` is every element or member."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from svctoolkit.expect.matchers._contract import MISSING
from svctoolkit.json_types import Json

_INDEX = re.compile("-?[0-9]{1,9}")


def at_path(value: Json, path: Sequence[str | int]) -> Json:
    """Return the value at a path of members and indexes, or `MISSING`.

    >>> at_path({"products": [{"sku": "A1"}]}, ("products", 0, "sku"))
    'A1'
    """
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return value


def at(value: Json, path: str) -> Json:
    """Return the value at `path`, or `MISSING`. With `*` in the path, return the list of all values there.

    >>> at({"products": [{"sku": "A1"}, {}]}, "products.0.sku"), at({"products": [{"sku": "A1"}, {}]}, "products.*.sku")
    ('A1', ['A1'])
    """
    return _at(value, path.split(".")) if path else value


def every_at(value: Json, path: str) -> Json:
    """Return the same as `at`, but with `MISSING` in the list for each element that has no value there.

    >>> every_at({"products": [{"sku": "A1"}, {}]}, "products.*.sku")
    ['A1', nothing]
    """
    return _at(value, path.split("."), keeps=True) if path else value


def _at(value: Any, steps: list[str], *, keeps: bool = False) -> Any:
    for number, step in enumerate(steps):
        if step == "*":
            inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
            values = (_at(element, steps[number + 1 :], keeps=keeps) for element in inner)
            return [element for element in values if keeps or element is not MISSING]
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and _INDEX.fullmatch(step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


def is_in(end: Sequence[str], value: Json) -> bool:
    """Return whether some path in `value` ends with these steps; `*` is any one step.

    >>> is_in(["library", "version"], {"context": [{"library": {"version": 1}}]}), is_in(["version", "x"], {"x": 1})
    (True, False)
    """
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for step, below in inner:
        if end[0] in ("*", str(step)) and (len(end) == 1 or _goes_on(end[1:], below)):
            return True
        if is_in(end, below):
            return True
    return False


def _goes_on(steps: Sequence[str], value: Any) -> bool:
    values = at(value, ".".join(steps))
    return values is not MISSING and ("*" not in steps or bool(values))
