"""The documentation of the SDKs' routes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from svctoolkit.events import EVENT_TYPES
from svctoolkit.server.ingest.sending import PATH
from svctoolkit.server.web.operation import Handler, Operation, Parameter, ResponseDoc
from svctoolkit.server.web.responses import Refusal

#: Segment's browser client abbreviates event types to their first letter.
SHORT_TYPES = {"t": "track", "i": "identify", "p": "page", "s": "screen", "g": "group", "a": "alias"}
# An id has a visible character. Anything but text and null is an id as its JSON.
_INVISIBLE = r"\s\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff"
_ID = {"not": {"type": "null"}, "pattern": f"[^{_INVISIBLE}]"}
_IDENTIFIED = [{"required": [name], "properties": {name: _ID}} for name in ("userId", "anonymousId")]
_ANONYMOUS = {"required": ["type"], "properties": {"type": {"enum": ["extract", "record"]}}}
_IDENTITY = {"anyOf": [*_IDENTIFIED, _ANONYMOUS]}
# Anything without a list of events counts as an empty one.
_IMPORT: Mapping[str, Any] = {
    "type": ["object", "array", "string", "number", "boolean", "null"],
    "properties": {"batch": {"description": "Events.", "items": {"type": "object", **_IDENTITY}}},
}
_Event: TypeAlias = Annotated[dict[str, Any], Meta(description="An event.", extra_json_schema=_IDENTITY)]
_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "track": {"event": "Order Completed", "properties": {"total": 20}},
    "identify": {"traits": {"plan": "plus"}},
    "page": {"name": "Start", "properties": {"path": "/"}},
    "screen": {"name": "Home"},
    "group": {"groupId": "g1", "traits": {"name": "Team"}},
    "alias": {"previousId": "a1"},
}


class Batch(Struct, frozen=True):
    """Events of one source, in order."""

    batch: Annotated[list[_Event], Meta(min_length=1)]


class SingleEvent(Struct, frozen=True, rename="camel"):
    """An event of the type in the path. It needs a user id or an anonymous id; any other member is kept.

    Like the gateway, a data plane accepts values of any type.
    """

    user_id: Annotated[Any, Meta(description="Text.")] = ""
    anonymous_id: Annotated[Any, Meta(description="Text.")] = ""
    message_id: Annotated[Any, Meta(description="A repeated event with the same id is not delivered again.")] = ""
    event: Annotated[Any, Meta(description="The name of a track event.")] = ""
    name: Annotated[Any, Meta(description="The name of a page or a screen.")] = ""
    group_id: Annotated[Any, Meta(description="The group of a group event, as text.")] = ""
    previous_id: Annotated[Any, Meta(description="The earlier id of an alias event, as text.")] = ""
    properties: Annotated[Any, Meta(description="An object.")] = {}
    traits: Annotated[Any, Meta(description="An object.")] = {}
    context: Annotated[Any, Meta(description="An object.")] = {}


class SourceConfiguration(Struct, frozen=True):
    """A source as clients see it."""

    source: dict[str, Any]


class SegmentSettings(Struct, frozen=True):
    """The settings that Segment's browser client needs."""

    integrations: dict[str, Any]


class Version(Struct, frozen=True, rename="pascal"):
    """The version of the data plane."""

    version: str
    built_by: str


_REFUSED = {
    400: ResponseDoc("The body is not JSON or has no events, or an event is invalid or has no user (text)."),
    401: ResponseDoc("The write key is missing or unknown (text)."),
    404: ResponseDoc("The source is disabled (text)."),
    413: ResponseDoc("The body is too large (text)."),
    500: ResponseDoc("The body cannot be read, or the events cannot be stored (text)."),
}
_ACCEPTED = {200: ResponseDoc("`ok`, as text: the events are stored."), **_REFUSED}
_RUN = Parameter("X-Svctoolkit-Run", "header", "The test run of the events.", {"type": "string"}, "checkout-7")
_KEY = "The write key is the user name of a Basic header, or `writeKey` in the body."
_WRITE_KEY = Parameter("writeKey", "query", "The source's write key.", {"type": "string"})
_PATH_KEY = Parameter("key", "path", "The source's write key.", {"type": "string", "minLength": 1})


def operations(handle: Handler) -> list[Operation]:
    """Return the operations. `handle` is a placeholder: separate routes serve them."""
    return [
        *_of_batches(handle),
        *_of_single_events(handle),
        *_of_webhooks(handle),
        *_of_pixels(handle),
        *_of_clients(handle),
    ]


def _of_batches(handle: Handler) -> Iterator[Operation]:
    yield _batch(handle, "/v1/batch", "batch", "Send events", _KEY)
    yield _batch(handle, "/v1/b", "segmentBatch", "Send events", f"Used by Segment's browser client. {_KEY}")
    yield _batch(
        handle,
        "/v1/import",
        "import",
        "Send historical events",
        f"Events are refused per user. {_KEY}",
        rules=_IMPORT,
    )
    summary = "Send events when a page is closed"
    yield _batch(handle, "/beacon/v1/batch", "beacon", summary, "For beacons.", (_WRITE_KEY,))


def _of_single_events(handle: Handler) -> Iterator[Operation]:
    names = {**dict(zip(EVENT_TYPES, EVENT_TYPES, strict=True)), **SHORT_TYPES}
    for name, kind in names.items():
        yield Operation(
            method="POST",
            path=f"/v1/{name}",
            id=kind if name == kind else f"segment{kind.title()}",
            summary=f"Send one {kind} event",
            description=f"The body is the event. {_KEY}",
            handle=handle,
            body=SingleEvent,
            rules={"anyOf": _IDENTIFIED},
            parameters=(_RUN,),
            example=lambda kind=kind: {"userId": "u1", **_EXAMPLES[kind]},  # type: ignore[misc]
            responses=_ACCEPTED,
            login="key",
        )


def _of_webhooks(handle: Handler) -> Iterator[Operation]:
    description = (
        "The body is whatever the vendor of the source sends: JSON, a form or a multipart form. The source turns it "
        "into events. The write key is `writeKey` in the query, or the user name of a Basic header."
    )
    answers = {
        200: ResponseDoc("`ok`, or the source's own answer: the events are stored."),
        **_REFUSED,
        401: ResponseDoc("The write key is missing or unknown, or its source does not accept webhooks (text)."),
    }
    parameters = (
        _WRITE_KEY,
        Parameter("topic", "query", "What a webhook of Shopify is about.", {"type": "string"}, "orders_create"),
    )
    for method in ("POST", "GET"):
        yield Operation(
            method=method,
            path=PATH,
            id=f"webhook{method.title()}",
            summary="Send a webhook" if method == "POST" else "Send a webhook of a type that uses GET, such as Adjust",
            description=description if method == "POST" else "The query is the webhook. Other types ignore it.",
            handle=handle,
            responses=answers,
            parameters=parameters,
            body=dict if method == "POST" else None,
            example=(lambda: {"id": 1001, "email": "ada@mail.example"}) if method == "POST" else None,
            login="key",
        )


def _of_pixels(handle: Handler) -> Iterator[Operation]:
    user = Parameter("userId", "query", "The user of the event; or use `anonymousId`.", {"type": "string"}, "u1")
    for kind, member in (("track", "event"), ("page", "name")):
        name = Parameter(member, "query", f"The name of the {kind} event.", {"type": "string"}, "Mail Opened")
        yield _get(
            handle,
            f"/pixel/v1/{kind}",
            f"pixel{kind.title()}",
            f"Send a {kind} event by loading an image",
            "Every parameter becomes a member of the event.",
            {200: ResponseDoc("A GIF of one pixel, always.")},
            (_WRITE_KEY, user, name),
        )


def _of_clients(handle: Handler) -> Iterator[Operation]:
    configuration = {
        200: ResponseDoc("The source.", (SourceConfiguration,)),
        400: ResponseDoc("Unknown write key.", (Refusal,)),
    }
    summary, description = "A source's configuration", "For clients; without secrets."
    yield _get(handle, "/sourceConfig", "sourceConfig", summary, description, configuration, (_WRITE_KEY,))
    yield _get(
        handle,
        "/v1/projects/{key}/settings",
        "settings",
        "Get the settings for Segment's client",
        "The source is identified by its write key.",
        {200: ResponseDoc("The settings.", (SegmentSettings,)), 401: _REFUSED[401], 404: _REFUSED[404]},
        (_PATH_KEY,),
    )
    for path, id in (("/v1/m", "segmentMetrics"), ("/rsaMetrics", "metricsOfClients")):
        yield Operation(
            method="POST",
            path=path,
            id=id,
            summary="Accept a client's report about itself",
            description="The report is discarded.",
            handle=handle,
            responses={200: ResponseDoc("`ok`, as text."), 413: _REFUSED[413], 500: _REFUSED[500]},
            login="none",
        )
    yield _get(
        handle,
        "/version",
        "version",
        "Version",
        "In the gateway's format.",
        {200: ResponseDoc("The version.", (Version,))},
    )


def _batch(
    handle: Handler,
    path: str,
    id: str,
    summary: str,
    description: str,
    parameters: tuple[Parameter, ...] = (),
    rules: Mapping[str, Any] | None = None,
) -> Operation:
    return Operation(
        method="POST",
        path=path,
        id=id,
        summary=summary,
        description=description,
        handle=handle,
        parameters=(*parameters, _RUN),
        body=dict if rules else Batch,
        rules=rules or {},
        example=lambda: {"batch": [{"type": "track", "userId": "u1", **_EXAMPLES["track"]}]},
        responses=_ACCEPTED,
        login="none" if parameters else "key",
    )


def _get(
    handle: Handler,
    path: str,
    id: str,
    summary: str,
    description: str,
    responses: Mapping[int, ResponseDoc],
    parameters: tuple[Parameter, ...] = (),
) -> Operation:
    return Operation(
        method="GET",
        path=path,
        id=id,
        summary=summary,
        description=description,
        handle=handle,
        parameters=parameters,
        responses=responses,
        login="none",
    )
