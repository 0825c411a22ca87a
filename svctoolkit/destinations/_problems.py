"""Messages about invalid configurations, in terms that users know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from svctoolkit.json_types import Json

_WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a number",
    "null": "null",
    "object": "an object",
    "str": "a string",
}
_KIND = re.compile(r"`([\w |]+)`")


def config_problem(message: str, settings: type[msgspec.Struct], config: Mapping[str, Json]) -> str:
    """Reword the library's message (``Expected `str`, got `int` - at `$.webhookUrl` ``), with the variable in front.

    >>> config_problem("Expected `str`, got `int` - at `$.apiUrl`", msgspec.Struct, {})
    'apiUrl: expected a string, got a number'
    """
    what, _, place = message.partition(" - at `$.")
    place = place.rstrip("`")
    if missing := re.match("Object missing required field `(.+)`", what):
        name = f"{place}.{missing[1]}" if place else missing[1]
        return f"{name}: is required{_misspelt(missing[1], settings, config)}"
    if what.startswith("Invalid enum value"):
        what += f". It is one of {', '.join(_options(settings, place))}"
    what = _KIND.sub(lambda kind: _in_words(kind[1]), what)
    return f"{place}: {what[0].lower()}{what[1:]}" if place else what


def _misspelt(missing: str, settings: type[msgspec.Struct], config: Mapping[str, Any]) -> str:
    import difflib  # the import takes 15 ms and is needed only for an error

    strange = {key.lower(): key for key in config if key not in settings.__struct_encode_fields__}
    close = difflib.get_close_matches(missing.lower(), list(strange), n=1)
    return f"; there is {strange[close[0]]!r} instead" if close else ""


def _options(settings: type[msgspec.Struct], variable: str) -> list[str]:
    fields = dict(zip(settings.__struct_encode_fields__, settings.__struct_fields__, strict=True))
    hint = get_type_hints(settings).get(fields.get(variable, ""))
    kinds = [hint, *get_args(hint)]
    return [option for kind in kinds if get_origin(kind) is Literal for option in map(str, get_args(kind))]


def _in_words(kinds: str) -> str:
    return " or ".join(dict.fromkeys(_WORDS.get(kind, kind) for kind in kinds.split(" | ")))
