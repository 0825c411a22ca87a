"""The source's configuration: fetched from the control plane, cached in the queue's file, refreshed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from svctoolkit import __version__
from svctoolkit.errors import DeliveryError, is_survivable
from svctoolkit.sdk.base import checks
from svctoolkit.sdk.base.settings import Settings
from svctoolkit.sdk.base.transport import Request, Transport
from svctoolkit.sdk.queue.queue import Queue
from svctoolkit.sdk.sending.answers import basic, describe, says_wrong_key

_STATE = "source_config"
_TIMEOUT = 5.0


class DeviceDestination(NamedTuple):
    """A destination as device mode needs it. Without an allowlist (`allowed` None), `denied` applies."""

    display_name: str
    config: Mapping[str, object]
    allowed: frozenset[str] | None
    denied: frozenset[str]

    def takes(self, event: Mapping[str, object]) -> bool:
        """Return whether the event passes the event filter. Only track events with a name are filtered."""
        name = str(event.get("event") or "").strip()
        if event.get("type") != "track" or not name:
            return True
        return name in self.allowed if self.allowed is not None else name not in self.denied


class SourceConfig(NamedTuple):
    """The source as configured in the control plane."""

    enabled: bool
    destinations: tuple[DeviceDestination, ...]
    data_planes: Mapping[str, str]

    def url(self, region: str, otherwise: str) -> str:
        """Return the URL of the region's data plane, else of the US data plane, else `otherwise`."""
        return self.data_planes.get(region) or self.data_planes.get("US") or otherwise


def source_config(text: str | bytes) -> SourceConfig:
    """Parse a source configuration. Raises `ValueError` if it is not one."""
    source = _object(json.loads(text)).get("source")
    if not isinstance(source, Mapping):
        raise ValueError("'source' is missing or not an object")
    planes: dict[str, str] = {}
    for region, listed in _object(source.get("dataplanes")).items():
        for plane in _objects(listed):
            if plane.get("default") is True:
                with suppress(ValueError):
                    planes[region] = checks.url(plane.get("url"))
    return SourceConfig(
        enabled=source.get("enabled", True) is not False,
        destinations=tuple(_destinations(_objects(source.get("destinations")))),
        data_planes=planes,
    )


def _destinations(given: list[Mapping[str, object]]) -> list[DeviceDestination]:
    by_name: dict[str, DeviceDestination] = {}
    for destination in given:
        name = _object(destination.get("destinationDefinition")).get("displayName")
        if not isinstance(name, str) or destination.get("enabled") is not True:
            continue
        config = _object(destination.get("config"))
        option = config.get("eventFilteringOption")
        allowed = _names(config.get("whitelistedEvents")) if option == "whitelistedEvents" else None
        denied = _names(config.get("blacklistedEvents")) if option == "blacklistedEvents" else frozenset()
        # Of several destinations with one name, the first is started, and the first event filter applies.
        first = by_name.get(name)
        if first is None:
            by_name[name] = DeviceDestination(name, config, allowed, denied)
        elif first.allowed is None and not first.denied:
            by_name[name] = DeviceDestination(name, first.config, allowed, denied)
    return list(by_name.values())


def _names(listed: object) -> frozenset[str]:
    return frozenset(str(entry.get("eventName") or "").strip() for entry in _objects(listed)) - {""}


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


class SourceConfigs:
    """Loads the configuration from the control plane or from the cache."""

    def __init__(self, queue: Queue, transport: Transport, settings: Settings, write_key: str) -> None:
        self._queue, self._transport, self._settings, self._key = queue, transport, settings, write_key

    def cache(self) -> SourceConfig | None:
        """Return this source's cached configuration, if there is one."""
        text = self._queue.states.read(_STATE)
        try:
            return source_config(text) if text else None
        except (ValueError, RecursionError):
            return None

    def fetch(self) -> SourceConfig:
        """Fetch and cache the configuration. Raises `DeliveryError`, with `code` EKEY if the write key is unknown."""
        # A data plane of this package serves the configuration itself, so tests need no control plane.
        control = self._settings.control_plane_url or self._settings.data_plane_url
        version = ".".join(map(str, sys.version_info[:2]))
        url = f"{control}/sourceConfig?p=python&v={__version__}&bv={version}"
        request = Request("GET", url, {"Authorization": basic(self._key)}, timeout=_TIMEOUT)
        try:
            response = self._transport.send(request)
        except BaseException as error:
            if not is_survivable(error):
                raise
            raise DeliveryError(f"no source configuration: {error}", code="ENOCONFIG") from error
        if says_wrong_key(response):
            raise DeliveryError(describe(response), code="EKEY", status=response.status)
        if response.status != 200:
            raise DeliveryError(f"no source configuration from {control}: {describe(response)}", code="ENOCONFIG")
        try:
            config = source_config(response.body)
        except (ValueError, RecursionError) as error:
            raise DeliveryError(f"the source configuration cannot be read: {error}", code="ENOCONFIG") from error
        # Only a valid configuration replaces the cached one.
        self._queue.states.write(_STATE, response.body.decode("utf-8", "replace"))
        return config
