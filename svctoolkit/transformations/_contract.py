"""What every language keeps to: events in, one `Output` per event out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from svctoolkit.errors import TransformationError

#: What `metadata(event)` gives: sourceId, destinationId, messageId and the like.
Metadata: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Log:
    """One line that the user's code wrote while it had an event."""

    text: str
    level: str = "info"


@dataclass(frozen=True, slots=True)
class Output:
    """What became of one event: no event (dropped), one, several, or an error."""

    events: tuple[dict[str, Any], ...] = ()
    error: TransformationError | None = None
    logs: tuple[Log, ...] = ()


class Runnable(Protocol):
    """The user's code, ready to run."""

    def run(self, events: Sequence[Mapping[str, Any]], metadata: Sequence[Metadata]) -> list[Output]:
        """One output per event, in order. Never raises for what the user's code does, and never changes an event."""
        ...


def outputs(returned: Any) -> tuple[dict[str, Any], ...]:
    """The events in what a transformation returned for one event: nothing, an event, or a list of events.

    Raises `TransformationError` for anything else.
    """
    if returned is None:
        return ()
    found = returned if isinstance(returned, list) else [returned]
    for item in found:
        if not isinstance(item, dict):
            raise TransformationError(
                f"a transformation returns an event (an object), a list of events, or nothing to drop the event; "
                f"this one returned {type(item).__name__}",
                name="TypeError",
            )
    return tuple(found)
