"""The settings of a client: names, defaults, ranges, spellings."""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from svctoolkit.errors import ConfigError, Problem, ToolkitError, did_you_mean
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from svctoolkit.sdk.base.transport import Plane, Transport
    from svctoolkit.sdk.device.protocol import Factory

#: Default if neither `dataPlaneUrl` nor SVCTOOLKIT_DATA_PLANE_URL is set: the address of `svctoolkit serve`.
DEFAULT_DATA_PLANE_URL = "http://127.0.0.1:8091"
MEMORY = ":memory:"


class LogLevel(IntEnum):
    """How much the SDK logs. `LogLevel.None` would be a syntax error in Python: write `NONE`, `"None"` or `None`."""

    NONE = 0
    ERROR = 1
    WARN = 2
    INFO = 3
    DEBUG = 4
    VERBOSE = 5


def new_id() -> str:
    """Return a random UUID, version 4. (Formatted here: `uuid.uuid4` takes three times as long.)"""
    raw = bytearray(os.urandom(16))
    raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def probe_after(pauses: int) -> float:
    """Return the seconds from the `pauses`-th pause in a row to the next probe: 30, 60... at most 300."""
    return float(min(30.0 * 2.0 ** min(pauses - 1, 10), 300.0))


def backoff(failures: int) -> float:
    """Return the seconds to wait after `failures` failed attempts in a row: 3, 6, 12... with jitter, at most 300."""
    base: float = min(3.0 * 2.0 ** min(failures - 1, 10), 300.0)
    return min(base + random.random() * base, 300.0)


class Configuration(TypedDict, total=False):
    """Every setting in its Python spelling. `initialize` accepts these names and the specified camelCase ones."""

    log_level: LogLevel | int | str | None
    data_plane_url: str
    control_plane_url: str
    flush_queue_size: int
    db_threshold_count: int
    sleep_timeout: int
    config_refresh_interval: int
    auto_collect_advert_id: bool
    track_lifecycle_events: bool
    record_screen_views: bool
    data_residency: Literal["US", "EU"]
    data_directory: str | os.PathLike[str] | None
    application_name: str
    application_version: str
    application_build: str | int
    application_namespace: str
    gzip: bool
    transport: Transport | Plane | None
    factories: Sequence[Factory]
    clock: Callable[[], float]
    new_id: Callable[[], str]
    backoff: Callable[[int], float]
    probe_after: Callable[[int], float]
    enabled: bool
    strict: bool
    durable: Literal["preferred", "required"]
    adopt: Sequence[str]
    before_send: Callable[[dict[str, Any]], Mapping[str, Any] | None] | None
    on_error: Callable[[ToolkitError], object] | None
    on_drop: Callable[[dict[str, Any], str], object] | None


class SpecifiedConfiguration(TypedDict, total=False):
    """The settings of `initialize` in their specified spelling."""

    logLevel: LogLevel | int | str | None
    dataPlaneUrl: str
    controlPlaneUrl: str
    flushQueueSize: int
    dbThresholdCount: int
    dbCountThreshold: int
    sleepTimeout: int
    sleepTimeOut: int
    configRefreshInterval: int
    autoCollectAdvertId: bool
    trackLifecycleEvents: bool
    recordScreenViews: bool
    dataResidency: Literal["US", "EU"]
    dataDirectory: str | os.PathLike[str] | None
    applicationName: str
    applicationVersion: str
    applicationBuild: str | int
    applicationNamespace: str
    gzip: bool
    transport: Transport | Plane | None
    factories: Sequence[Factory]
    clock: Callable[[], float]
    newId: Callable[[], str]
    backoff: Callable[[int], float]
    probeAfter: Callable[[int], float]
    enabled: bool
    strict: bool
    durable: Literal["preferred", "required"]
    adopt: Sequence[str]
    beforeSend: Callable[[dict[str, Any]], Mapping[str, Any] | None] | None
    onError: Callable[[ToolkitError], object] | None
    onDrop: Callable[[dict[str, Any], str], object] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Checked settings. The docstring of `ServiceClient` explains each."""

    log_level: LogLevel = LogLevel.NONE
    data_plane_url: str = DEFAULT_DATA_PLANE_URL
    control_plane_url: str = ""
    flush_queue_size: int = 30
    db_threshold_count: int = 10_000
    sleep_timeout: int = 10
    config_refresh_interval: int = 2
    auto_collect_advert_id: bool = False
    track_lifecycle_events: bool = True
    record_screen_views: bool = False
    data_residency: str = "US"
    data_directory: str | None = None
    application_name: str = ""
    application_version: str = ""
    application_build: str | int = ""
    application_namespace: str = ""
    gzip: bool = True
    transport: Transport | None = None
    factories: tuple[Factory, ...] = ()
    clock: Callable[[], float] = time.time
    new_id: Callable[[], str] = new_id
    backoff: Callable[[int], float] = backoff
    probe_after: Callable[[int], float] = probe_after
    enabled: bool = True
    strict: bool = True
    durable: str = "preferred"
    adopt: tuple[str, ...] = ()
    before_send: Callable[[dict[str, Any]], Mapping[str, Any] | None] | None = None
    on_error: Callable[[ToolkitError], object] | None = None
    on_drop: Callable[[dict[str, Any], str], object] | None = None


def settings(*given: Mapping[str, Json] | None) -> Settings:
    """Return the settings in `given`; later mappings override earlier ones.

    Raises `ConfigError` with every problem: unknown names (with the nearest known one), wrong types, values out of
    range.
    """
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    if url := os.environ.get("SVCTOOLKIT_DATA_PLANE_URL"):
        values["data_plane_url"] = url
    for mapping in given:
        values |= _by_python_name(mapping, problems)
    checked: dict[str, Any] = {}
    for name, value in values.items():
        try:
            checked[name] = _CHECKS[name](value)
        except ValueError as error:
            got = "" if name == "adopt" else f"; got {_excerpt(value)}"  # write keys must not appear in logs
            problems.append(Problem(f"{error}{got}", _camel(name)))
    if problems:
        raise ConfigError(problems)
    if os.environ.get("SVCTOOLKIT_DISABLED", "").strip().lower() in ("1", "true", "yes", "on"):
        checked["enabled"] = False
    return Settings(**checked)


def _by_python_name(mapping: Mapping[str, Any] | None, problems: list[Problem]) -> dict[str, Any]:
    if mapping is None:
        return {}
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"configuration must be a mapping, got {type(mapping).__name__}")
    values_by_name: dict[str, Any] = {}
    for spelling, value in mapping.items():
        name = _SPELLINGS.get(spelling)
        if name is None:
            hint = did_you_mean(str(spelling), _SPELLINGS)
            problems.append(Problem(f"the client has no setting {spelling!r}.{hint}"))
        elif name in values_by_name and values_by_name[name] != value:
            problems.append(Problem(f"{_camel(name)} is given twice, with different values"))
        else:
            values_by_name[name] = value
    return values_by_name


def _excerpt(value: Any) -> str:
    try:
        return json.dumps(value)[:60]
    except (TypeError, ValueError):
        return type(value).__name__


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return value

    return check


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _url(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"https?://[^/\s?#]+(/[^\s?#]*)?", value):
        raise ValueError("must be a URL such as https://plane.example.com, without a query")
    return value.rstrip("/")


def _level(value: Any) -> LogLevel:
    if value is None:
        return LogLevel.NONE
    if isinstance(value, str) and value.upper() in LogLevel.__members__:
        return LogLevel[value.upper()]
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 5:
        return LogLevel(value)
    raise ValueError("must be one of NONE, ERROR, WARN, INFO, DEBUG, VERBOSE or 0 to 5")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def _build(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError("must be a string or a whole number")
    return value


def _region(value: Any) -> str:
    if value not in ("US", "EU"):
        raise ValueError("must be US or EU")
    return str(value)


def _durability(value: Any) -> str:
    if value not in ("preferred", "required"):
        raise ValueError('must be "preferred" or "required"')
    return str(value)


def _directory(value: Any) -> str | None:
    if value is None or value == MEMORY:
        return MEMORY if value else None
    if not isinstance(value, (str, os.PathLike)) or not str(value):
        raise ValueError(f"must be a directory, or {MEMORY!r}")
    return os.path.abspath(os.path.expanduser(value))


def _callback(value: Any) -> Any:
    if value is not None and not callable(value):
        raise ValueError("must be a function or None")
    return value


def _function(value: Any) -> Any:
    if not callable(value):
        raise ValueError("must be a function")
    return value


def _transport(value: Any) -> Any:
    if callable(getattr(value, "ingest", None)):
        from svctoolkit.sdk.base.transport import PlaneTransport

        return PlaneTransport(value)
    if value is not None and not callable(getattr(value, "send", None)):
        raise ValueError("must be a DataPlane, or have a method send(request)")
    return value


def _factories(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, Sequence) or not all(callable(getattr(f, "create", None)) for f in value):
        raise ValueError("must be a list of objects with a method create(config, client)")
    for factory in value:
        if not isinstance(getattr(factory, "display_name", None), str):
            raise ValueError(f"each needs a display_name (a string); {type(factory).__name__} does not have one")
    return tuple(value)


def _keys(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(key, str) and key for key in value):
        raise ValueError("must be a list of write keys")
    return tuple(value)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "log_level": _level,
    "data_plane_url": _url,
    "control_plane_url": _url,
    "flush_queue_size": _whole(1, 100),
    "db_threshold_count": _whole(1, 10_000_000),
    "sleep_timeout": _whole(1, 86_400),
    "config_refresh_interval": _whole(1, 24),
    "auto_collect_advert_id": _flag,
    "track_lifecycle_events": _flag,
    "record_screen_views": _flag,
    "data_residency": _region,
    "data_directory": _directory,
    "application_name": _text,
    "application_version": _text,
    "application_build": _build,
    "application_namespace": _text,
    "gzip": _flag,
    "transport": _transport,
    "factories": _factories,
    "clock": _function,
    "new_id": _function,
    "backoff": _function,
    "probe_after": _function,
    "enabled": _flag,
    "strict": _flag,
    "durable": _durability,
    "adopt": _keys,
    "before_send": _callback,
    "on_error": _callback,
    "on_drop": _callback,
}
_SPELLINGS = {spelling: f.name for f in fields(Settings) for spelling in (f.name, _camel(f.name))} | {
    "dbCountThreshold": "db_threshold_count",
    "db_count_threshold": "db_threshold_count",
    "sleepTimeOut": "sleep_timeout",
    "loglevel": "log_level",
}
