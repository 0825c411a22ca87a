"""Braze Audience: membership in an audience of a warehouse, as a custom attribute of Braze's users.

A record that is inserted or updated sets the attribute to true, a deleted one to false, so that the attribute can still
be queried. The connection names the attribute. The user is the record's identifier `external_id`. Events are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from svctoolkit.destinations import (
    JSON,
    Answer,
    Delivery,
    DestinationType,
    Endpoint,
    Merge,
    Outcome,
    Payload,
    Settings,
    bearer,
)
from svctoolkit.destinations._answers import items_of
from svctoolkit.destinations._families.braze import host_of
from svctoolkit.destinations._outcomes import JobOutcome
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import Misconfigured, Misfit, Missing, as_object, text
from svctoolkit.secrets import Secret

_MEMBER = {"insert": True, "update": True, "delete": False}
#: what Braze says about a user ID that no retry can make valid
_PERMANENT = ("blacklisted_external_user_id", "external_user_id_too_large", "external_id")


class Connection(msgspec.Struct, frozen=True, rename="camel"):
    """The settings of the connection between a warehouse and Braze."""

    custom_attribute_name: str = ""


class BrazeAudienceSettings(Settings, frozen=True, kw_only=True):
    rest_api_key: Secret
    data_center: str = "US-01"
    connection: Connection = Connection()


destination = DestinationType(
    "Braze Audience",
    BrazeAudienceSettings,
    docs="https://www.braze.com/docs/api/endpoints/user_data/post_user_track_bulk",
    names=("BRAZE_AUDIENCE",),
    takes="records",
    # 1.8 MB of Braze's 2 MB, as RudderStack
    merges=[Merge("attributes", limit=1000, size=1_887_436)],
    answers=[
        Answer("success", 201, {"message": "success", "attributes_processed": 1}),
        Answer("bad key", 401, {"message": "Invalid API Key"}),
        Answer("rate limit", 429, {"message": "Rate limit exceeded"}),
        Answer("invalid field", 400, {"message": "Valid data must be provided in the 'attributes' field"}),
    ],
)
API = Endpoint(lambda settings: f"https://{host_of(settings.data_center)}", JSON, bearer("rest_api_key"))


@destination.on("record")
def set_membership(event: Event, settings: BrazeAudienceSettings) -> Payload:
    """Return the attribute of the user."""
    name = settings.connection.custom_attribute_name
    if not name:
        raise Misconfigured("connection", "needs customAttributeName, the attribute that shows the membership")
    action = event.raw.get("action")
    if action not in _MEMBER:
        raise Misfit("action", "insert, update or delete", action)
    user = as_object(event.raw.get("identifiers")).get("external_id")
    id = text(user).strip() if isinstance(user, (str, int, float)) and not isinstance(user, bool) else ""
    if not id:
        raise Missing("identifiers.external_id")
    return API.post(settings, "users/track/bulk", {"attributes": [{"external_id": id, name: _MEMBER[action]}]})


@destination.judge
def judge(delivery: Delivery) -> Outcome | None:
    """Retry the users that Braze lists as errors; give up on those whose ID it never accepts."""
    errors = as_object(delivery.reply.body).get("errors")
    if not delivery.reply.successful or not isinstance(errors, list) or not errors:
        return None
    found: list[Mapping[str, Any]] = [as_object(error) for error in errors]
    reasons = {error["index"]: str(error.get("type") or "refused") for error in found if "index" in error}
    # An error without its place may mean any user that no other one names.
    rest = next((str(error.get("type") or "refused") for error in found if "index" not in error), "")
    outcomes = tuple(_outcome(reasons.get(at, rest)) for at in range(len(delivery.jobs)))
    kinds = {each.outcome for each in outcomes}
    return Outcome(kinds.pop() if len(kinds) == 1 else "delivered", rest or next(iter(reasons.values()), ""), outcomes)


def _outcome(reason: str) -> JobOutcome:
    if not reason:
        return JobOutcome("delivered")
    return JobOutcome("abort" if any(word in reason.lower() for word in _PERMANENT) else "retry", reason)


@destination.answer_batch
def answer_batch(url: str, body: Json, failed: Collection[int]) -> Answer | None:
    """Return how many users were changed, and the errors of the others by their places."""
    items = items_of(body, "attributes")
    if items is None or not url.endswith("/users/track/bulk"):
        return None
    errors = [{"type": "'external_id' is invalid", "input_array": "attributes", "index": at} for at in failed]
    counts = {"message": "success", "attributes_processed": len(items) - len(errors)}
    return Answer("partial" if errors else "success", 201, {**counts, "errors": errors} if errors else counts)
