"""Gainsight PX: signups, features, surveys and engagements."""

from __future__ import annotations

from typing import Any

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import (
    Fields,
    FieldTable,
    SourceType,
    Webhook,
    crash,
    external_id,
    get,
    iso_of_date,
    js_text,
    md5_text,
    member,
    message,
    rest,
    truthy,
    without_empty,
)

source = SourceType(
    "GainsightPX",
    "Gainsight PX",
    label="GAINSIGHTPX",
    docs="https://support.gainsight.com/PX/API_for_Developers/02Usage_of_Different_APIs/Webhooks",
    topic="body.event.eventType",
    quirks=(
        "Without an identifyId, anonymousId is the session's id, or the MD5 of the email address.",
        "Empty texts, lists and objects are dropped at every level.",
    ),
)

_COMMON: Fields = {
    "event.attributes": "properties",
    "event.propertyKey": "properties.propertyKey",
    "event.globalContext": "properties.globalContext",
    "event.remoteHost": ("context.ip", "properties.ip"),
    "event.url": "properties.url",
}
_CONTENT: Fields = {
    "event.engagementName": "event",
    "event.engagementId": "properties.engagementId",
    "event.contentType": "properties.contentType",
    "event.interaction": "properties.interaction",
}
_ANSWERS = (
    "score", "activation", "questionType", "questionHtml", "questionText", "questionId", "answers", "scoreType",
    "stepNumber", "userInput", "contactMeAllowed",
)  # fmt: skip
_SURVEY: Fields = {f"event.{key}": f"properties.survey.{key}" for key in _ANSWERS}
_FEEDBACK: Fields = {
    f"event.{key}": f"properties.feedback.{key}" for key in ("labels", "description", "subject", "source")
}
#: The fields of each event type.
_FIELDS = {
    "CUSTOM": FieldTable({**_COMMON, "event.eventName": "event"}),
    "FEEDBACK": FieldTable({**_COMMON, "event.category": "event", **_FEEDBACK}),
    "SEGMENT": FieldTable({**_COMMON, "event.segmentName": "event", "event.segmentId": "properties.segmentId"}),
    "SURVEY": FieldTable(
        {
            **_COMMON,
            **_CONTENT,
            "event.surveyType": "properties.surveyType",
            **_SURVEY,
        }
    ),
    "ENGAGEMENT": FieldTable(
        {
            **_COMMON,
            **_CONTENT,
            "event.engagementType": "properties.engagementType",
            "event.stepNumber": "properties.engagement.stepNumber",
            "event.activation": "properties.engagement.activation",
        }
    ),
    "FEATURE_MATCH": FieldTable({**_COMMON, "event.featureName": "event", "event.featureId": "properties.featureId"}),
    "SEGMENT_IO": FieldTable(
        {"event.propertyKey": "properties.propertyKey", "event.segmentIOEvent": "properties.segmentIOEvent"}
    ),
    "SIGN_UP": FieldTable({"event.remoteHost": "context.ip"}),
}
_USER = frozenset(
    {"aptrinsicId", "identifyId", "lastSeenDate", "signUpDate", "firstVisitDate", "createDate", "lastModifiedDate",
     "location", "lastVisitedUserAgentData"}
)  # fmt: skip
_LOCATION = frozenset({"countryName", "stateName", "coordinates"})
_ACCOUNT = frozenset({"propertyKeys", "lastSeenDate", "createDate", "lastModifiedDate", "location"})


@source.maps
def map_event(webhook: Webhook) -> dict[str, Json]:
    """Return an identify event for a signup, a track event for all others."""
    body = webhook.body
    inner, user = member(body, "event"), get(body, "user")
    kind = member(inner, "eventType")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise InvalidWebhook(f"Event type {js_text(kind, 'null')} not supported", field="body.event.eventType")
    if user is None:
        raise crash("Cannot read properties of undefined (reading 'location')", "body.user")
    is_signup = kind == "SIGN_UP"
    event = message("GAINSIGHTPX", kind="identify" if is_signup else "track")
    _FIELDS[kind].fill(event, body)
    if is_signup:
        event["createdAt"] = event["originalTimestamp"] = _time(user, "signUpDate")
        event["traits"] = _traits(body, user)
    else:
        event["category"] = kind
        event["sentAt"] = event["originalTimestamp"] = _time(inner, "date")
        event["context"]["traits"] = _traits(body, user)
    if kind == "SEGMENT_IO":
        event["event"] = "SegmentIO Cloud Server"
    if (agent := get(user, "lastVisitedUserAgentData")) is not None:
        event["context"]["userAgent"] = agent
    _identify(event, user, inner)
    return without_empty(event)


def _time(value: Json, key: str) -> str:
    if not isinstance(value, dict) or key not in value:
        raise crash("Invalid time value", f"body.{key}")
    return iso_of_date(value[key])


def _traits(body: Json, user: Json) -> dict[str, Any]:
    traits = rest(user, _USER)
    location = get(user, "location")
    traits.update(rest(location, _LOCATION))
    traits.update({name: get(location, key) for name, key in (("country", "countryName"), ("state", "stateName"))})
    if (account := get(body, "account")) is not None and "account" not in traits:
        traits["account"] = rest(account, _ACCOUNT) if isinstance(account, dict) else account
    return traits


def _identify(event: dict[str, Any], user: Json, inner: Json) -> None:
    number = get(user, "aptrinsicId")
    event["context"]["externalId"] = external_id("gainsightpxAptrinsicId", number)
    if not isinstance(user, dict) or "aptrinsicId" not in user:
        del event["context"]["externalId"][0]["id"]
    if (identity := get(user, "identifyId")) is not None:
        event["userId"] = identity
    if not truthy(identity):
        session = get(inner, "sessionId")
        event["anonymousId"] = session if truthy(session) else _hashed_email(user)


def _hashed_email(user: Json) -> str:
    email = get(user, "email")
    if email is None:
        raise crash("Illegal argument undefined", "body.user.email")
    return md5_text(email)
