"""Settings of a workspace that have no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from svctoolkit.destinations import effects
from svctoolkit.errors import UnknownName
from svctoolkit.workspace._items import Destination


def idle_settings_of(destinations: Mapping[str, Destination]) -> Iterator[tuple[str, str]]:
    """Yield the settings that have no effect on the events that are sent: the destination's key, and `TYPE.NAME`.

    Destinations in device mode, whose events the client's SDK sends, are left out, and so are unknown types.
    """
    for key, destination in destinations.items():
        with suppress(UnknownName):
            if destination.config.get("useNativeSDK") is not True:
                for name in effects.idle_settings(destination.type, destination.config):
                    yield key, f"{destination.type}.{name}"
