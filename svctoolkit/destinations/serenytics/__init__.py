"""Serenytics: rows of data sources, one source per event type, and additional sources for single events.

Values without a column are sent as `trait_<name>` or `property_<name>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Payload, Rows, Settings
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    ANY_ID,
    FIRST_NAME,
    IP,
    LAST_NAME,
    TIME,
    Misconfigured,
    Source,
    Table,
    custom_traits,
    first,
    nest_dotted,
    required,
    trait,
)

_STORAGE = "https://api.serenytics.com/"


class SerenyticsSettings(Settings, frozen=True, kw_only=True):
    storage_url_identify: str = ""
    storage_url_track: str = ""
    storage_url_group: str = ""
    storage_url_alias: str = ""
    storage_url_page: str = ""
    storage_url_screen: str = ""
    event_to_storage_url_map: tuple[Rows, ...] = ()


destination = DestinationType(
    "Serenytics",
    SerenyticsSettings,
    docs="https://doc.serenytics.com/developer/push_data/",
    answers=[Answer("success", 200, {"status": "ok"}), Answer("bad key", 403, {"errors": ["invalid token"]})],
    quirks=["If both the event and its context have a trait, the custom column contains the one from the context."],
)
COMMON: dict[str, Source | str] = {
    "context_ip": IP,
    "received_at": "receivedAt",
    "sent_at": "sentAt",
    "original_timestamp": "originalTimestamp",
    "timestamp": TIME,
}
PERSON = Table(
    {
        "user_id": ANY_ID,
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "age": trait("age"),
        "email": trait("email"),
        **COMMON,
    }
)
ACTION = Table(
    {
        "id": "messageId",
        "anonymous_id": "anonymousId",
        "event": required("event"),
        "price": "properties.price",
        "currency": "properties.currency",
        "product_id": "properties.product_id",
        "product_name": "properties.product_name",
        **COMMON,
    }
)
VIEW = Table(
    {
        "anonymous_id": "anonymousId",
        "name": first("name", "properties.name"),
        "category": "properties.category",
        "path": "properties.path",
        "url": first("context.page.url", "properties.url"),
        "title": "properties.title",
        **COMMON,
    }
)
COMPANY = Table({"id": first("groupId", trait("groupId")), **COMMON})
ALIAS = Table({"user_id": ANY_ID, "previous_id": required(first("previousId", "anonymousId")), **COMMON})
_PERSONAL = frozenset({"firstName", "first_name", "lastName", "last_name", "age", "email", "userId"})
_NOT_OF_ACTIONS = frozenset({"price", "currency", "product_id", "product_name"})
_NOT_OF_VIEWS = frozenset({"category", "path", "url", "title"})


@destination.on("identify")
def send_person(event: Event, settings: SerenyticsSettings) -> Payload:
    body = {**PERSON(event), **_prefix("trait", custom_traits(event, _PERSONAL))}
    return _send(body, _storage(settings.storage_url_identify, event))


@destination.on("track")
def send_action(event: Event, settings: SerenyticsSettings) -> list[Payload]:
    """Return a row for every data source of the event's name, and one for the data source of all events."""
    body = {**ACTION(event), **_prefix("property", event.properties, _NOT_OF_ACTIONS)}
    rows = settings.event_to_storage_url_map
    urls = [row.to for row in rows if row.to and row.from_ == body["event"]] + [settings.storage_url_track]
    if urls == [""]:
        raise _no_storage(event)
    return [_send(body, url) for url in urls if url]


@destination.on("page")
def send_page(event: Event, settings: SerenyticsSettings) -> Payload:
    return _send(_view(event), _storage(settings.storage_url_page, event))


@destination.on("screen")
def send_screen(event: Event, settings: SerenyticsSettings) -> Payload:
    return _send(_view(event), _storage(settings.storage_url_screen, event))


@destination.on("group")
def send_company(event: Event, settings: SerenyticsSettings) -> Payload:
    body = {**COMPANY(event), **_prefix("trait", custom_traits(event, frozenset()))}
    return _send(body, _storage(settings.storage_url_group, event))


@destination.on("alias")
def send_alias(event: Event, settings: SerenyticsSettings) -> Payload:
    body = {**ALIAS(event), **_prefix("trait", custom_traits(event, frozenset()))}
    return _send(body, _storage(settings.storage_url_alias, event))


def _view(event: Event) -> dict[str, Any]:
    return {**VIEW(event), **_prefix("property", event.properties, _NOT_OF_VIEWS)}


def _prefix(prefix: str, members: Mapping[str, Any] | None, taken: frozenset[str] = frozenset()) -> dict[str, Any]:
    own = {f"{prefix}_{key}": value for key, value in (members or {}).items() if key not in taken}
    return dict(nest_dotted(own))


def _storage(url: str, event: Event) -> str:
    if not url:
        raise _no_storage(event)
    if not url.startswith(_STORAGE):
        raise Misconfigured(
            f"storageUrl{event.type.capitalize()}", f"expected a URL of {_STORAGE}, got {url!r}", case="url"
        )
    return url


def _no_storage(event: Event) -> MappingError:
    return Misconfigured(f"storageUrl{event.type.capitalize()}", f"is required by {event.type} events")


def _send(body: dict[str, Any], url: str) -> Payload:
    return Payload(endpoint=url, json=body)
