"""Write YAML that this package reads back unchanged."""

from __future__ import annotations

from typing import Any

import yaml

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable
from svctoolkit.yamlfile._build import scalar


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """PyYAML's dumper, but it quotes strings that our reader would parse as another type and writes code as a block."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> Any:
    if storable(text) != text:  # PyYAML would write an escape that it refuses to read
        raise ConfigError(f"{text[:100]!a} contains half of a surrogate pair, which YAML cannot represent")
    style = "|" if "\n" in text else None if _stays_text(text) else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _stays_text(text: str) -> bool:
    try:
        return isinstance(scalar(text), str)
    except ValueError:
        return False


_Dumper.add_representer(str, _text)


def dump(data: Json) -> str:
    """Return plain JSON values as YAML text, in their order. Strings that would be read as another type are quoted.

    Raises `ConfigError` for half of a surrogate pair, which YAML cannot hold.

    >>> print(dump({"name": "x", "zip": "123", "live": True}), end="")
    name: x
    zip: '123'
    live: true
    """
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text
