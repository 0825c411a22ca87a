"""The SDKs' routes for the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from svctoolkit.events import EVENT_TYPES
from svctoolkit.server.web.operation import Handler, Operation, Parameter, ResponseDoc
from svctoolkit.server.web.responses import Refusal

_IDENTITY = {"anyOf": [{"required": ["userId"]}, {"required": ["anonymousId"]}]}
_Event: TypeAlias = Annotated[dict[str, Any], Meta(description="An event.", extra_json_schema=_IDENTITY)]
_EXAMPLE = {"type": "track", "event": "Order Completed", "userId": "u1", "properties": {"total": 20}}


class Batch(Struct, frozen=True):
    """Events of one source, in order."""

    batch: Annotated[list[_Event], Meta(min_length=1)]


class SourceConfiguration(Struct, frozen=True):
    """A source as clients see it."""

    source: dict[str, Any]


class SegmentSettings(Struct, frozen=True):
    """What Segment's client for browsers needs to know."""

    integrations: dict[str, Any]


class Health(Struct, frozen=True):
    """How the data plane is."""

    server: str
    db: str


_REFUSED = {
    400: ResponseDoc("The body is no JSON, has no events, or one of them is no event or belongs to nobody (text)."),
    401: ResponseDoc("The write key is absent or unknown (text)."),
    404: ResponseDoc("The source is disabled (text)."),
    413: ResponseDoc("The body is too large (text)."),
    500: ResponseDoc("The body cannot be read, or the events cannot be stored (text)."),
}
_TAKEN = {200: ResponseDoc("`ok`, as text: the events are stored."), **_REFUSED}
_KEY = "The write key is the user name of a Basic header, or `writeKey` in the body."
_WRITE_KEY = Parameter("writeKey", "query", "The source's write key.", {"type": "string"})


def operations(handle: Handler) -> list[Operation]:
    """The operations; `handle` stands in for their handlers, which are served by routes of their own."""
    return [
        _post("/v1/batch", "batch", "Send events", _KEY, handle, Batch),
        _post("/v1/import", "import", "Send historical events", f"Refused user by user. {_KEY}", handle, Batch),
        *(
            Operation(
                method="POST",
                path=f"/v1/{kind}",
                id=kind,
                summary=f"Send one {kind} event",
                description=f"The body is the event. {_KEY}",
                handle=handle,
                responses=_TAKEN,
                public=True,
            )
            for kind in EVENT_TYPES
        ),
        _post(
            "/beacon/v1/batch", "beacon", "Send events at the end of a page", "For beacons.", handle, Batch,
            (_WRITE_KEY,),
        ),
        *(
            _get(f"/pixel/v1/{kind}", f"pixel{kind.title()}", f"Send a {kind} event by showing an image",
                 "Every parameter becomes a member of the event.", handle, {200: ResponseDoc("A GIF, always.")},
                 (_WRITE_KEY,))
            for kind in ("track", "page")
        ),
        _get("/sourceConfig", "sourceConfig", "A source's configuration", "For clients; without secrets.", handle,
             {200: ResponseDoc("The source.", (SourceConfiguration,)), 400: ResponseDoc("Unknown key.", (Refusal,))},
             (_WRITE_KEY,)),
        _get("/v1/projects/{key}/settings", "settings", "Settings for Segment's client", "By write key.", handle,
             {200: ResponseDoc("The settings.", (SegmentSettings,)), 401: _REFUSED[401], 404: _REFUSED[404]},
             (Parameter("key", "path", "The source's write key.", {"type": "string", "minLength": 1}),)),
        _get("/health", "health", "Health", "For load balancers.", handle,
             {200: ResponseDoc("All is well.", (Health,))}),
    ]  # fmt: skip


def _post(
    path: str,
    id: str,
    summary: str,
    description: str,
    handle: Handler,
    body: type,
    parameters: tuple[Parameter, ...] = (),
) -> Operation:
    return Operation(
        method="POST",
        path=path,
        id=id,
        summary=summary,
        description=description,
        handle=handle,
        parameters=parameters,
        body=body,
        example=lambda: {"batch": [_EXAMPLE]},
        responses=_TAKEN,
        public=True,
    )


def _get(
    path: str,
    id: str,
    summary: str,
    description: str,
    handle: Handler,
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
        public=True,
    )
