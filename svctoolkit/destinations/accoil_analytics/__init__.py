"""Accoil Analytics: users, accounts and their activity, as events in the format of RudderStack's event specification.

identify and group are sent with all traits; track, page and screen are sent as a name only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings, basic
from svctoolkit.events import Event
from svctoolkit.mapping import ANY_ID, TIME, USER_ID, Missing, Table, required, verbatim
from svctoolkit.secrets import Secret


class AccoilAnalyticsSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


destination = DestinationType(
    "Accoil Analytics",
    AccoilAnalyticsSettings,
    docs="https://developers.accoil.com/accoil-api/api-reference/",
    quirks=[
        "A key that begins with stg_ selects Accoil's staging server.",
        "Properties of track, page and screen events are not sent.",
        "If an identify event has no traits, the traits of its context are sent.",
    ],
    answers=[
        Answer("success", 202, {"message": "Accepted"}),
        Answer("bad key", 401, {"message": "Unauthorized"}),
        Answer("invalid body", 400, {"message": "userId is required"}),
    ],
)


def _address(settings: AccoilAnalyticsSettings) -> str:
    staging = settings.api_key.reveal().startswith("stg_")
    return f"https://{'instaging' if staging else 'in'}.accoil.com/segment"


API = Endpoint(_address, basic("api_key"), JSON)

WHO = Table({"userId": required(verbatim(USER_ID)), "timestamp": required(verbatim(TIME))})
WHO_OF_GROUP = Table({"userId": required(verbatim(ANY_ID)), "timestamp": required(verbatim(TIME))})
ACTION = Table({"event": required("event")})
VIEW = Table({"name": required("name")})
ACCOUNT = Table({"groupId": required("groupId")})


@destination.on("identify")
def send_user(event: Event, settings: AccoilAnalyticsSettings) -> Payload:
    """Return the user, with all traits."""
    traits = event.raw.get("traits")
    return _send(event, settings, WHO, _traits(event.context.get("traits") if traits is None else traits))


@destination.on("track")
def send_action(event: Event, settings: AccoilAnalyticsSettings) -> Payload:
    """Return the event's name as the user's activity."""
    return _send(event, settings, WHO, ACTION(event))


@destination.on("page", "screen")
def send_view(event: Event, settings: AccoilAnalyticsSettings) -> Payload:
    """Return the name of the page or screen."""
    return _send(event, settings, WHO, VIEW(event))


@destination.on("group")
def send_account(event: Event, settings: AccoilAnalyticsSettings) -> Payload:
    """Return the user's account, with all traits."""
    return _send(event, settings, WHO_OF_GROUP, {**ACCOUNT(event), **_traits(event.raw.get("traits"))})


def _traits(traits: Any) -> dict[str, Any]:
    return {} if traits is None else {"traits": traits}


def _send(event: Event, settings: AccoilAnalyticsSettings, who: Table, more: Mapping[str, Any]) -> Payload:
    identity = who(event)
    for field, value in identity.items():
        if value == "":
            raise Missing(field)
    return API.post(settings, body={"type": event.type, **identity, **more})
