"""What every language keeps to: events in, one `Output` per event out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from svctoolkit.errors import TransformationError
from svctoolkit.events import MAX_DEPTH, too_deep

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
    """The events in what a transformation returned for one event: nothing, an event, or a list of events, as JSON.

    Raises `TransformationError` for anything else, also for what JSON cannot hold.
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
    return tuple(map(_json, found))


def _json(event: dict[str, Any]) -> dict[str, Any]:
    """A copy that is JSON through and through: what is shared, or changed later, stays with the user's code."""
    if too_deep(event):
        raise TransformationError(f"an event is nested at most {MAX_DEPTH} levels deep", name="ValueError")
    try:
        copy: dict[str, Any] = json.loads(json.dumps(event))
    except (TypeError, ValueError, RecursionError) as error:
        raise TransformationError(f"an event must be JSON: {error}", name=type(error).__name__) from None
    return copy
