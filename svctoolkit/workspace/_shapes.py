"""The workspace file as types: they validate it, and editors get their JSON Schema."""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from svctoolkit import yamlfile
from svctoolkit.delivery.modes import MODES
from svctoolkit.events import MAX_DEPTH
from svctoolkit.transformations import Limits
from svctoolkit.workspace._items import Language

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
_File: TypeAlias = Annotated[str, Meta(min_length=1, description="path of the code, from this file's folder")]


_LIMITS = Limits()


class _Shape(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    pass


class PersonShape(_Shape):
    """Who may use the Test API: e-mail address, and token as $(env:NAME), sha256:<hex> or in clear text."""

    email: Text
    token: Annotated[str, Meta(min_length=1, extra_json_schema={"writeOnly": True})]


class ConnectionShape(_Shape):
    """A connection to a destination, by the destination's key."""

    destination: Text
    enabled: bool = True


class SourceShape(_Shape):
    """Where events come from. Id, name and write key are the source's key unless they are given."""

    id: Text | None = None
    name: str | None = None
    type: str = "http"
    write_key: Text | None = None
    enabled: bool = True
    destinations: Annotated[list[Text | ConnectionShape], Meta(description="keys of destinations")] = []


class DestinationShape(_Shape, kw_only=True):
    """One configured instance of a destination type. Id and name are the destination's key unless they are given."""

    id: Text | None = None
    name: str | None = None
    type: Annotated[str, Meta(min_length=1, description="the destination type, such as WEBHOOK")]
    enabled: bool = True
    config: Annotated[dict[str, Any], Meta(description="the type's configuration variables; $(env:NAME) works")] = {}
    transformation: Annotated[str | None, Meta(description="key of a transformation")] = None


class LibraryShape(_Shape):
    """Code that transformations import: `code`, `file`, or `versionId` of code that the service keeps."""

    language: Language | None = None
    code: Annotated[str | None, Meta(description="the code itself")] = None
    file: _File | None = None
    version_id: Text | None = None


class TransformationShape(LibraryShape):
    """The user's code: `code`, `file`, or `versionId` of code that the service keeps."""

    id: Text | None = None
    name: str | None = None


class BackoffShape(_Shape):
    """How often and when a delivery is tried, where it differs from the profile. Times in seconds."""

    attempts: Annotated[int, Meta(ge=1, description="failures after which an event may be dead")] | None = None
    seconds: Annotated[float, Meta(ge=0, description="since the first attempt, before which none is dead")] | None = (
        None
    )
    first: Annotated[float, Meta(ge=0, description="the pause after the first failure")] | None = None
    factor: Annotated[float, Meta(ge=1, description="what each pause is longer than the one before")] | None = None
    most: Annotated[float, Meta(ge=0, description="the longest pause")] | None = None
    most_asked: Annotated[float, Meta(ge=0, description="the longest that a Retry-After is kept to")] | None = None
    jitter: Annotated[float, Meta(ge=0, le=1, description="the random share of a pause")] | None = None
    throttled: Annotated[float, Meta(ge=0, description="how long 408 and 429 are tried again")] | None = None
    scale: Annotated[float, Meta(ge=0, description="what all these times are multiplied by")] | None = None


class DeliveryShape(_Shape):
    """Where the destinations' requests go: `record` keeps them here, `live` sends them, `cassette` does so once."""

    mode: str = "record"
    allow: Annotated[list[Text], Meta(description="hosts, addresses or networks that `live` may reach as well")] = []
    timeout: Annotated[float, Meta(gt=0, le=86400, description="seconds for one request")] = 60.0
    geolocation: Annotated[str, Meta(description="address of a service that answers /geoip/<ip> with JSON")] = ""
    cassette: Annotated[str, Meta(description="file of recorded answers, which the first run makes")] = ""
    profile: Annotated[
        Literal["quick", "production"], Meta(description="retries for tests, or as the service makes them")
    ] = "quick"
    backoff: BackoffShape = msgspec.field(default_factory=BackoffShape)
    width: Annotated[int, Meta(ge=1, le=256, description="requests that a destination gets at a time")] = 8


class RetentionShape(_Shape):
    """How much is kept of what is settled."""

    events: Annotated[int, Meta(ge=1)] | None = None
    seconds: Annotated[float, Meta(gt=0)] | None = None


class DataPlaneShape(_Shape):
    """How a data plane takes and keeps events."""

    lenient: Annotated[bool, Meta(description="set a bad event of a batch aside and take the rest")] = False
    window: Annotated[float, Meta(ge=0, description="seconds that a messageId counts as known")] = 3600.0
    retention: RetentionShape = msgspec.field(default_factory=RetentionShape)


class LimitsShape(_Shape):
    """What one call of a transformation may take. Time in seconds, memory in MB, the rest in bytes or counts."""

    time: Annotated[float, Meta(gt=0, le=600)] = _LIMITS.time
    memory: Annotated[int, Meta(ge=16, le=4096)] = _LIMITS.memory
    output_bytes: Annotated[int, Meta(ge=1024)] = _LIMITS.output_bytes
    output_values: Annotated[int, Meta(ge=1)] = _LIMITS.output_values
    output_depth: Annotated[int, Meta(ge=1, le=MAX_DEPTH)] = _LIMITS.output_depth
    log_bytes: Annotated[int, Meta(ge=0)] = _LIMITS.log_bytes
    log_line: Annotated[int, Meta(ge=1)] = _LIMITS.log_line
    calls: Annotated[int, Meta(ge=0)] = _LIMITS.calls
    trust: Annotated[bool, Meta(description="run code where the sandbox lacks an essential layer")] = _LIMITS.trust


class WorkspaceShape(_Shape):
    """A workspace file of svctoolkit."""

    workspace: str = "workspace"
    people: list[PersonShape] = []
    sources: dict[Text, SourceShape] = {}
    destinations: dict[Text, DestinationShape] = {}
    transformations: dict[Text, TransformationShape] = {}
    libraries: dict[Text, LibraryShape] = {}
    credentials: Annotated[
        dict[Text, Annotated[str, Meta(extra_json_schema={"writeOnly": True})]],
        Meta(description="what getCredential gives to transformations; $(env:NAME) works"),
    ] = {}
    delivery: DeliveryShape = msgspec.field(default_factory=DeliveryShape)
    data_plane: DataPlaneShape = msgspec.field(default_factory=DataPlaneShape)
    limits: LimitsShape = msgspec.field(default_factory=LimitsShape)


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) that a workspace file is checked against."""
    return yamlfile.schema(WorkspaceShape)


def schema_for_editors() -> dict[str, Any]:
    """The same with the names of the delivery modes, which `flaws` checks: to list those of other packages is slow."""
    extended = json.loads(json.dumps(schema()))
    extended["$defs"]["DeliveryShape"]["properties"]["mode"]["enum"] = MODES.names()
    return dict(extended)
