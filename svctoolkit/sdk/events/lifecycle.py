"""Application lifecycle events, with the mobile SDKs' names and properties."""

from __future__ import annotations

import json
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.sdk.base.settings import Settings
from svctoolkit.sdk.base.values import stored_object

INSTALLED, UPDATED = "Application Installed", "Application Updated"
OPENED, BACKGROUNDED = "Application Opened", "Application Backgrounded"


def release(settings: Settings) -> str:
    """Return the application's version and build as JSON, to compare with those of the next start."""
    return json.dumps({"version": settings.application_version, "build": settings.application_build})


def launch_events(settings: Settings, before: str | None) -> list[tuple[str, dict[str, Json]]]:
    """Return names and properties of a start's events. `before` is the last start's `release` (None: first start)."""
    now = _without_blanks({"version": settings.application_version, "build": settings.application_build})
    events: list[tuple[str, dict[str, Any]]] = []
    if before is None:
        events.append((INSTALLED, now))
    elif before != release(settings):
        events.append((UPDATED, _without_blanks({f"previous_{k}": v for k, v in stored_object(before).items()}) | now))
    opened = {"from_background": False, "version": settings.application_version}
    return [*events, (OPENED, _without_blanks(opened))]


def _without_blanks(properties: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in properties.items() if v != ""}
