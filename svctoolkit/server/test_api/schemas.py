"""The JSON of the Test API as types, from which the OpenAPI document is generated, and the checks of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from svctoolkit.errors import did_you_mean
from svctoolkit.events import EVENT_TYPES, check
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Stages, check_config
from svctoolkit.server.web.json import refuse

_EVENT_SCHEMA = {"type": "object", "required": ["type"], "properties": {"type": {"enum": list(EVENT_TYPES)}}}
#: Checked by `events.check`, whose two refusals are specified.
Message: TypeAlias = Annotated[dict[str, Any], Meta(description="The event to test.", extra_json_schema=_EVENT_SCHEMA)]


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    """Switches the stages on or off. By default, nothing is sent."""

    user_transform: Annotated[bool, Meta(description="Run the user transformation, if one is connected.")] = True
    dest_transform: Annotated[bool, Meta(description="Return the payload in the destination's format.")] = True
    send_to_destination: Annotated[bool, Meta(description="Send it, and return the destination's response.")] = False


class TestSourceRequest(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An event for every destination of a source."""

    message: Message
    stage: Stage = Stage()


class TestDestinationRequest(TestSourceRequest, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An event for one destination."""

    destination_config: Annotated[
        dict[str, Any], Meta(description="Overrides the destination's configuration for this request, key by key.")
    ] = {}


class PayloadBody(Struct, frozen=True):
    """The body in one of four formats; the others are empty."""

    JSON: dict[str, Any]
    JSON_ARRAY: dict[str, Any]
    XML: dict[str, Any]
    FORM: dict[str, Any]


class Payload(Struct, frozen=True):
    """One HTTP request in RudderStack's format."""

    version: str
    type: str
    method: str
    endpoint: str
    headers: dict[str, Any]
    params: dict[str, Any]
    body: PayloadBody
    files: dict[str, Any]


class StageError(Struct, frozen=True):
    """Why a stage has no output."""

    error: str


class Entry(Struct, frozen=True):
    """The output of the stages for one event. The members of disabled stages are absent."""

    user_transformed_payload: Annotated[
        dict[str, Any] | UnsetType, Meta(description="The event after the user transformation, or an `error`.")
    ] = UNSET
    dest_transformed_payload: Annotated[
        list[Payload] | StageError | UnsetType, Meta(description="The payloads, or an `error`.")
    ] = UNSET
    destination_response: Annotated[
        list[Any] | StageError | UnsetType, Meta(description="The destination's responses, or an `error`.")
    ] = UNSET
    destination_response_status: Annotated[
        list[int] | UnsetType, Meta(description="The status code of each response.")
    ] = UNSET


class DestinationResult(Struct, frozen=True, rename="camel"):
    """The result for one destination: one entry per event that came out of the user transformation."""

    destination_id: str
    destination: Annotated[str, Meta(description="The destination's type.")]
    destination_name: str
    data: list[Entry]


class DestinationError(Struct, frozen=True, rename="camel"):
    """A destination that was not tested, and why."""

    destination_id: str
    destination_name: str
    error: str


class DestConfig(Struct, frozen=True, rename="camel"):
    default_config: Annotated[list[str], Meta(description="The names usable in `destinationConfig`.")]


class DefinitionConfig(Struct, frozen=True, rename="camel"):
    """The options of a type, and what it supports."""

    dest_config: DestConfig
    secret_keys: list[str]
    supported_source_types: list[str]


class DestinationDefinition(Struct, frozen=True, rename="camel"):
    """One destination type."""

    id: str
    name: str
    display_name: str
    category: str | None
    config: DefinitionConfig
    created_at: str
    updated_at: str


class RequestMembers(NamedTuple):
    """The members of a valid request."""

    message: dict[str, Any]
    stages: Stages
    config: Mapping[str, Json] | None


def parse_request(raw: dict[str, Json], kind: type[TestSourceRequest]) -> RequestMembers:
    """Parse `raw` as a request. Raises `RequestError` (400) that names the member, `InvalidMessageType`."""
    message = check(raw.get("message"))
    if kind is TestSourceRequest and "destinationConfig" in raw:
        refuse("destinationConfig is accepted only by testDestination")
    _check_names("the body", raw, kind)
    stages = Stages.from_json(raw["stage"]) if "stage" in raw else Stages()
    config = check_config(raw["destinationConfig"]) if "destinationConfig" in raw else None
    return RequestMembers(dict(message), stages, config)


def _check_names(what: str, given: dict[str, Any], kind: type[Struct]) -> None:
    names = kind.__struct_encode_fields__
    for name in given:
        if name not in names:
            refuse(f"{what} has no member {name[:100]!r}.{did_you_mean(name, names)}")
