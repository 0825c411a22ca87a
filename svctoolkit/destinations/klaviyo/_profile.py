"""Shared by both revisions of Klaviyo's API: where an event has the profile's fields, and consent to channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from svctoolkit.destinations import ACCEPT_JSON, JSON, authorization
from svctoolkit.destinations.klaviyo._settings import KlaviyoSettings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import FIRST_NAME, LAST_NAME, Missing, Table, first, is_empty, trait

ADDRESS = "https://a.klaviyo.com/api"
PARTS = (authorization("Klaviyo-API-Key", "private_api_key"), JSON, ACCEPT_JSON)
CONTACT = Table({"email": trait("email"), "phone_number": trait("phone")})
_ZIP = ("zip", "postalcode", "postalCode", "address.zip", "address.postalcode", "address.postalCode")


# Location fields are read from both kinds of traits, then from the properties; `region` comes before `state`.
CITY = first(trait("city", "address.city"), "properties.city")
REGION = first(
    trait("region", "address.region"),
    "properties.region",
    "traits.state",
    "traits.address.state",
    "context.traits.address.state",
    "context.traits.state",
    "properties.state",
)
COUNTRY = first(trait("country", "address.country"), "properties.country")
ZIP = first(trait(*_ZIP), "properties.zip", "properties.postalcode", "properties.postalCode")
STREET = first(trait("street", "address.street"), "properties.street")
IMAGE = first(trait("image"), "properties.image")

PERSON = {
    **CONTACT.shape,
    "first_name": FIRST_NAME,
    "last_name": LAST_NAME,
    "title": first(trait("title"), "properties.title"),
    "organization": first(trait("organization"), "properties.organization"),
    "image": IMAGE,
}
LOCATION = {
    "city": CITY,
    "region": REGION,
    "country": COUNTRY,
    "zip": ZIP,
    "address1": STREET,
    "timezone": first(trait("timezone"), "properties.timezone"),
}
#: traits that are profile attributes, or that control what happens to the profile
NOT_CUSTOM = frozenset({
    "email", "phone", "firstName", "firstname", "first_name", "lastName", "lastname", "last_name", "title",
    "organization", "city", "region", "country", "zip", "image", "timezone", "userId", "anonymousId", "properties",
})  # fmt: skip


def properties(custom: Mapping[str, Json] | None, settings: KlaviyoSettings) -> dict[str, Json]:
    """Return the `properties` member of a profile, for traits that are not profile attributes; nulls are left out."""
    if custom is None:
        return {}
    return {"properties": {key: value for key, value in flat(custom, settings).items() if value is not None}}


def flat(members: Mapping[str, Json], settings: KlaviyoSettings) -> Mapping[str, Json]:
    """Flatten to one level if the settings say so. Lists of scalars stay lists, because Klaviyo can filter by them."""
    if not settings.flatten_properties:
        return members
    out: dict[str, Any] = {}
    _flatten(members.items(), "", "", out)
    return out


def _flatten(pairs: Iterable[tuple[str | int, Any]], start: str, end: str, out: dict[str, Any]) -> None:
    """Add each of these members or elements to `out`, under its name or number between `start` and `end`."""
    for step, value in pairs:
        at = f"{start}{step}{end}"
        if type(value) is not str and value and isinstance(value, (dict, list)):
            if isinstance(value, dict):
                _flatten(value.items(), f"{at}.", "", out)
                continue
            if isinstance(value[0], (dict, list)):
                _flatten(enumerate(value), f"{at}[", "]", out)
                continue
        out[at] = value


def require_contact(event: Event, settings: KlaviyoSettings) -> None:
    """Require an e-mail address or phone number if the settings use those instead of the user ID."""
    if settings.enforce_email_as_primary and not CONTACT(event):
        raise Missing("traits.email", "traits.phone", setting="enforceEmailAsPrimary")


def channels(consent: Json, settings: KlaviyoSettings) -> Json:
    """Return the channels that the user consented to, from the event or else from the settings; None without any.

    A number or a boolean names no channel.
    """
    if is_empty(consent) and consent != {}:
        return list(settings.consent) or None
    return consent if isinstance(consent, (str, list, dict)) else []
