"""The time at which mappings see an event that did not happen now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from svctoolkit.json_types import Json


def time_of(event: Mapping[str, Json], otherwise: datetime) -> datetime:
    """Return the time at which mappings see an event: its own, or another one for events without a time."""
    # The time of receipt first: mappings with a time limit would refuse old events by today's clock.
    for name in ("receivedAt", "timestamp", "originalTimestamp"):
        text = event.get(name)
        if isinstance(text, str):
            try:
                moment = datetime.fromisoformat(text)
            except ValueError:
                continue
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return otherwise
