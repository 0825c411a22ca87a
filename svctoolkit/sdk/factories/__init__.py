"""Included device-mode factories: the standard logger and an NDJSON file.

Pass them to the client: `ServiceClient(factories=[LoggingFactory(), NdjsonFactory("events.ndjson")])`. Without a
`display_name` they start immediately and get every event; with one, they act as the destination of that display name
in the source configuration, with its event filter.
"""

from __future__ import annotations

from svctoolkit.sdk.factories.log import LoggingFactory
from svctoolkit.sdk.factories.ndjson import NdjsonFactory

__all__ = ["LoggingFactory", "NdjsonFactory"]
