"""Configuration values that stand for others: `{{ event.path || "default" }}` and `env.NAME`.

The service fills the first per event: the leading `event.` is the event itself, the value that is found is used and
used out of the event, and otherwise the default stands in, without its quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.mapping.table import path
from svctoolkit.mapping.values import text, without

_DYNAMIC = re.compile(r"\s*\{\{(.*?)\|\|(.*?)\}\}\s*", re.DOTALL)
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def is_dynamic(config: Json) -> bool:
    """Whether a value of this configuration, at any depth, depends on the event."""
    if isinstance(config, str):
        return "||" in config and _DYNAMIC.fullmatch(config) is not None
    if isinstance(config, Mapping):
        return any(map(is_dynamic, config.values()))
    return isinstance(config, (list, tuple)) and any(map(is_dynamic, config))


def with_defaults(config: Mapping[str, Json]) -> dict[str, Json]:
    """The configuration for an event that has none of the values. An empty default leaves the value as written."""
    return _replace_texts(config, lambda written: resolve({"": written}, {})[0][""] or written)  # type: ignore[no-any-return]


def resolve(config: Mapping[str, Json], raw: Mapping[str, Json]) -> tuple[dict[str, Json], Mapping[str, Json]]:
    """The configuration for this event, and the event without the values that went into it. Builds new objects.

    >>> resolve({"url": '{{ event.properties.to || "a.example" }}'}, {"properties": {"to": "b.example", "n": 1}})
    ({'url': 'b.example'}, {'properties': {'n': 1}})
    """
    used: list[str] = []

    def value(written: str) -> Any:
        match = _DYNAMIC.fullmatch(written)
        if match is None:
            return written
        place, default = match[1].strip(), match[2].strip().replace('"', "")
        if not _PATH.fullmatch(place):
            return default
        place = place.removeprefix("event.")
        item = path(place)(raw)
        if item is None or item == "":
            return default
        used.append(place)
        return item if isinstance(item, (str, list, Mapping)) else text(item)  # variables are stored as text

    values = _replace_texts(config, value)
    return values, without(raw, used) if used else raw


def with_environment(config: Mapping[str, Json], environ: Mapping[str, str]) -> dict[str, Json]:
    """The configuration with every `env.NAME` replaced by that variable; one that is not set stays as it is."""

    def value(written: str) -> str:
        return environ.get(written[4:]) or written if written.startswith("env.") else written

    values: dict[str, Any] = _replace_texts(config, value)
    return values


def _replace_texts(value: Any, replace: Callable[[str], Any]) -> Any:
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, Mapping):
        return {key: _replace_texts(item, replace) for key, item in value.items()}
    return [_replace_texts(item, replace) for item in value] if isinstance(value, (list, tuple)) else value
