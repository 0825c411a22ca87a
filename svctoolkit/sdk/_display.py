"""How a client shows itself. Its write key is never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svctoolkit.sdk._report import Stats
    from svctoolkit.sdk.client import ServiceClient


def shown(client: ServiceClient, **_: Any) -> dict[str, str]:
    """The mime bundle of a client."""
    found = client.stats()
    return bundle(found, "ServiceClient", f"<ServiceClient: {found.recorded:,} events recorded>")


def bundle(found: Stats, title: str, text: str) -> dict[str, str]:
    """The counts, and what keeps the client from sending."""
    from svctoolkit import display

    counts = {"recorded": found.recorded, "delivered": found.delivered, "retried": found.retried}
    queue = {"waiting": found.waiting, "parked": found.parked, "in memory": found.in_memory}
    rows = [[name, count] for name, count in {**counts, **queue}.items()]
    rows += [[f"dropped: {reason}", count] for reason, count in found.dropped.items()]
    if found.refused_fields:
        rows.append(["refused fields", found.refused_fields])
    parts = [display.table(["events", "count"], rows, caption=title)]
    if found.paused:
        parts.append(display.message(f"nothing is sent: {found.paused}", "warning"))
    if found.last_error:
        parts.append(display.message(f"last error: {found.last_error}", "error"))
    return display.bundle(display.page(*parts), text)
