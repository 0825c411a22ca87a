"""InMoment, formerly Wootric: end users, and their responses to surveys.

identify creates an end user, or updates the one with the external ID `wootricEndUserId` or with the user ID. track
records a survey response or a decline, depending on the event's options (`eventType`: `create response` or
`create decline`). A login with the account's password returns the token for all requests.
https://docs.wootric.com/api/

RudderStack caches the token, so its recorded cases that differ have the token of an earlier login.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from svctoolkit.destinations import FORM, Answer, Context, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    IP,
    PHONE,
    TIME,
    USER_ID,
    Misfit,
    Missing,
    NotFound,
    Table,
    as_object,
    converter,
    first,
    javascript_text,
    js_join,
    leading_number,
    lenient_seconds,
    required,
    trait,
    value_of,
    without,
)
from svctoolkit.secrets import Secret

_KNOWN_TRAITS = ("email", "phone", "createdAt", "userId", "id", "anonymousId")


class WootricSettings(Settings, frozen=True, kw_only=True):
    username: str
    password: Secret
    account_token: Secret


destination = DestinationType(
    "InMoment(formerly Wootric)",
    WootricSettings,
    docs="https://docs.wootric.com/api/",
    names=("Wootric",),
    quirks=[
        "Properties of end users are converted to strings as in JavaScript: null is sent as the string null, and an "
        "object as [object Object].",
        "A numeric user ID is ignored.",
        "A login response without a token is not an error: requests are sent with the token undefined.",
    ],
    answers=[
        Answer("success", 201, {"id": 486438462, "score": 7}, at="/responses"),
        Answer("success", 200, {"id": 486438462}),
        Answer("bad key", 401, {"type": "error_list", "errors": [{"status": "unauthorized"}]}),
        Answer("rate limit", 429, {"type": "error_list", "errors": [{"status": "too_many_requests"}]}),
        Answer("invalid field", 422, {"type": "error_list", "errors": [{"status": "invalid", "field": "score"}]}),
    ],
    differences=[
        "RudderStack caches the access token, so some of its recorded cases have no login; here each event logs in."
    ],
    needs=["lookup"],
)

API = Endpoint("https://api.wootric.com/v1/end_users", FORM)
LOGIN = Endpoint("https://api.wootric.com/oauth", FORM)


@converter
def words(value: Json) -> str:
    """Convert a value to a string; the elements of a list are joined by commas."""
    return js_join(value)


@converter
def epoch(value: Json) -> Json:
    """Convert a time to a string of Unix seconds, and a boolean to a number; anything else is left out."""
    seconds = lenient_seconds.of(value)
    return seconds if isinstance(value, bool) else js_join(seconds)


USER = Table(
    {
        "email": EMAIL,
        "phone_number": words(PHONE),
        "last_surveyed": epoch(TIME),
        "external_created_at": epoch(trait("createdAt")),
    }
)
END_USER_ID = "context.externalId.wootricEndUserId"
ORIGIN = first("context.page.url", "properties.url")
RESPONSE = Table(
    {
        "score": required("properties.feedbackScore"),
        "ip_address": required(IP),
        "origin_url": required(ORIGIN),
        "text": "properties.feedbackText",
        "created_at": epoch(trait("createdAt")),
    }
)
DECLINE = Table({"origin_url": ORIGIN, "created_at": epoch(trait("createdAt"))})


@destination.on("identify")
def send_user(event: Event, settings: WootricSettings, context: Context) -> Payload:
    """Create or update the end user."""
    token = _log_in(settings, context)
    user = _known_user(event, settings, token, context)
    form = USER(event)
    if user:
        form.update(_properties(event, user, "properties"))
        return API.put(settings, f"{user['id']}", form, headers=token)
    if "email" not in form and "phone_number" not in form:
        raise Missing("traits.email", "traits.phone")
    form = {**form, "external_id": value_of(event, USER_ID), **_properties(event, {}, "properties")}
    return API.post(settings, body=form, headers=token)


@destination.on("track")
def send_answer(event: Event, settings: WootricSettings, context: Context) -> Payload:
    """Return the end user's survey response, or the decline."""
    kind = destination.options(event).get("eventType")
    action = kind.lower() if isinstance(kind, str) else ""
    if action not in ("create response", "create decline"):
        raise Misfit("integrations.wootric.eventType", "create response or create decline", kind)
    token = _log_in(settings, context)
    user = _known_user(event, settings, token, context)
    if not user:
        raise NotFound("end user", event.raw.get("userId"), field="userId")
    if action == "create decline":
        form = {**DECLINE(event), **_properties(event, user, "end_user[properties]")}
        return API.post(settings, f"{user['id']}/declines", form, headers=token)
    response = RESPONSE(event)
    _check_score(response["score"])
    form = {**response, **_properties(event, user, "end_user[properties]")}
    return API.post(settings, f"{user['id']}/responses", form, headers=token)


def _check_score(score: Json) -> None:
    number = int(score) if isinstance(score, bool) else leading_number(score)
    if number is None or not 0 <= number <= 10:
        raise Misfit("properties.feedbackScore", "a number from 0 to 10", score)


def _properties(event: Event, known: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return the end user's properties, overridden by the event's traits; empty for an event without traits."""
    traits = without(event.traits, _KNOWN_TRAITS)
    properties = {**as_object(known.get("properties")), **traits} if traits else {}
    return {f"{name}[{key}]": javascript_text(value) for key, value in properties.items()}


def _known_user(
    event: Event, settings: WootricSettings, token: Mapping[str, str], context: Context
) -> Mapping[str, Any]:
    """Return the end user as stored in Wootric; empty if it does not exist."""
    for place in _places(event):
        question = API.lookup(settings, place, headers=token)
        user = as_object(context.ask(question, may_miss=True, field="userId"))
        return user if user.get("id") else {}
    raise Missing("userId", "context.externalId.wootricEndUserId")


def _places(event: Event) -> Iterator[str]:
    """Yield the paths at which to look up the end user."""
    own, user_id = value_of(event, END_USER_ID), value_of(event, USER_ID)
    if isinstance(own, str):
        yield f"{quote(own)}"
    elif user_id and not isinstance(user_id, (int, float)):
        yield f"{quote(js_join(user_id), safe='@,')}?lookup_by_external_id=true"


def _log_in(settings: WootricSettings, context: Context) -> dict[str, str]:
    """Log in with the account's password, and return the header with the token."""
    form = f"grant_type=password&username={quote(settings.username)}&password={quote(settings.password.reveal())}"
    request = LOGIN.lookup(settings, f"token?account_token={quote(settings.account_token.reveal())}", "POST", form)
    token = as_object(context.ask(request, setting="username")).get("access_token")
    bearer = "undefined" if token is None else js_join(token)
    return {"Authorization": f"Bearer {bearer}"}
