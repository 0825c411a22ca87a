"""Canny: users, their posts and their votes.

identify creates or updates a user. track writes a post or a vote, as configured for the event's name. Its author is
`cannyUserId` among the external IDs, else the user that Canny finds by e-mail address or user ID.
https://developers.canny.io/api-reference
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from svctoolkit.destinations import (
    FORM,
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Payload,
    Rows,
    Settings,
    authorization,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    EMAIL,
    TIME,
    USER_ID,
    Misconfigured,
    Missing,
    NotConfigured,
    NotFound,
    Table,
    as_object,
    event_name,
    first,
    js_join,
    required,
    trait,
    value_of,
    without,
)
from svctoolkit.secrets import Secret

_KNOWN_TRAITS = ("name", "email", "avatar", "avatarURL", "avatar_URL", "companies")


class CannySettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    events_to_events: tuple[Rows, ...] = ()


destination = DestinationType(
    "Canny",
    CannySettings,
    docs="https://developers.canny.io/api-reference",
    quirks=["The time of the event is sent as the creation time of the user."],
    answers=[
        Answer("success", 200, {"id": "553c3ef8b8cdcd1501ba1234"}),
        Answer("bad key", 401, {"error": "invalid api key"}),
        Answer("rate limit", 429, {"error": "too many requests"}),
        Answer("invalid field", 400, {"error": "invalid boardID"}),
    ],
    differences=[
        "An event that is mapped to anything except createPost and createVote is refused; RudderStack sends an empty"
        " request.",
    ],
    needs=["lookup"],
)

API = Endpoint("https://canny.io/api/v1", JSON, authorization("Basic", "api_key"))
#: Votes are the only requests that are forms.
VOTES = Endpoint("https://canny.io/api/v1", FORM, authorization("Basic", "api_key"))
LOOKUP = Endpoint("https://canny.io/api/v1", FORM)

USER = Table(
    {
        "userID": required(USER_ID),
        "email": EMAIL,
        "name": required(trait("name")),
        "created": TIME,
        "avatarURL": first(trait("avatar"), trait("avatarURL"), trait("avatar_URL")),
        "companies": trait("companies"),
    }
)
AUTHOR = "context.externalId.cannyUserId"
POST = Table(
    {
        "boardID": required(first("properties.boardID", "properties.boardId", "properties.board.id")),
        "byID": first("properties.byID", "properties.byId", "properties.by.id"),
        "categoryID": first("properties.categoryID", "properties.categoryId", "properties.category.id"),
        "customFields": "properties.customFields",
        "details": required("properties.details"),
        "eta": "properties.eta",
        "etaPublic": "properties.etaPublic",
        "title": required("properties.title"),
        "imageURLs": "properties.imageURLs",
    }
)
VOTE = Table({"postID": required(first("properties.postID", "properties.postId", "properties.post.id"))})
#: Actions: path, table, and the member for the user.
_ACTIONS = {"createPost": ("posts/create", POST, "authorID"), "createVote": ("votes/create", VOTE, "voterID")}


@destination.on("identify")
def send_user(event: Event, settings: CannySettings) -> Payload:
    """Return a user, with the remaining traits as custom fields."""
    body = {**USER(event), "customFields": without(event.traits, _KNOWN_TRAITS)}
    return _send(settings, "users/create_or_update", body)


@destination.on("track")
def send_actions(event: Event, settings: CannySettings, context: Context) -> Iterator[Payload]:
    """Return a post or a vote, or both."""
    name = event_name(event).strip().lower()
    actions = dict.fromkeys(row.to for row in settings.events_to_events if row.from_.strip().lower() == name)
    if not actions:
        raise NotConfigured("event", name, setting="eventsToEvents")
    for action in actions:
        if action not in _ACTIONS:
            raise Misconfigured("eventsToEvents", f"expected createPost or createVote, got {action!r}", field="event")
        place, table, person = _ACTIONS[action]
        body = table(event)
        api = VOTES if action == "createVote" else API
        yield _send(settings, place, {**body, person: _user_id(event, settings, context)}, api)


def _user_id(event: Event, settings: CannySettings, context: Context) -> Json:
    """Return Canny's ID of the user."""
    own = value_of(event, AUTHOR)
    if own is not None:
        return own
    email, user_id = value_of(event, EMAIL), value_of(event, USER_ID)
    if not email and not user_id:
        raise Missing("traits.email", "userId")
    where, identity = ("traits.email", {"email": js_join(email)}) if email else ("userId", {"userID": js_join(user_id)})
    form = urlencode({"apiKey": settings.api_key.reveal(), **identity})
    request = LOOKUP.lookup(settings, "users/retrieve", "POST", form)
    answer = as_object(context.ask(request, field=where))
    user = as_object(answer.get("data", answer))
    if not user.get("id"):
        raise NotFound("user", next(iter(identity.values())), field=where)
    return user["id"]


def _send(settings: CannySettings, place: str, body: Mapping[str, Any], api: Endpoint = API) -> Payload:
    return api.post(settings, place, {**body, "apiKey": settings.api_key.reveal()})
