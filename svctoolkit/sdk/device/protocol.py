"""The protocols that an application implements for device mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from svctoolkit.json_types import Json


class Integration(Protocol):
    """The destination's code, created by a factory. It runs in a separate thread, one call at a time."""

    def dump(self, event: dict[str, Json]) -> None:
        """Process one event, as the data plane would get it (without `sentAt`)."""

    def reset(self) -> None:
        """Forget the current user: the next events are another user's."""

    def flush(self) -> None:
        """Deliver everything received so far."""


class Factory(Protocol):
    """Creates the integration of one destination.

    `display_name` is the destination's name in the source configuration ("Amplitude"), exactly. If it is
    empty, the factory is the application's own: it starts immediately, with an empty configuration and no event filter.
    """

    display_name: str

    # Any: the `ServiceClient`, which this layer must not import
    def create(self, config: Mapping[str, Json], client: Any) -> Integration:
        """Create the integration, with the configuration from the dashboard."""
