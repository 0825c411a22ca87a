"""What the replacements of vendors' trackers share: their client, and the keywords of its events."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Unpack

from svctoolkit.sdk.base.settings import Configuration
from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.events.details import CallDetails

Values = Mapping[str, object]
#: Seconds that `flush` and `shutdown` of the replacements may take.
LONGEST_FLUSH = 600.0


def started(key: str, url: str | None, **settings: Unpack[Configuration]) -> ServiceClient:
    """Return an initialized client for servers. Wrong arguments of its calls are logged, not raised.

    Without a `url`, the data plane is that of SVCTOOLKIT_DATA_PLANE_URL.
    """
    settings.setdefault("profile", "server")
    settings.setdefault("strict", False)
    service = ServiceClient(**settings)
    service.initialize(key, {"dataPlaneUrl": url.rstrip("/")} if url else None)
    return service


def details(
    *,
    user: object = None,
    anonymous: object = None,
    at: dt.datetime | str | float | None = None,
    id: object = None,
    context: Values | None = None,
) -> CallDetails:
    """Return the keywords of an event, without those that are empty. IDs may be numbers or UUIDs."""
    found: CallDetails = {}
    if user not in (None, ""):
        found["user_id"] = str(user)
    if anonymous not in (None, ""):
        found["anonymous_id"] = str(anonymous)
    if at is not None:
        found["timestamp"] = at
    if id not in (None, ""):
        found["message_id"] = str(id)
    if context:
        found["context"] = context
    return found
