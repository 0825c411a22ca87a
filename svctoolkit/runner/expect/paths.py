"""Dotted paths into JSON values: `products.0.sku`; `*` is every element or member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.runner.expect.matchers._contract import MISSING


def at(value: Any, path: str) -> Any:
    """What stands at `path`, or `MISSING`. With `*` in it, the list of what stands there.

    >>> at({"products": [{"sku": "A1"}, {}]}, "products.0.sku"), at({"products": [{"sku": "A1"}, {}]}, "products.*.sku")
    ('A1', ['A1'])
    """
    return _at(value, path.split(".")) if path else value


def _at(value: Any, steps: list[str]) -> Any:
    for number, step in enumerate(steps):
        if step == "*":
            inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
            values = (_at(element, steps[number + 1 :]) for element in inner)
            return [element for element in values if element is not MISSING]
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.lstrip("-").isdigit() and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value
