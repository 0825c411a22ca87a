"""What both revisions of Klaviyo's API share: the profile of a person, and the agreement to channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import CITY, COUNTRY, FIRST_NAME, LAST_NAME, Table, as_object, flatten, is_empty, trait

if TYPE_CHECKING:
    from svctoolkit.destinations.klaviyo import KlaviyoSettings

HOST = "https://a.klaviyo.com/api"

CONTACT = Table({"email": trait("email"), "phone_number": trait("phone")})
PROFILE = Table(
    {
        **CONTACT.shape,
        "first_name": FIRST_NAME,
        "last_name": LAST_NAME,
        "title": trait("title"),
        "organization": trait("organization"),
        "location": {
            "city": CITY,
            "region": trait("region", "address.region", "state", "address.state"),
            "country": COUNTRY,
            "zip": trait("zip", "address.zip", "postalCode", "address.postalCode"),
            "address1": trait("street", "address.street"),
        },
    }
)
_NOT_CUSTOM = frozenset({"userId", "anonymousId", "properties"})


def custom(traits: Mapping[str, Any]) -> dict[str, Any]:
    """The traits that Klaviyo has no attribute for."""
    return {key: value for key, value in PROFILE.rest(traits, "traits").items() if key not in _NOT_CUSTOM}


def flat(members: Mapping[str, Any], settings: KlaviyoSettings) -> Mapping[str, Any]:
    return flatten(members) if settings.flatten_properties else members


def require_contact(event: Event, settings: KlaviyoSettings) -> None:
    """E-mail address or telephone number, where they take the place of the user ID."""
    if settings.enforce_email_as_primary and not CONTACT(event):
        raise MappingError(
            "needs a value at traits.email or traits.phone (enforceEmailAsPrimary)",
            field="traits.email or traits.phone",
        )


def channels(event: Event, settings: KlaviyoSettings) -> list[str]:
    """The channels that the person agreed to: the event's own go before the configured ones."""
    traits = as_object(event.raw.get("traits")) if event.type == "group" else as_object(event.traits.get("properties"))
    told = traits.get("consent")
    if is_empty(told):
        return list(settings.consent)
    return [name for name in (told if isinstance(told, list) else [told]) if isinstance(name, str)]


def subscription(event: Event, settings: KlaviyoSettings) -> tuple[Any, Any]:
    """The list, and whether the person wants to be on it (None: the event does not say)."""
    told = as_object(event.traits.get("properties"))
    return told.get("listId") or settings.list_id, told.get("subscribe")


def headers(settings: KlaviyoSettings, revision: str) -> dict[str, str]:
    key = f"Klaviyo-API-Key {settings.private_api_key.reveal()}"
    return {
        "Authorization": key,
        "Content-Type": "application/json",
        "Accept": "application/json",
        "revision": revision,
    }
