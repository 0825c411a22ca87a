"""Device-mode factories that ship: the standard logger and an NDJSON file.

Give them to the client: `ServiceClient(factories=[LoggingFactory(), NdjsonFactory("events.ndjson")])`. Without a
`display_name` they start at once and take every event; with one, they are the destination of that display name in the
source configuration, and its event filter holds.
"""

from __future__ import annotations

from svctoolkit.sdk.factories.log import LoggingFactory
from svctoolkit.sdk.factories.ndjson import NdjsonFactory

__all__ = ["LoggingFactory", "NdjsonFactory"]
