"""Rich display of a client. Its write key is never shown."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.sdk.base.reporter import Stats
from svctoolkit.sdk.client import ServiceClient


@shows(ServiceClient)
def client_page(client: ServiceClient) -> Html:
    """Show the counts of a client."""
    return _counts(client.stats(), "ServiceClient")


@shows(ServiceClient, "text")
def client_text(client: ServiceClient) -> str:
    return f"<ServiceClient: {client.stats().recorded:,} events recorded>"


@shows(Stats)
def stats_page(stats: Stats) -> Html:
    """Show a snapshot of the counts."""
    return _counts(stats, "Statistics of a client")


def _counts(stats: Stats, title: str) -> Html:
    """Return the counts, and what keeps the client from sending."""
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
    return display.page(*blocks)
