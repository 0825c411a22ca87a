"""Destination types: their keys in YAML, the settings that they become, and checks. The data are in definitions.json.

Two releases are distinguished: `0.24`, and `1.0` with what changed from 0.25 on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from svctoolkit.json_types import Json

Release: TypeAlias = Literal["0.24", "1.0"]
OLD: Final[Release] = "0.24"
CURRENT: Final[Release] = "1.0"
#: Source types that the current release dropped.
_DROPPED: Final = ("amp", "shopify", "cloud_source")
#: Source types as YAML spells them -> as the service does. Others are the same.
SOURCE_TYPES: Final[Mapping[str, str]] = {
    "android_kotlin": "androidKotlin",
    "ios_swift": "iosSwift",
    "react_native": "reactnative",
    "cloud_source": "cloudSource",
}
PER_SOURCE: Final = ("connection_mode", "use_native_sdk", "consent_management")
MODES: Final = "connection_mode"
NATIVE: Final = "use_native_sdk"
CONSENT: Final = "consent_management"


@dataclass(frozen=True)
class Key:
    """A key of `config`, or of an object in a list: type and checks. `path` is dotted."""

    path: str
    type: str = "string"
    checks: tuple[tuple[Json, ...], ...] = ()
    optional: bool = False  # an empty value is not checked
    pointer: bool = False  # an empty value counts as present
    items: Items | None = None
    item_checks: tuple[tuple[Json, ...], ...] = ()


@dataclass(frozen=True)
class Items:
    """Items of a list: texts, or objects with these keys."""

    keys: Mapping[str, Key] | None = None


@dataclass(frozen=True)
class Setting:
    """How a key becomes a setting of the service. `convert` is empty for a copy."""

    path: str  # dotted, in the configuration of the service
    key: Key | None = None
    convert: str = ""
    item_key: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)  # key that is set -> value, for a choice
    default: Json = None


@dataclass(frozen=True)
class Definition:
    """A destination type in a release."""

    cli_type: str
    type: str
    release: Release
    modes: Mapping[str, list[str]]  # source type -> connection modes
    secrets: frozenset[str]
    settings: tuple[Setting, ...]
    needed: Mapping[str, Mapping[str, list[str]]]  # source type -> mode -> keys
    added: Mapping[str, Json]  # defaults that the service adds
    mentioned_only: bool = False  # known from its description only

    @property
    def sources(self) -> list[str]:
        """The source types in the order of the definition."""
        return [*self.modes]

    @property
    def required(self) -> frozenset[str]:
        """The keys that every destination of the type has."""
        keys = [setting.key for setting in self.settings if setting.key]
        return frozenset(key.path for key in keys if any(check[0] == "required" for check in key.checks))

    def tree(self) -> Mapping[str, Json]:
        """Return the keys of `config` as a tree: a `Key`, or an object of them."""
        return _tree(self)

    def names(self) -> frozenset[str]:
        """Return the first part of each setting: the names in the configuration of the service."""
        return frozenset(setting.path.split(".")[0] for setting in self.settings) | {
            "connectionMode",
            "consentManagement",
        }


@cache
def _data() -> Mapping[str, Json]:
    text = Path(__file__).with_name("definitions.json").read_text("utf-8")
    data: Mapping[str, Json] = json.loads(text)
    return data


def patterns() -> Mapping[str, list[str]]:
    """Return the named patterns: what must match, and what must not, if anything."""
    named: Mapping[str, list[str]] = _data()["patterns"]
    return named


@cache
def find(cli_type: str, release: Release) -> Definition | None:
    """Return a destination type in a release; None if it has no definition."""
    types = _data()["types"]
    if release == CURRENT and cli_type in types["later"]:
        return _definition(cli_type, types["later"][cli_type], release)
    if cli_type in types["0.24"]:
        return _definition(cli_type, types["0.24"][cli_type], release)
    return None


def known_types(release: Release) -> list[str]:
    """Return the types with a definition in a release."""
    types = _data()["types"]
    return sorted({*types["0.24"], *(types["later"] if release == CURRENT else ())})


@cache
def source_types() -> frozenset[str]:
    """Return every source type that a definition has."""
    types = _data()["types"]
    return frozenset(source for release in types.values() for item in release.values() for source in item["sources"])


def is_later_only(cli_type: str) -> bool:
    """Whether a type exists from 0.25 on only."""
    types = _data()["types"]
    return cli_type in types["later"] and cli_type not in types["0.24"]


def _definition(cli_type: str, data: Mapping[str, Json], release: Release) -> Definition:
    order = [source for source in data["sources"] if release == OLD or source not in _DROPPED]
    settings = tuple(_setting(item, release) for item in data["settings"])
    return Definition(
        cli_type,
        data["type"],
        release,
        {source: data["modes"][source] for source in order},
        frozenset(data.get("secrets", ())),
        settings,
        data.get("needed", {}),
        data.get("added", {}),
        data.get("described", False),
    )


def _setting(data: Mapping[str, Json], release: Release) -> Setting:
    values = data.get("values", {})
    path = data.get("key", "")
    if release == CURRENT:  # spelled alike in all types since 0.25
        path = _FILTERS.get(path, path)
        values = {_FILTERS.get(name, name): value for name, value in values.items()}
    key = None
    if "key" in data:
        checks = _checks(data)
        if path != data["key"]:
            checks = tuple(("excluded_with", [_OTHER[path]]) if c[0] == "excluded_with" else c for c in checks)
        key = Key(
            path,
            data.get("type", "string"),
            checks,
            data.get("optional", False),
            data.get("pointer", False),
            _items(data["items"]) if "items" in data else None,
            tuple(map(tuple, data.get("item_checks", ()))),
        )
    return Setting(
        data["setting"],
        key,
        data.get("convert", ""),
        data.get("item_key", ""),
        data.get("rename", {}),
        values,
        data.get("default"),
    )


_FILTERS: Final = {
    "event_filtering_whitelist": "event_filtering.whitelist",
    "event_filtering_blacklist": "event_filtering.blacklist",
}
_OTHER: Final = {"event_filtering.whitelist": "blacklist", "event_filtering.blacklist": "whitelist"}


def _checks(data: Mapping[str, Json]) -> tuple[tuple[Json, ...], ...]:
    return tuple(map(tuple, data.get("checks", ())))


def _items(data: Mapping[str, Json]) -> Items:
    if data["type"] != "object":
        return Items()
    return Items({name: _item_key(name, each) for name, each in data["keys"].items()})


def _item_key(name: str, data: Mapping[str, Json]) -> Key:
    items = _items(data["items"]) if "items" in data else None
    optional, points = data.get("optional", False), data.get("pointer", False)
    return Key(name, data.get("type", "string"), _checks(data), optional, points, items)


@cache
def _tree_of(cli_type: str, release: Release) -> Mapping[str, Json]:
    definition = find(cli_type, release)
    tree: dict[str, Json] = {}
    for setting in definition.settings if definition else ():
        if setting.key is not None:
            at = tree
            *above, last = setting.key.path.split(".")
            for step in above:
                at = at.setdefault(step, {})
            at[last] = setting.key
    return tree


def _tree(definition: Definition) -> Mapping[str, Json]:
    return _tree_of(definition.cli_type, definition.release)
