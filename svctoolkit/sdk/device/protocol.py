"""What an application provides for device mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from svctoolkit.json_types import Json


class Integration(Protocol):
    """What a factory creates: the destination's own code. All of it runs in a thread of its own, one call at a time."""

    def dump(self, event: dict[str, Json]) -> None:
        """Take one event, as the data plane would get it (without `sentAt`)."""

    def reset(self) -> None:
        """The user is somebody else from now on."""

    def flush(self) -> None:
        """Bring everything taken so far to where it belongs."""


class Factory(Protocol):
    """Creates the integration of one destination.

    `display_name` is the destination's name in the source configuration ("Amplitude"), exactly. An empty one means a
    factory of the application's own: it starts at once, with an empty configuration and no event filter.
    """

    display_name: str

    # Any: the `ServiceClient`, whose type is known above this layer only
    def create(self, config: Mapping[str, Json], client: Any) -> Integration:
        """The integration, configured as the dashboard says."""
