"""Zapier: sends track, page and screen unchanged to the webhook of a Zap. An event name can have its own Zap.

Event names are compared case-insensitively.

A row with several Zaps results in one payload with a list of URLs, as in RudderStack. Such a payload cannot be sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TypeAlias

import msgspec

from svctoolkit.destinations import DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import text
from svctoolkit.secrets import Secret

#: the URL of one Zap, or of several
_Urls: TypeAlias = str | tuple[str, ...]


class ZapRow(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """An event name, and its Zap."""

    from_: str = ""
    to: _Urls = ""


class _ToSeveral(Payload, frozen=True, kw_only=True):
    """A payload for several Zaps; `endpoint` is the first."""

    endpoints: tuple[str, ...]

    def to_dict(self) -> dict[str, Json]:
        return {**super().to_dict(), "endpoint": list(self.endpoints)}


class ZapierSettings(Settings, frozen=True, kw_only=True):
    zap_url: Secret
    # a form that was never filled in is stored as an empty object
    track_events_to_zap: tuple[ZapRow, ...] | dict[str, str] = ()
    page_screen_events_to_zap: tuple[ZapRow, ...] | dict[str, str] = ()

    @cached_property
    def track_zaps(self) -> Mapping[str, list[_Urls]]:
        return _zaps(self.track_events_to_zap)

    @cached_property
    def page_zaps(self) -> Mapping[str, list[_Urls]]:
        return _zaps(self.page_screen_events_to_zap)


def _zaps(rows: tuple[ZapRow, ...] | dict[str, str]) -> Mapping[str, list[_Urls]]:
    """Return the URLs for each event name, in lower case."""
    zaps: dict[str, list[_Urls]] = {}
    for row in rows:
        if isinstance(row, ZapRow) and row.to:
            zaps.setdefault(row.from_.strip().lower(), []).append(row.to)
    return zaps


destination = DestinationType(
    "Zapier",
    ZapierSettings,
    docs="https://help.zapier.com/hc/en-us/articles/8496288690317-Trigger-Zaps-from-webhooks",
    quirks=["A row with several Zaps results in one payload with a list of URLs, which cannot be sent."],
)


@destination.on("track")
def send_action(event: Event, settings: ZapierSettings) -> list[Payload]:
    return _send(event, settings.track_zaps.get(text(event.raw.get("event")).lower()), settings)


@destination.on("page", "screen")
def send_page(event: Event, settings: ZapierSettings) -> list[Payload]:
    return _send(event, settings.page_zaps.get(text(event.raw.get("name")).lower()), settings)


def _send(event: Event, urls: list[_Urls] | None, settings: ZapierSettings) -> list[Payload]:
    """Return a request for each Zap of the event's name, else one for the configured Zap."""
    return [_request(event, url) for url in urls or [settings.zap_url.reveal()]]


def _request(event: Event, url: _Urls) -> Payload:
    headers = {"content-type": "application/json"}
    if isinstance(url, tuple):
        return _ToSeveral(endpoint=url[0], endpoints=url, headers=headers, json=event.raw)
    return Payload(endpoint=url, headers=headers, json=event.raw)
