"""Zapier: track, page and screen as they are, to the webhook of a Zap; an event's name may have a Zap of its own.

Names of events are compared without regard to case.

Decisions. A row that names several Zaps at once is refused; the service makes a request to a list of addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from svctoolkit.destinations import DestinationType, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import text
from svctoolkit.secrets import Secret


class ZapierSettings(Settings, frozen=True, kw_only=True):
    zap_url: Secret
    # a form that was never filled in is stored as an empty object
    track_events_to_zap: tuple[Rows, ...] | dict[str, str] = ()
    page_screen_events_to_zap: tuple[Rows, ...] | dict[str, str] = ()

    @cached_property
    def track_zaps(self) -> Mapping[str, str]:
        return _zaps(self.track_events_to_zap)

    @cached_property
    def page_zaps(self) -> Mapping[str, str]:
        return _zaps(self.page_screen_events_to_zap)


def _zaps(rows: tuple[Rows, ...] | dict[str, str]) -> Mapping[str, str]:
    """The URL for each name of an event, in lower case."""
    return {row.from_.strip().lower(): row.to for row in rows if isinstance(row, Rows) and row.to}


destination = DestinationType(
    "Zapier", ZapierSettings, docs="https://help.zapier.com/hc/en-us/articles/8496288690317-Trigger-Zaps-from-webhooks"
)


@destination.on("track")
def send_action(event: Event, settings: ZapierSettings) -> Payload:
    return _send(event, settings.track_zaps.get(text(event.raw.get("event")).lower()), settings)


@destination.on("page", "screen")
def send_page(event: Event, settings: ZapierSettings) -> Payload:
    return _send(event, settings.page_zaps.get(text(event.raw.get("name")).lower()), settings)


def _send(event: Event, url: str | None, settings: ZapierSettings) -> Payload:
    headers = {"content-type": "application/json"}
    return Payload(endpoint=url or settings.zap_url.reveal(), headers=headers, json=event.raw)
