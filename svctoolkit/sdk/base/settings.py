"""The settings of a client: names, defaults, ranges, spellings."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from svctoolkit.errors import ConfigError, Problem, ToolkitError, did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.sdk.base import checks
from svctoolkit.sdk.base.levels import MEMORY as MEMORY
from svctoolkit.sdk.base.levels import LogLevel as LogLevel

if TYPE_CHECKING:
    from svctoolkit.sdk.base.transport import Plane, Transport
    from svctoolkit.sdk.device.protocol import Factory

#: Default if neither `dataPlaneUrl` nor SVCTOOLKIT_DATA_PLANE_URL is set: the address of `svctoolkit serve`.
DEFAULT_DATA_PLANE_URL = "http://127.0.0.1:8091"


#: Random numbers for IDs. Several with one system call: each call lets a busy thread run first, for milliseconds.
_RANDOM: deque[bytes] = deque()
_BYTES, _BLOCK = 16, 64
_FREE_BITS, _VERSION = ~(0xF << 76 | 0x3 << 62), 4 << 76 | 2 << 62
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_RANDOM.clear)


def new_id() -> str:
    """Return a random UUID, version 4. (Formatted here: `uuid.uuid4` takes three times as long.)"""
    try:
        raw = _RANDOM.popleft()
    except IndexError:
        block = os.urandom(_BYTES * _BLOCK)
        raw, *others = (block[start : start + _BYTES] for start in range(0, len(block), _BYTES))
        _RANDOM.extend(others)
    # A machine that continues from a snapshot has the same numbers as another one, at another time.
    number = (int.from_bytes(raw) ^ time.time_ns()) & _FREE_BITS | _VERSION
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def probe_after(pauses: int) -> float:
    """Return the seconds from the `pauses`-th pause in a row to the next probe: 30, 60... at most 300."""
    return float(min(30.0 * 2.0 ** min(pauses - 1, 10), 300.0))


def _jitter() -> float:
    # Not from `random`, which would be the largest import here. Forked children must not repeat their parent's, either.
    return int.from_bytes(os.urandom(4)) / 2**32


def backoff(failures: int) -> float:
    """Return the seconds to wait after `failures` failed attempts in a row: 3, 6, 12... with jitter, at most 300."""
    base: float = min(3.0 * 2.0 ** min(failures - 1, 10), 300.0)
    return min(base + _jitter() * base, 300.0)


def server_backoff(failures: int) -> float:
    """Return the same for servers: 1, 2, 4, 8, then 15, each less up to half of it, so that processes spread."""
    return float(min(2.0 ** min(failures - 1, 4), 15.0)) * (1.0 - _jitter() / 2.0)


#: Defaults that differ from those of `Settings`. A phone saves its battery; a server has many processes, and goes on
#: as soon as it can.
_PROFILES: dict[str, dict[str, Any]] = {
    "device": {},
    "server": {
        "track_lifecycle_events": False,
        "backoff": server_backoff,
        "exit_timeout": 2.0,
        "flush_queue_size": 100,
    },
}


class ConsentQuery(NamedTuple):
    """What `consent` is asked about: an event, before anything of it is stored.

    `type` is "track", "identify"...; `name` the event's (for identify and alias: empty). An ID that is not known is
    empty.
    """

    type: str
    name: str
    user_id: str
    anonymous_id: str


class Configuration(TypedDict, total=False):
    """Every setting in its Python spelling. `initialize` accepts these names and the specified camelCase ones."""

    profile: Literal["device", "server"]
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
    exit_timeout: float | dt.timedelta
    max_age: float | dt.timedelta | None
    consent: Callable[[ConsentQuery], bool] | None
    enabled: bool
    strict: bool
    durable: Literal["preferred", "required"]
    adopt: Sequence[str]
    before_send: Callable[[dict[str, Any]], Mapping[str, Any] | None] | None
    on_error: Callable[[ToolkitError], object] | None
    on_drop: Callable[[dict[str, Any], str], object] | None


class SpecifiedConfiguration(TypedDict, total=False):
    """The settings of `initialize` in their specified spelling."""

    profile: Literal["device", "server"]
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
    exitTimeout: float | dt.timedelta
    maxAge: float | dt.timedelta | None
    consent: Callable[[ConsentQuery], bool] | None
    enabled: bool
    strict: bool
    durable: Literal["preferred", "required"]
    adopt: Sequence[str]
    beforeSend: Callable[[dict[str, Any]], Mapping[str, Any] | None] | None
    onError: Callable[[ToolkitError], object] | None
    onDrop: Callable[[dict[str, Any], str], object] | None


class Settings(NamedTuple):
    """Checked settings. The docstring of `ServiceClient` explains each."""

    profile: str = "device"
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
    exit_timeout: float = 5.0
    max_age: float | None = None
    consent: Callable[[ConsentQuery], bool] | None = None
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
    return Settings(**{**_PROFILES[checked.get("profile", "device")], **checked})


def _by_python_name(mapping: Mapping[str, Any] | None, problems: list[Problem]) -> dict[str, Any]:
    if mapping is None:
        return {}
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"configuration must be a mapping, got {type(mapping).__name__}")
    values_by_name: dict[str, Any] = {}
    for spelling, value in mapping.items():
        name = _SPELLINGS.get(spelling)
        if name is None:
            specified = [known if "_" in str(spelling) else _camel(known) for known in Settings._fields]
            hint = did_you_mean(str(spelling), specified)
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


_CHECKS: dict[str, Callable[[object], object]] = {
    "profile": checks.choice("device", "server"),
    "log_level": checks.level,
    "data_plane_url": checks.url,
    "control_plane_url": checks.url,
    "flush_queue_size": checks.whole(1, 100),
    "db_threshold_count": checks.whole(1, 10_000_000),
    "sleep_timeout": checks.whole(1, 86_400),
    "config_refresh_interval": checks.whole(1, 24),
    "auto_collect_advert_id": checks.flag,
    "track_lifecycle_events": checks.flag,
    "record_screen_views": checks.flag,
    "data_residency": checks.choice("US", "EU"),
    "data_directory": checks.directory,
    "application_name": checks.text,
    "application_version": checks.text,
    "application_build": checks.build,
    "application_namespace": checks.text,
    "gzip": checks.flag,
    "transport": checks.transport,
    "factories": checks.factories,
    "clock": checks.function,
    "new_id": checks.function,
    "backoff": checks.function,
    "probe_after": checks.function,
    "exit_timeout": checks.seconds,
    "max_age": checks.age,
    "consent": checks.callback,
    "enabled": checks.flag,
    "strict": checks.flag,
    "durable": checks.choice("preferred", "required"),
    "adopt": checks.keys,
    "before_send": checks.callback,
    "on_error": checks.callback,
    "on_drop": checks.callback,
}
_SPELLINGS = {spelling: name for name in Settings._fields for spelling in (name, _camel(name))} | {
    "dbCountThreshold": "db_threshold_count",
    "db_count_threshold": "db_threshold_count",
    "sleepTimeOut": "sleep_timeout",
    "loglevel": "log_level",
}
