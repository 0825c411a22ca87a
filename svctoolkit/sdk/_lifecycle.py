"""The events of an application's life, with the mobile SDKs' names and properties."""

from __future__ import annotations

import json
from typing import Any

from svctoolkit.sdk._settings import Settings

INSTALLED, UPDATED = "Application Installed", "Application Updated"
OPENED, BACKGROUNDED = "Application Opened", "Application Backgrounded"


def release(settings: Settings) -> str:
    """The application's version and build, to compare with those of the next start."""
    return json.dumps({"version": settings.application_version, "build": settings.application_build})


def launched(settings: Settings, kept: str | None) -> list[tuple[str, dict[str, Any]]]:
    """Names and properties of the events of a start. `kept` is the `release` of the start before, None at the first."""
    now = _known({"version": settings.application_version, "build": settings.application_build})
    events: list[tuple[str, dict[str, Any]]] = []
    if kept is None:
        events.append((INSTALLED, now))
    elif kept != release(settings):
        events.append((UPDATED, _known({f"previous_{k}": v for k, v in json.loads(kept).items()}) | now))
    opened = {"from_background": False, "version": settings.application_version}
    return [*events, (OPENED, _known(opened))]


def _known(properties: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in properties.items() if v != ""}
