"""Google Analytics (Universal Analytics), which Google shut down in 2023.

Hits are those of `_families.universal_analytics`. The traits `ds`, `uip` and `cid` are sent as parameters. Reverse ETL
maps columns to parameters: of such an event, traits with the names of the event's own parameters (`an`, `ul`) win.
"""

from __future__ import annotations

from svctoolkit.destinations import Context, DestinationType, Payload
from svctoolkit.destinations._families.universal_analytics import (
    ANSWERS,
    QUIRKS,
    UniversalSettings,
    hit,
    mapped_parameters,
)
from svctoolkit.destinations.ga._deletion import deletion
from svctoolkit.events import Event
from svctoolkit.mapping import Table


class GoogleAnalyticsSettings(UniversalSettings, frozen=True, kw_only=True):
    """The property that receives the hits."""


destination = DestinationType(
    "Google Analytics",
    GoogleAnalyticsSettings,
    docs="https://developers.google.com/analytics/devguides/collection/protocol/v1/parameters",
    answers=ANSWERS,
    quirks=QUIRKS,
)
destination.deletes_with(deletion)
PERSON = Table({"ds": "traits.ds", "uip": "traits.uip", "cid": "traits.cid"})


@destination.on("identify", "page", "screen", "track")
def send_hit(event: Event, settings: GoogleAnalyticsSettings, context: Context) -> Payload:
    own = PERSON(event)
    if event.context.get("mappedToDestination"):
        own |= mapped_parameters(event)
    return hit(event, settings, context, destination.options(event), own)
