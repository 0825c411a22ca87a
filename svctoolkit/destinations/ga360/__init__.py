"""Google Analytics 360: Universal Analytics for paying customers, which Google shut down in 2024.

Hits are those of `_families.universal_analytics`. The client ID is the `clientId` in the event's options for Google
Analytics.
"""

from __future__ import annotations

from svctoolkit.destinations import Context, DestinationType, Payload
from svctoolkit.destinations._families.universal_analytics import ANSWERS, QUIRKS, UniversalSettings, hit
from svctoolkit.events import Event


class GoogleAnalytics360Settings(UniversalSettings, frozen=True, kw_only=True):
    """The property that receives the hits."""


destination = DestinationType(
    "Google Analytics 360",
    GoogleAnalytics360Settings,
    docs="https://developers.google.com/analytics/devguides/collection/protocol/v1/parameters",
    names=("Google Analytics", "GA360"),
    answers=ANSWERS,
    quirks=QUIRKS,
)


@destination.on("identify", "page", "screen", "track")
def send_hit(event: Event, settings: GoogleAnalytics360Settings, context: Context) -> Payload:
    return hit(event, settings, context, destination.options(event), {})
