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
from svctoolkit.json_types import Json
from svctoolkit.transformations import Limits
from svctoolkit.workspace._items import Language
from svctoolkit.workspace._settings import PlaneLimits

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
_File: TypeAlias = Annotated[str, Meta(min_length=1, description="path of the code, from this file's folder")]


_LIMITS, _PLANE = Limits(), PlaneLimits()


class _Shape(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    pass


class PersonShape(_Shape):
    """Who may use the Test API: e-mail address, and token as $(env:NAME), sha256:<hex> or in clear text.

    A service access token belongs to nobody: it has no e-mail address.
    """

    token: Annotated[str, Meta(min_length=1, extra_json_schema={"writeOnly": True})]
    email: str = ""


class ConnectionShape(_Shape):
    """A connection to a destination, by the destination's key."""

    destination: Text
    enabled: bool = True


class SourcePlanShape(_Shape):
    """The plan of a source, and what becomes of events that break it."""

    plan: Annotated[Text | None, Meta(description="key of a tracking plan")] = None
    settings: Annotated[
        dict[Text, dict[Text, Any]] | None,
        Meta(description="by event type or `global`, as the service or as rudder-cli spells them"),
    ] = None


class TrackingPlanShape(_Shape):
    """Tracking plans from a file, or from a folder that is a project of rudder-cli."""

    project: Annotated[str, Meta(min_length=1, description="folder, from this file's folder")] | None = None
    file: Annotated[str, Meta(min_length=1, description="path, from this file's folder")] | None = None
    format: Annotated[Text | None, Meta(description="how it is read; by default it is found out")] = None
    plan: Annotated[Text | None, Meta(description="id of the plan that is meant where there are several")] = None
    version: Annotated[int, Meta(ge=1)] | None = None
    strict: Annotated[bool, Meta(description="refuse schemas whose events the service lets pass unchecked")] = True


class ForwardShape(_Shape):
    """A real data plane that gets what comes in, as it came; $(env:NAME) works."""

    url: Annotated[str, Meta(pattern="^(https?://|\\$\\((env|var):)", description="its address, such as https://...")]
    write_key: Annotated[str, Meta(min_length=1, extra_json_schema={"writeOnly": True})]
    answer: Annotated[
        Literal["ours", "theirs"], Meta(description="whose answer the client gets; theirs makes it wait for them")
    ] = "ours"


class SourceShape(_Shape):
    """Where events come from. Id, name and write key are the source's key unless they are given."""

    id: Text | None = None
    name: str | None = None
    type: str = "http"
    category: Annotated[str, Meta(description="cloud and singer-protocol: a source that extracts records")] = ""
    write_key: Text | None = None
    enabled: bool = True
    destinations: Annotated[list[Text | ConnectionShape], Meta(description="keys of destinations")] = []
    tracking_plan: Annotated[Text | SourcePlanShape | None, Meta(description="key of a tracking plan")] = None
    forward: ForwardShape | None = None


class DestinationShape(_Shape, kw_only=True):
    """One configured instance of a destination type. Id and name are the destination's key unless they are given."""

    id: Text | None = None
    name: str | None = None
    type: Annotated[str, Meta(min_length=1, description="the destination type, such as WEBHOOK")]
    enabled: bool = True
    config: Annotated[dict[str, Any], Meta(description="the type's configuration variables; $(env:NAME) works")] = {}
    transformation: Annotated[str | None, Meta(description="key of a transformation")] = None
    account: Annotated[str | None, Meta(description="key of an account, for types with OAuth")] = None


_Tokens: TypeAlias = dict[Text, Annotated[str, Meta(extra_json_schema={"writeOnly": True})]]


class AccountShape(_Shape):
    """What destinations with OAuth deliver with; $(env:NAME) works."""

    secret: Annotated[_Tokens, Meta(description="what the service would hold, such as access_token")] = {}
    renewals: Annotated[
        list[_Tokens], Meta(description="what takes its place, one after another, when it expires")
    ] = []


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
    code_version: Annotated[Literal["0", "1"], Meta(description="of JavaScript: 1 a module, 0 a script")] | None = None


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


class CallsShape(_Shape):
    """How jobs reach a call of the router, in which they may share requests."""

    jobs: Annotated[int, Meta(ge=1, le=10_000, description="jobs in one call")] = 20
    wait: Annotated[float, Meta(ge=0, le=3600, description="seconds that a call waits for more jobs")] = 0.0


class ThrottleShape(_Shape):
    """How many jobs a destination gets in which time."""

    limit: Annotated[int, Meta(ge=1)]
    seconds: Annotated[float, Meta(gt=0)]
    adaptive: Annotated[bool, Meta(description="less after answers 429, more again after a quiet time")] = False


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
    batch: Annotated[CallsShape | Literal["off"], Meta(description="which events share requests; off: none")] = (
        msgspec.field(default_factory=CallsShape)
    )
    throttle: Annotated[dict[Text, ThrottleShape], Meta(description="by the key of a destination, or by its type")] = {}


class RetentionShape(_Shape):
    """How much is kept of what is settled."""

    events: Annotated[int, Meta(ge=1)] | None = None
    seconds: Annotated[float, Meta(gt=0)] | None = None


class PlaneLimitsShape(_Shape):
    """What a data plane takes and holds in memory at most."""

    body: Annotated[int, Meta(ge=1024, le=1 << 30, description="bytes of a request")] = _PLANE.body
    answer: Annotated[int, Meta(ge=0, description="bytes of an answer; else its head is kept")] = _PLANE.answer
    waiting: Annotated[int, Meta(ge=20, description="events of a destination in memory")] = _PLANE.waiting
    unrouted: Annotated[int, Meta(ge=1024, description="bytes of requests that are not routed yet")] = _PLANE.unrouted
    changes: Annotated[int, Meta(ge=1, description="changes kept for slow streams")] = _PLANE.changes


class DataPlaneShape(_Shape):
    """How a data plane takes and keeps events."""

    lenient: Annotated[bool, Meta(description="set a bad event of a batch aside and take the rest")] = False
    window: Annotated[float, Meta(ge=0, description="seconds that a messageId counts as known")] = 3600.0
    retention: RetentionShape = msgspec.field(default_factory=RetentionShape)
    limits: PlaneLimitsShape = msgspec.field(default_factory=PlaneLimitsShape)


class WarehousesShape(_Shape):
    """What the operator of the service sets for all warehouses."""

    id_resolution: Annotated[bool, Meta(description="BigQuery and Snowflake keep who is whom")] = False
    max_columns: Annotated[int, Meta(ge=1, description="columns of a row; events with more are refused")] = 1600
    rows: Annotated[int, Meta(ge=1, description="rows that a table keeps, the newest")] = 1_000_000


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


class EnvironmentSourceShape(_Shape):
    """What is different about a source in an environment."""

    enabled: bool | None = None
    write_key: Text | None = None


class EnvironmentDestinationShape(_Shape):
    """What is different about a destination in an environment: variables by name, the others stay."""

    enabled: bool | None = None
    config: Annotated[dict[str, Any], Meta(description="variables that replace those of the destination")] = {}


class EnvironmentShape(_Shape):
    """What is different in an environment, member by member; chosen by `--env NAME` or SVC_ENV."""

    sources: dict[Text, EnvironmentSourceShape] = {}
    destinations: dict[Text, EnvironmentDestinationShape] = {}
    credentials: dict[Text, Annotated[str, Meta(extra_json_schema={"writeOnly": True})]] = {}
    delivery: dict[str, Any] = {}
    data_plane: dict[str, Any] = {}
    warehouses: dict[str, Any] = {}
    limits: dict[str, Any] = {}


class WorkspaceShape(_Shape):
    """A workspace file of svctoolkit."""

    workspace: str = "workspace"
    people: list[PersonShape] = []
    sources: dict[Text, SourceShape] = {}
    destinations: dict[Text, DestinationShape] = {}
    transformations: dict[Text, TransformationShape] = {}
    libraries: dict[Text, LibraryShape] = {}
    accounts: dict[Text, AccountShape] = {}
    credentials: Annotated[
        dict[Text, Annotated[str, Meta(extra_json_schema={"writeOnly": True})]],
        Meta(description="what getCredential gives to transformations; $(env:NAME) works"),
    ] = {}
    tracking_plans: dict[Text, TrackingPlanShape] = {}
    delivery: DeliveryShape = msgspec.field(default_factory=DeliveryShape)
    data_plane: DataPlaneShape = msgspec.field(default_factory=DataPlaneShape)
    warehouses: WarehousesShape = msgspec.field(default_factory=WarehousesShape)
    limits: LimitsShape = msgspec.field(default_factory=LimitsShape)
    environments: dict[Text, EnvironmentShape] = {}


@cache
def schema() -> dict[str, Json]:
    """The JSON Schema (2020-12) that a workspace file is checked against."""
    return yamlfile.schema(WorkspaceShape)


@cache
def environment_schema() -> dict[str, Json]:
    """The JSON Schema of a file with what is different in one environment."""
    return yamlfile.schema(EnvironmentShape)


def schema_for_editors() -> dict[str, Json]:
    """The same with the names of the delivery modes, which `flaws` checks: to list those of other packages is slow."""
    extended = json.loads(json.dumps(schema()))
    extended["$defs"]["DeliveryShape"]["properties"]["mode"]["enum"] = MODES.names()
    return dict(extended)
