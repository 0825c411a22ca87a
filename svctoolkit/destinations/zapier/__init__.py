"""Zapier: track, page and screen as they are, to the webhook of a Zap; an event's name may have a Zap of its own.

Names of events are compared without regard to case.

A row that names several Zaps at once makes one payload with a list of addresses, as in the service; no request can be
made of it.
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

#: one Zap, or several at once
_Urls: TypeAlias = str | tuple[str, ...]


class ZapRow(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """The name of an event, and its Zap."""

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
    def track_zaps(self) -> Mapping[str, _Urls]:
        return _zaps(self.track_events_to_zap)

    @cached_property
    def page_zaps(self) -> Mapping[str, _Urls]:
        return _zaps(self.page_screen_events_to_zap)


def _zaps(rows: tuple[ZapRow, ...] | dict[str, str]) -> Mapping[str, _Urls]:
    """The URL for each name of an event, in lower case."""
    return {row.from_.strip().lower(): row.to for row in rows if isinstance(row, ZapRow) and row.to}


destination = DestinationType(
    "Zapier",
    ZapierSettings,
    docs="https://help.zapier.com/hc/en-us/articles/8496288690317-Trigger-Zaps-from-webhooks",
    quirks=["A row with several Zaps gives one payload with a list of addresses, which cannot be sent."],
)


@destination.on("track")
def send_action(event: Event, settings: ZapierSettings) -> Payload:
    return _send(event, settings.track_zaps.get(text(event.raw.get("event")).lower()), settings)


@destination.on("page", "screen")
def send_page(event: Event, settings: ZapierSettings) -> Payload:
    return _send(event, settings.page_zaps.get(text(event.raw.get("name")).lower()), settings)


def _send(event: Event, url: _Urls | None, settings: ZapierSettings) -> Payload:
    headers = {"content-type": "application/json"}
    if isinstance(url, tuple):
        return _ToSeveral(endpoint=url[0], endpoints=url, headers=headers, json=event.raw)
    return Payload(endpoint=url or settings.zap_url.reveal(), headers=headers, json=event.raw)
