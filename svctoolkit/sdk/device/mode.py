"""Device mode: events go straight to code in this process, beside the data plane."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from svctoolkit.errors import DeliveryError
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import LogLevel
from svctoolkit.sdk.queue.claims import Row
from svctoolkit.sdk.queue.queue import Queue
from svctoolkit.sdk.sending.source import DeviceDestination, SourceConfig

if TYPE_CHECKING:
    from svctoolkit.sdk.client import ServiceClient

_REPLAYED = 100


class Integration(Protocol):
    """What a factory creates: the destination's own code."""

    def dump(self, event: dict[str, Any]) -> None:
        """Take one event, as the data plane would get it (without `sentAt`)."""
        ...

    def reset(self) -> None:
        """The user is somebody else from now on."""
        ...

    def flush(self) -> None:
        """Bring everything taken so far to where it belongs."""
        ...


class Factory(Protocol):
    """Creates the integration of one destination.

    `display_name` is the destination's name in the source configuration ("Amplitude"), exactly. An empty one means a
    factory of the application's own: it starts at once, with an empty configuration and no event filter.
    """

    display_name: str

    def create(self, config: Mapping[str, Any], client: ServiceClient) -> Integration:
        """The integration, configured as the dashboard says."""
        ...


class DeviceMode:
    """Hands every stored event to each integration that wants it, once, also those stored before it was ready.

    An integration that raises is told to `on_error` and misses that event; the others and the data plane do not notice.
    """

    def __init__(self, factories: Sequence[Factory], client: ServiceClient, reporter: Reporter) -> None:
        self._factories, self._client, self._reporter = factories, client, reporter
        self._running: dict[int, tuple[DeviceDestination, Integration]] = {}
        self._failed: set[int] = set()
        self._lock = threading.RLock()
        self._ready = False

    def __bool__(self) -> bool:
        return bool(self._factories)

    def use(self, config: SourceConfig) -> None:
        """Start the factories that the configuration names, stop those it names no more."""
        named = {destination.display_name: destination for destination in config.destinations if config.enabled}
        with self._lock:
            for place, factory in enumerate(self._factories):
                own = DeviceDestination("", {}, None, frozenset())
                self._start(place, factory, named.get(factory.display_name) if factory.display_name else own)
            self._ready = True

    def deliver(self, queue: Queue) -> None:
        """Hand over what waits in the queue."""
        if not self._ready:
            return
        while batch := queue.claim("device", _REPLAYED):
            self.dump(batch.rows)
            queue.finish(batch, batch.rows)

    def dump(self, rows: Sequence[Row]) -> None:
        with self._lock:
            for _, body in rows:
                for place, (destination, integration) in self._running.items():
                    event = json.loads(body)  # each its own: what one changes, the next does not see
                    if _chooses(event.get("integrations"), destination) and destination.takes(event):
                        self._isolate(place, "dump", lambda i=integration, e=event: i.dump(e))

    def reset(self) -> None:
        self._each("reset")

    def flush(self) -> None:
        self._each("flush")

    def _each(self, action: str) -> None:
        with self._lock:
            for place, (_, integration) in self._running.items():
                self._isolate(place, action, getattr(integration, action))

    def _start(self, place: int, factory: Factory, destination: DeviceDestination | None) -> None:
        running = self._running.get(place)
        if destination is None:
            self._running.pop(place, None)
        elif running is not None and running[0].config == destination.config:
            self._running[place] = (destination, running[1])
        elif place not in self._failed:
            self._isolate(place, "create", lambda: self._create(place, factory, destination))

    def _create(self, place: int, factory: Factory, destination: DeviceDestination) -> None:
        self._failed.add(place)
        self._running[place] = (destination, factory.create(destination.config, self._client))
        self._failed.discard(place)

    def _isolate(self, place: int, action: str, work: Any) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the destination's code
            name = self._factories[place].display_name or type(self._factories[place]).__name__
            text = f"device mode, {name}: {action} failed: {type(error).__name__}: {error}"
            self._reporter.error(DeliveryError(text, code="EDEVICE"), LogLevel.WARN)


def _chooses(integrations: Any, destination: DeviceDestination) -> bool:
    if not isinstance(integrations, Mapping):
        return True
    named = integrations.get(destination.display_name) if destination.display_name else None
    return named is True or (named is None and integrations.get("All") is True)
