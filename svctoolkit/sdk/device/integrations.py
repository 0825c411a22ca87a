"""The running integrations: which events they get, and isolation of their failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from svctoolkit.errors import DeliveryError, is_survivable
from svctoolkit.json_types import Json
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import LogLevel
from svctoolkit.sdk.base.values import stored_object
from svctoolkit.sdk.device.protocol import Factory, Integration
from svctoolkit.sdk.queue.claims import Row
from svctoolkit.sdk.sending.source import DeviceDestination, SourceConfig

_OWN = DeviceDestination("", {}, None, frozenset())


class Integrations:
    """The active integrations, for one thread at a time.

    If one raises, the error is reported to `on_error` and that integration misses the event; the others get it.
    """

    def __init__(self, factories: Sequence[Factory], client: object, reporter: Reporter) -> None:
        self._factories, self._client, self._reporter = factories, client, reporter
        self._active: dict[int, tuple[DeviceDestination, Integration]] = {}
        self._failed: set[int] = set()

    def start_own(self) -> None:
        """Start the application's own factories, which need no entry in the source configuration."""
        for place, factory in enumerate(self._factories):
            if not factory.display_name:
                self._start(place, factory, _OWN)

    def use(self, config: SourceConfig) -> None:
        """Start the factories that the configuration lists, stop those that it no longer lists."""
        named = {destination.display_name: destination for destination in config.destinations if config.enabled}
        for place, factory in enumerate(self._factories):
            if factory.display_name:
                self._start(place, factory, named.get(factory.display_name))

    @property
    def all_own(self) -> bool:
        """Whether no factory waits for the source configuration."""
        return not any(factory.display_name for factory in self._factories)

    def dump(self, rows: Sequence[Row]) -> None:
        """Pass each event to each integration that should get it."""
        for _, body in rows:
            for place, (destination, integration) in list(self._active.items()):
                event = stored_object(body)  # a copy for each, as integrations may change it
                if event and _chooses(event.get("integrations"), destination) and destination.takes(event):
                    self._isolate(place, "dump", partial(_dump, integration, event))

    def reset(self) -> None:
        for place, (_, integration) in list(self._active.items()):
            self._isolate(place, "reset", partial(_reset, integration))

    def flush(self) -> None:
        for place, (_, integration) in list(self._active.items()):
            self._isolate(place, "flush", partial(_flush, integration))

    def _start(self, place: int, factory: Factory, destination: DeviceDestination | None) -> None:
        active = self._active.get(place)
        if destination is None:
            self._active.pop(place, None)
        elif active is not None and active[0].config == destination.config:
            self._active[place] = (destination, active[1])
        elif place not in self._failed:
            self._isolate(place, "create", lambda: self._create(place, factory, destination))

    def _create(self, place: int, factory: Factory, destination: DeviceDestination) -> None:
        self._failed.add(place)
        self._active[place] = (destination, factory.create(destination.config, self._client))
        self._failed.discard(place)

    def _isolate(self, place: int, action: str, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            if not is_survivable(error):
                raise
            name = self._factories[place].display_name or type(self._factories[place]).__name__
            text = f"device mode, {name}: {action} failed: {type(error).__name__}: {error}"
            self._reporter.error(DeliveryError(text, code="EDEVICE"), LogLevel.WARN)


# Looked up inside `_isolate`: an integration may lack a method, or fail when it is read.


def _dump(integration: Integration, event: dict[str, Json]) -> None:
    integration.dump(event)


def _reset(integration: Integration) -> None:
    integration.reset()


def _flush(integration: Integration) -> None:
    integration.flush()


def _chooses(integrations: object, destination: DeviceDestination) -> bool:
    if not isinstance(integrations, Mapping):
        return True
    choice = integrations.get(destination.display_name) if destination.display_name else None
    return choice is True or (choice is None and integrations.get("All") is True)
