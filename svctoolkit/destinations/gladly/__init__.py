"""Gladly: customer profiles.

identify looks up the profile by e-mail address, else telephone number, else external ID, and updates the first one
found; otherwise it creates a profile, with the external ID `GladlyCustomerId` as its ID.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import JSON, Answer, Context, DestinationType, Endpoint, Payload, Settings, basic
from svctoolkit.events import Event
from svctoolkit.mapping import (
    LookupFailed,
    Missing,
    Table,
    as_object,
    in_url,
    json_text,
    pick,
    text,
    trait,
    verbatim,
    warehouse_id,
)
from svctoolkit.secrets import Secret


class GladlySettings(Settings, frozen=True, kw_only=True):
    api_token: Secret
    domain: str
    user_name: str


destination = DestinationType(
    "Gladly",
    GladlySettings,
    docs="https://developer.gladly.com/rest/#tag/Customers",
    quirks=[
        "E-mail addresses, telephone numbers and custom attributes are only taken from the context's traits.",
        "Reverse ETL sends no custom attributes.",
        "A lookup that Gladly refuses counts as one without a result: the profile is created.",
    ],
    differences=[
        "Without an ID of the customer, RudderStack may update the customer `undefined`; here the customer is created.",
    ],
    answers=[
        Answer("success", 204),
        Answer("bad key", 401, {"errors": [{"attr": "authorization", "code": "unauthorized", "detail": "..."}]}),
        Answer("rate limit", 429, {"errors": [{"attr": "", "code": "rate_limit", "detail": "Too many requests"}]}),
        Answer("invalid field", 400, {"errors": [{"attr": "emails", "code": "invalid", "detail": "invalid email"}]}),
    ],
    needs=["lookup"],
)

API = Endpoint("https://{domain}/api/v1", JSON, basic("user_name", "api_token"))

PROFILE = Table({"name": trait("name"), "image": trait("avatar"), "address": verbatim(trait("address"))})
CUSTOMER = Table({"id": "context.externalId.GladlyCustomerId"})
#: Values with their own fields, which are sent unless empty.
_NOT_CUSTOM = frozenset({"address", "avatar", "email", "firstName", "lastName", "name", "phone", "userId"})


@destination.on("identify")
def send_profile(event: Event, settings: GladlySettings, context: Context) -> Payload:
    """Update the existing profile, or create one."""
    body = _profile(event)
    own = {} if event.context.get("mappedToDestination") else CUSTOMER(event)
    query = _query(body)
    if not query and not own:
        raise Missing("context.traits.email", "context.traits.phone", "userId", "context.externalId.GladlyCustomerId")
    profiles = _find(query, settings, context)
    if not profiles:
        return API.post(settings, "customer-profiles", {**own, **body})
    body.pop("id", None)
    profile_id = as_object(profiles[0] if isinstance(profiles, list) else None).get("id")
    if not profile_id:
        raise LookupFailed("userId", "Gladly's profile of this customer has no ID")
    return API.request(settings, "PATCH", f"customer-profiles/{text(profile_id)}", body)


def _find(query: str, settings: GladlySettings, context: Context) -> Any:
    """Return the profiles that match, or None: also if Gladly refuses the lookup, or there is nothing to ask for."""
    if not query:
        return None
    try:
        return context.ask(API.lookup(settings, f"customer-profiles?{query}"), may_miss=True, field="userId")
    except LookupFailed as error:
        if error.refusal.status == 400:
            return None
        raise


def _profile(event: Event) -> dict[str, Any]:
    body = PROFILE(event)
    if isinstance(body.get("address"), (list, dict)):
        body["address"] = json_text(body["address"])
    traits = as_object(event.context.get("traits"))
    if event.context.get("mappedToDestination"):
        traits = {**as_object(event.raw.get("traits")), **warehouse_id(event)}
        body |= _contacts(traits.get("emails"), traits.get("phones")) | pick(traits, ("externalCustomerId", "id"))
        return body
    body |= _contacts(traits.get("email"), traits.get("phone"))
    custom = {key: value for key, value in traits.items() if key not in _NOT_CUSTOM or not value}
    if custom:
        body["customAttributes"] = custom
    if event.raw.get("userId") is not None:
        body["externalCustomerId"] = event.raw["userId"]
    return body


def _contacts(emails: Any, phones: Any) -> dict[str, list[dict[str, Any]]]:
    """Return them in Gladly's format: `[{"original": "a@mail.example"}]`."""
    return {
        key: [{"original": item} for item in (value if isinstance(value, list) else [value])]
        for key, value in (("emails", emails), ("phones", phones))
        if value
    }


def _query(body: dict[str, Any]) -> str:
    """Return the query for the profile, by the first address, number or ID in the event; empty without any."""
    for key, name in (("emails", "email"), ("phones", "phoneNumber")):
        if key in body:
            return f"{name}={in_url(body[key][0]['original'])}"
    if body.get("externalCustomerId"):
        return f"externalCustomerId={in_url(body['externalCustomerId'])}"
    return ""
