"""The options that shape rows: the destination's configuration, the event's options, the operator's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.warehouse.providers import Provider
from svctoolkit.warehouse.rows.names import Names, names_of

_NOTHING: Mapping[str, Any] = {}
_TYPES = ("track.", "identify.", "page.", "screen.", "alias.", "group.", "extract.")
#: `clickhouse_arrays` belongs to the older route only: what runs in production today writes arrays as text.
_SETTINGS = ("id_resolution", "max_columns", "clickhouse_arrays")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the RudderStack operator for all destinations."""

    id_resolution: bool = False
    max_columns: int = 1600

    @classmethod
    def of(cls, settings: Mapping[str, Json] | None) -> Settings:
        """Read the settings. Raises `ConfigError` for an unknown one."""
        for name in settings or ():
            if name not in _SETTINGS:
                raise ConfigError(f"unknown warehouse setting {name!r}.{did_you_mean(name, _SETTINGS)}")
        chosen = settings or _NOTHING
        most = chosen.get("max_columns", 1600)
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise ConfigError(f"the setting max_columns must be at least 1, not {most!r}")
        return cls(chosen.get("id_resolution", False) is True, most)


@dataclass(frozen=True, slots=True)
class JsonPaths:
    """Joined keys whose value is stored as JSON, each with its depth.

    `typed` begin with an event type (`track_properties_address`), `older` do not (`address`, `context_app`).
    """

    typed: Mapping[str, int] = field(default_factory=dict)
    older: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: list[str]) -> JsonPaths:
        typed: dict[str, int] = {}
        older: dict[str, int] = {}
        for path in map(str.strip, paths):
            if path:
                (typed if path.lower().startswith(_TYPES) else older)[path.replace(".", "_")] = path.count(".")
        return cls(typed, older)

    def __bool__(self) -> bool:
        return bool(self.typed or self.older)


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration variables that affect rows. Only a boolean `true` counts, not a string."""

    skip_tracks: bool = False
    skip_users: bool = False
    context_traits: bool = False
    divide_numbers: bool = False
    store_event: bool = False
    json_paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: Mapping[str, Json], provider: Provider) -> Config:
        paths = config.get("jsonPaths")
        return cls(
            skip_tracks=config.get("skipTracksTable") is True,
            skip_users=config.get("skipUsersTable") is True,
            context_traits=config.get("allowUsersContextTraits") is True,
            divide_numbers=config.get("underscoreDivideNumbers") is True,
            store_event=config.get("storeFullEvent") is True,
            json_paths=tuple(paths.split(",")) if isinstance(paths, str) and provider.paths_in_config else (),
        )


@dataclass(frozen=True, slots=True)
class Options:
    """The options that apply to one event."""

    names: Names
    json_paths: JsonPaths
    skip_tracks: bool
    skip_users: bool

    @classmethod
    def of(cls, event: Mapping[str, Json], provider: Provider, config: Config) -> Options:
        """Combine `integrations.<NAME>.options`, where NAME is the type in capitals, with the configuration."""
        mine = _event_options(event, provider.definition)
        paths = list(config.json_paths)
        if provider.paths_in_config:
            everywhere = _texts(_event_options(event, "DATA_WAREHOUSE").get("jsonPaths"))
            paths = [*everywhere, *_texts(mine.get("jsonPaths")), *paths]
        blendo = mine.get("useBlendoCasing") is True
        keep_reserved = mine.get("skipReservedKeywordsEscaping") is True
        return cls(
            names=names_of(provider.name, config.divide_numbers, blendo, keep_reserved),
            json_paths=JsonPaths.of(paths) if paths else _NO_PATHS,
            skip_tracks=config.skip_tracks or mine.get("skipTracksTable") is True,
            skip_users=config.skip_users or mine.get("skipUsersTable") is True or not provider.has_users,
        )


_NO_PATHS = JsonPaths()


def _event_options(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    integrations = event.get("integrations")
    mine = integrations.get(name) if isinstance(integrations, Mapping) else None
    options = mine.get("options") if isinstance(mine, Mapping) else None
    return options if isinstance(options, Mapping) else _NOTHING


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, (list, tuple)) else []
