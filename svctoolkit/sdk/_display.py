"""How a client shows itself. Its write key is never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svctoolkit.sdk.base.reporter import Stats
    from svctoolkit.sdk.client import ServiceClient


# Any: IPython's signature
def mime_bundle(client: ServiceClient, **_: Any) -> dict[str, str]:
    """The mime bundle of a client."""
    stats = client.stats()
    return bundle(stats, "ServiceClient", f"<ServiceClient: {stats.recorded:,} events recorded>")


def bundle(stats: Stats, title: str, text: str) -> dict[str, str]:
    """The counts, and what keeps the client from sending."""
    from svctoolkit import display

    counts = {"recorded": stats.recorded, "delivered": stats.delivered, "retried": stats.retried}
    queue = {"waiting": stats.waiting, "parked": stats.parked, "in memory": stats.in_memory}
    rows = [[name, count] for name, count in {**counts, **queue}.items()]
    rows += [[f"dropped: {reason}", count] for reason, count in stats.dropped.items()]
    if stats.refused_fields:
        rows.append(["refused fields", stats.refused_fields])
    blocks = [display.table(["events", "count"], rows, caption=title)]
    if stats.paused:
        blocks.append(display.message(f"nothing is sent: {stats.paused}", "warning"))
    if stats.last_error:
        blocks.append(display.message(f"last error: {stats.last_error}", "error"))
    return display.bundle(display.page(*blocks), text)
