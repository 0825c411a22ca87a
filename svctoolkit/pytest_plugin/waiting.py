"""What a helper does before it asserts: it sends what clients have queued, and waits until no event is in progress."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from svctoolkit.pytest_plugin import items, state

if TYPE_CHECKING:
    from svctoolkit.server import DataPlane
    from svctoolkit.server.inspect.views import View


def settled(data_plane: DataPlane, run: str | None, timeout: float) -> View:
    """Return the records of a data plane (or of a run), once the events of the test's clients have arrived there.

    A forgotten `flush()` would make every assertion of absence pass. Raises `StillWaiting`.
    """
    flush_clients(data_plane, timeout)
    data_plane.drain(timeout, run=run or "")
    return data_plane if run is None else data_plane.of_run(run)


def flush_clients(data_plane: DataPlane, timeout: float) -> None:
    """Let each client of the fixture `service_client` send its events, in one attempt: it may be offline by design."""
    for client in state.CLIENTS.get(data_plane, ()):
        if client.stats().waiting:
            client.send_waiting(timeout)


def require_events(view: View, what: str, advice: str) -> None:
    """Raise an `AssertionError` if no event was sent: what holds without events shows nothing."""
    __tracebackhide__ = True
    if not view.received and not view.webhooks:
        refused = f" ({len(view.rejected)} refused)" if view.rejected else ""
        text = f"{what}: no event has arrived at the data plane so far{refused}, so this cannot fail: {advice}"
        raise items.AssertionError(text)


def require_arrivals(view: View, destinations: Iterable[str], what: str) -> None:
    """Raise an `AssertionError` if nothing has arrived at any of these destinations."""
    __tracebackhide__ = True
    keys = list(destinations)
    if not any(delivery.destination in keys for delivery in view.deliveries):
        text = (
            f"{what}: nothing has arrived at {', '.join(keys)}, so this cannot fail: send an event that arrives there"
        )
        raise items.AssertionError(f"{text}, or use assert_dropped or assert_delivered to say why nothing does")
