"""Templates: texts with placeholders that users write in a form, filled from each event."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.mapping.table import path
from svctoolkit.mapping.values import js_join

_PLACE = re.compile(r"\{\{\{?([^{}|]++)\}?\}\}(\s?)")


def fill(template: str, value: Callable[[str], Json]) -> str:
    """`template` with every `{{ name }}` replaced by `value(name)`.

    A placeholder whose value is null or missing is removed together with the space after it.

    >>> fill("Viewed a {{ name }} page", {"name": "Contact"}.get)
    'Viewed a Contact page'
    >>> fill("Viewed a {{ name }} page", {}.get)
    'Viewed a page'
    """

    def place(match: re.Match[str]) -> str:
        item = value(match[1].strip())
        return "" if item is None else js_join(item) + match[2]

    return _PLACE.sub(place, template)


def fill_from(template: str, *objects: Mapping[str, Json]) -> str:
    """`template` with each dotted path replaced by its value in the first of `objects` that has one."""

    def value(name: str) -> Any:
        get = path(name)
        return next((item for item in map(get, objects) if item is not None), None)

    return fill(template, value)
