"""The workspace file as types, for validation and for the JSON Schema in editors."""

# No `annotations` from `__future__`, as in the format of suites: msgspec would compile them at every start.
import json
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from svctoolkit import yamlfile
from svctoolkit.delivery.faults import Faults
from svctoolkit.delivery.modes import MODES
from svctoolkit.events import MAX_DEPTH
from svctoolkit.json_types import Json
from svctoolkit.simulations import Level
from svctoolkit.transformations import Limits
from svctoolkit.workspace._items import Language
from svctoolkit.workspace._settings import PlaneLimits

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
_File: TypeAlias = Annotated[str, Meta(min_length=1, description="path of the code, relative to this file's folder")]


_LIMITS, _PLANE = Limits(), PlaneLimits()


class _Shape(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    pass


class PersonShape(_Shape):
    """A user of the Test API: e-mail address, and token as $(env:NAME), sha256:<hex> or in clear text.

    For a service access token, leave out the e-mail address.
    """

    token: Annotated[str, Meta(min_length=1, extra_json_schema={"writeOnly": True})]
    email: str = ""


class ConnectionShape(_Shape):
    """A connection to a destination, by the destination's key."""

    destination: Text
    enabled: bool = True


class SourcePlanShape(_Shape):
    """The tracking plan of a source, and what happens to events with violations."""

    plan: Annotated[Text | None, Meta(description="key of a tracking plan")] = None
    settings: Annotated[
        dict[Text, dict[Text, Any]] | None,
        Meta(description="by event type or `global`, in the spelling of RudderStack or rudder-cli"),
    ] = None


class TrackingPlanShape(_Shape):
    """Tracking plans from a file, or from the folder of a rudder-cli project."""

    project: Annotated[str, Meta(min_length=1, description="folder, relative to this file's folder")] | None = None
    file: Annotated[str, Meta(min_length=1, description="path, relative to this file's folder")] | None = None
    format: Annotated[Text | None, Meta(description="the format; detected by default")] = None
    plan: Annotated[Text | None, Meta(description="id of the plan, if there are several")] = None
    version: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    strict: Annotated[bool, Meta(description="reject schemas whose events RudderStack does not check")] = True
    variables: Annotated[
        list[Text], Meta(description="files with values of {{ .NAME }} in a rudder-cli project; a later one wins")
    ] = []


class ForwardShape(_Shape):
    """A real data plane that gets the events as they arrived; $(env:NAME) is supported."""

    url: Annotated[str, Meta(pattern="^(https?://|\\$\\((env|var):)", description="its URL, such as https://...")]
    write_key: Annotated[str, Meta(min_length=1, extra_json_schema={"writeOnly": True})]
    answer: Annotated[
        Literal["ours", "theirs"],
        Meta(description="whose response the client gets; with `theirs` it waits for that one"),
    ] = "ours"
    enabled: Annotated[bool, Meta(description="while false, the events wait")] = True


class SourceShape(_Shape):
    """A source of events. Id, name and write key default to the source's key."""

    id: Text | None = None
    name: str | None = None
    type: Annotated[str, Meta(description="Shopify, Segment and others accept webhooks; any other text is an SDK")] = (
        "http"
    )
    category: Annotated[str, Meta(description="cloud and singer-protocol: a source that extracts records")] = ""
    config: Annotated[dict[str, Any], Meta(description="settings of a type that accepts webhooks")] = {}
    write_key: Text | None = None
    enabled: bool = True
    destinations: Annotated[list[Text | ConnectionShape], Meta(description="keys of destinations")] = []
    tracking_plan: Annotated[Text | SourcePlanShape | None, Meta(description="key of a tracking plan")] = None
    forward: ForwardShape | None = None


class DestinationShape(_Shape, kw_only=True):
    """One configured instance of a destination type. Id and name default to the destination's key."""

    id: Text | None = None
    name: str | None = None
    type: Annotated[str, Meta(min_length=1, description="the destination type, such as WEBHOOK")]
    enabled: bool = True
    config: Annotated[
        dict[str, Any], Meta(description="the type's configuration variables; $(env:NAME) is supported")
    ] = {}
    transformation: Annotated[str | None, Meta(description="key of a transformation")] = None
    account: Annotated[
        str | dict[Text, Any] | None,
        Meta(
            description="key of an account, for types with OAuth; `new`, `existing`, or what the simulated account "
            "has: {contract: legacy, lists: [news]}"
        ),
    ] = None
    simulate: Annotated[
        Level | None,
        Meta(description="answers: always succeed; simulated: judge and hold; strict: also inferred rules"),
    ] = None


_Tokens: TypeAlias = dict[Text, Annotated[str, Meta(extra_json_schema={"writeOnly": True})]]


class AccountShape(_Shape):
    """The OAuth account of destinations; $(env:NAME) is supported."""

    secret: Annotated[_Tokens, Meta(description="what RudderStack would store, such as access_token")] = {}
    renewals: Annotated[list[_Tokens], Meta(description="replacements, one after another, when it expires")] = []


class LibraryShape(_Shape):
    """Code that transformations import: `code`, `file`, or `versionId` of code in RudderStack."""

    language: Language | None = None
    code: Annotated[str | None, Meta(description="the code itself")] = None
    file: _File | None = None
    version_id: Text | None = None


class TransformationShape(LibraryShape):
    """The user's code: `code`, `file`, or `versionId` of code in RudderStack."""

    id: Text | None = None
    name: str | None = None
    code_version: Annotated[Literal["0", "1"], Meta(description="of JavaScript: 1 a module, 0 a script")] | None = None


class BackoffShape(_Shape):
    """Retries of a delivery, where they differ from the profile. Times in seconds."""

    attempts: (
        Annotated[int, Meta(ge=1, description="failures after which an event may become a dead letter")] | None
    ) = None
    seconds: Annotated[float, Meta(ge=0, description="minimum time of retries before a dead letter")] | None = None
    first: Annotated[float, Meta(ge=0, description="the pause after the first failure")] | None = None
    factor: (
        Annotated[float, Meta(ge=1, description="factor by which each pause is longer than the previous one")] | None
    ) = None
    most: Annotated[float, Meta(ge=0, description="the longest pause")] | None = None
    max_retry_after: Annotated[float, Meta(ge=0, description="the longest Retry-After that is respected")] | None = None
    jitter: Annotated[float, Meta(ge=0, le=1, description="the random part of a pause")] | None = None
    throttled: Annotated[float, Meta(ge=0, description="how long 408 and 429 are retried")] | None = None
    scale: Annotated[float, Meta(ge=0, description="factor for all these times")] | None = None


class CallsShape(_Shape):
    """Grouping of jobs into router calls, in which they may share requests."""

    jobs: Annotated[int, Meta(ge=1, le=10_000, description="maximum number of jobs in one call")] = 20
    wait: Annotated[float, Meta(ge=0, le=3600, description="seconds that a call waits for more jobs")] = 0.0


class ThrottleShape(_Shape):
    """Rate limit of a destination: `limit` jobs in `seconds` seconds."""

    limit: Annotated[int, Meta(ge=1)]
    seconds: Annotated[float, Meta(gt=0)]
    adaptive: Annotated[bool, Meta(description="lower after responses with 429, higher again after a quiet period")] = (
        False
    )


class DeliveryShape(_Shape):
    """Delivery of requests to destinations: `record` never sends them, `live` does, `cassette` does once."""

    mode: str = "record"
    allow: Annotated[list[Text], Meta(description="hosts, addresses or networks that `live` may reach as well")] = []
    timeout: Annotated[float, Meta(gt=0, le=86400, description="seconds for one request")] = 60.0
    geolocation: Annotated[str, Meta(description="URL of a service that answers /geoip/<ip> with JSON")] = ""
    cassette: Annotated[str, Meta(description="file of recorded responses, written by the first run")] = ""
    profile: Annotated[Literal["quick", "production"], Meta(description="retries for tests, or like RudderStack")] = (
        "quick"
    )
    backoff: BackoffShape = msgspec.field(default_factory=BackoffShape)
    concurrency: Annotated[int, Meta(ge=1, le=256, description="concurrent requests per destination")] = 8
    batch: Annotated[
        CallsShape | Literal["off"], Meta(description="which events share requests; off: each has its own")
    ] = msgspec.field(default_factory=CallsShape)
    throttle: Annotated[dict[Text, ThrottleShape], Meta(description="by key or type of destination")] = {}
    simulate: Annotated[Level, Meta(description="how destinations' servers are simulated in mode `record`")] = "answers"
    braze_limit: Annotated[
        Literal["each", "total"], Meta(description="requests to Braze have 75 objects of each kind, or 75 in all")
    ] = "each"


class RetentionShape(_Shape):
    """How many processed events are kept."""

    events: Annotated[int, Meta(ge=1)] | None = None
    seconds: Annotated[float, Meta(gt=0)] | None = None


class PlaneLimitsShape(_Shape):
    """Limits of a data plane."""

    body: Annotated[int, Meta(ge=1024, le=1 << 30, description="bytes of a request")] = _PLANE.body
    answer: Annotated[int, Meta(ge=0, description="bytes of a response; longer ones are truncated")] = _PLANE.answer
    waiting: Annotated[int, Meta(ge=20, description="events of a destination in memory")] = _PLANE.waiting
    unrouted: Annotated[int, Meta(ge=1024, description="bytes of requests that are not routed yet")] = _PLANE.unrouted
    changes: Annotated[int, Meta(ge=1, description="changes kept for slow streams")] = _PLANE.changes
    mapping: Annotated[float, Meta(gt=0, description="seconds to map an event to a destination")] = _PLANE.mapping
    head: Annotated[float, Meta(gt=0, description="seconds for the headers of a request")] = _PLANE.head


class DataPlaneShape(_Shape):
    """How a data plane accepts and stores events."""

    lenient: Annotated[bool, Meta(description="set invalid events of a batch aside and accept the rest")] = False
    dedup_window: Annotated[float, Meta(ge=0, description="seconds in which a repeated messageId is a duplicate")] = (
        3600.0
    )
    retention: RetentionShape = msgspec.field(default_factory=RetentionShape)
    limits: PlaneLimitsShape = msgspec.field(default_factory=PlaneLimitsShape)
    event_blocking: Annotated[
        dict[Text, list[Text]],
        Meta(description="names of events that no destination receives, by event type; as in RudderStack"),
    ] = {}
    traces: Annotated[
        str,
        Meta(
            pattern=r"^$|^https?://[^{}]*\{trace_id\}[^{}]*$",
            description="URL of a trace with {trace_id} in it, for links on the page",
        ),
    ] = ""


class WarehousesShape(_Shape):
    """Settings for all warehouses, which the operator of RudderStack chooses."""

    id_resolution: Annotated[bool, Meta(description="identity resolution in BigQuery and Snowflake")] = False
    max_columns: Annotated[int, Meta(ge=1, description="columns of a row; events with more are rejected")] = 1600
    rows: Annotated[int, Meta(ge=1, description="number of rows that a table keeps, the newest ones")] = 1_000_000


class LimitsShape(_Shape):
    """Limits of one call of a transformation. Time in seconds, memory in MB, the rest in bytes or counts."""

    time: Annotated[float, Meta(gt=0, le=600)] = _LIMITS.time
    memory: Annotated[int, Meta(ge=16, le=4096)] = _LIMITS.memory
    output_bytes: Annotated[int, Meta(ge=1024)] = _LIMITS.output_bytes
    output_values: Annotated[int, Meta(ge=1)] = _LIMITS.output_values
    output_depth: Annotated[int, Meta(ge=1, le=MAX_DEPTH)] = _LIMITS.output_depth
    log_bytes: Annotated[int, Meta(ge=0)] = _LIMITS.log_bytes
    log_line: Annotated[int, Meta(ge=1)] = _LIMITS.log_line
    calls: Annotated[int, Meta(ge=0)] = _LIMITS.calls
    trust: Annotated[bool, Meta(description="run code even if the sandbox lacks an essential layer")] = _LIMITS.trust


class FaultsShape(_Shape):
    """Fault profiles by name, and which of them destinations and sources have when a data plane starts."""

    profiles: dict[Text, Faults] = {}
    destinations: Annotated[dict[Text, str], Meta(description="profiles of destinations, by key")] = {}
    sources: Annotated[dict[Text, str], Meta(description="profiles of the ingestion of sources, by key")] = {}


class EnvironmentSourceShape(_Shape):
    """Overrides of a source in an environment."""

    enabled: bool | None = None
    write_key: Text | None = None
    destinations: Annotated[
        list[Text | ConnectionShape] | None, Meta(description="keys of destinations, in place of those of the source")
    ] = None


class EnvironmentDestinationShape(_Shape):
    """Overrides of a destination in an environment: variables by name; the others are unchanged."""

    enabled: bool | None = None
    config: Annotated[dict[str, Any], Meta(description="variables that override those of the destination")] = {}
    transformation: Annotated[str | None, Meta(description="key of another transformation, or null for none")] = None


class EnvironmentShape(_Shape):
    """Overrides of an environment, member by member; selected by `--env NAME` or SVC_ENV."""

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
    users: list[PersonShape] = []
    sources: dict[Text, SourceShape] = {}
    destinations: dict[Text, DestinationShape] = {}
    transformations: dict[Text, TransformationShape] = {}
    libraries: dict[Text, LibraryShape] = {}
    accounts: dict[Text, AccountShape] = {}
    credentials: Annotated[
        dict[Text, Annotated[str, Meta(extra_json_schema={"writeOnly": True})]],
        Meta(description="values of getCredential in transformations; $(env:NAME) is supported"),
    ] = {}
    tracking_plans: dict[Text, TrackingPlanShape] = {}
    delivery: DeliveryShape = msgspec.field(default_factory=DeliveryShape)
    data_plane: DataPlaneShape = msgspec.field(default_factory=DataPlaneShape)
    warehouses: WarehousesShape = msgspec.field(default_factory=WarehousesShape)
    limits: LimitsShape = msgspec.field(default_factory=LimitsShape)
    known: Annotated[
        list[Text], Meta(description="unknown types and variables that are accepted, such as GA4.sendUserId")
    ] = []
    policies: Annotated[
        list[dict[str, Any]],
        Meta(description="what must hold for everything that reaches destinations: see policies.md"),
    ] = []
    faults: FaultsShape = msgspec.field(default_factory=FaultsShape)
    releases: Annotated[
        dict[Text, str],
        Meta(description="name of a version -> its day, such as 2026-05-17; marked in pictures of days"),
    ] = {}
    environments: dict[Text, EnvironmentShape] = {}


@cache
def schema() -> dict[str, Json]:
    """Return the JSON Schema (2020-12) that a workspace file is checked against."""
    return yamlfile.schema(WorkspaceShape)


@cache
def environment_schema() -> dict[str, Json]:
    """Return the JSON Schema of a file with the overrides of one environment."""
    return yamlfile.schema(EnvironmentShape)


def schema_for_editors() -> dict[str, Json]:
    """Return `schema` with the names of delivery modes and webhook sources: listing those of packages is slow."""
    from svctoolkit.sources import CATALOGUE

    extended = json.loads(json.dumps(schema()))
    extended["$defs"]["DeliveryShape"]["properties"]["mode"]["enum"] = MODES.names()
    kind = extended["$defs"]["SourceShape"]["properties"]["type"]
    kind["anyOf"] = [{"enum": CATALOGUE.names()}, {"type": kind.pop("type")}]
    return dict(extended)
