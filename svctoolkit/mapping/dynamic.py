"""Dynamic configuration values: `{{ event.path || "default" }}` and `env.NAME`.

RudderStack fills the first kind for each event: the path after the leading `event.` is looked up in the event, and a
value found there is removed from the event. Otherwise the default is used, without its quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.mapping.table import path
from svctoolkit.mapping.values import text, without

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def is_dynamic(config: Json) -> bool:
    """Whether a value of this configuration, at any depth, depends on the event."""
    if isinstance(config, str):
        return _split(config) is not None
    if isinstance(config, Mapping):
        return any(map(is_dynamic, config.values()))
    return isinstance(config, (list, tuple)) and any(map(is_dynamic, config))


def _split(written: str) -> tuple[str, str] | None:
    """The two sides of `{{ place || default }}`, or None for any other text."""
    if "||" not in written:
        return None
    written = written.strip()
    place, bars, default = written[2:-2].partition("||")
    return (place, default) if bars and written.startswith("{{") and written.endswith("}}") else None


def with_defaults(config: Mapping[str, Json]) -> dict[str, Json]:
    """The configuration for an event without any of the values. If a default is empty, the value stays as written."""
    return _replace_texts(config, lambda written: resolve({"": written}, {})[0][""] or written)  # type: ignore[no-any-return]


def resolve(config: Mapping[str, Json], raw: Mapping[str, Json]) -> tuple[dict[str, Json], Mapping[str, Json]]:
    """The configuration for this event, and the event without the values used in it. Builds new objects.

    >>> resolve({"url": '{{ event.properties.to || "a.example" }}'}, {"properties": {"to": "b.example", "n": 1}})
    ({'url': 'b.example'}, {'properties': {'n': 1}})
    """
    used: list[str] = []

    def value(written: str) -> Any:
        parts = _split(written)
        if parts is None:
            return written
        place, default = parts[0].strip(), parts[1].strip().replace('"', "")
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
    """The configuration with every `env.NAME` replaced by that environment variable. Unset ones are left unchanged."""

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
