"""The format of a suite file, as types. The schema that checks files and serves editors is made from them."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from svctoolkit import yamlfile
from svctoolkit.json_types import Json

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Tag: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="a word, to select scenarios by")]
Id: TypeAlias = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="names the test; never changes")
]
OptionalJson: TypeAlias = Any | UnsetType
Duration: TypeAlias = (
    Annotated[str, Meta(pattern=r"^[0-9]+(\.[0-9]+)?(ms|s|m)$", description="500ms, 20s, 2m")]
    | Annotated[float, Meta(ge=0, description="seconds")]
)

#: What a suite may say of its workspace inline, in the shape of the workspace file.
WORKSPACE_KEYS = ("sources", "destinations", "transformations", "libraries", "people", "trackingPlans")


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to the data plane as it is, valid or not."""

    path: Annotated[str, Meta(description="with the query: /v0/testDestination/hook?force=true")]
    method: Text = "POST"
    headers: dict[str, str] = {}
    json: Annotated[OptionalJson, Meta(description="the body, sent as JSON")] = UNSET
    body: Annotated[str | UnsetType, Meta(description="the body, sent as this text")] = UNSET
    auth: Annotated[
        bool | dict[str, str],
        Meta(description="true: valid credentials; false: none; {email, token}; or {source} for its write key"),
    ] = True


class Stages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which stages run. What is left out is left out of the request, too."""

    user_transform: bool | UnsetType = UNSET
    dest_transform: bool | UnsetType = UNSET
    send_to_destination: bool | UnsetType = UNSET


class Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must come. Objects match as subsets, lists exactly; `$operators` for the rest."""

    status: Annotated[
        OptionalJson, Meta(description="HTTP status of the answer; 200 unless this or `error` says otherwise")
    ] = UNSET
    headers: Annotated[dict[str, Any] | UnsetType, Meta(description="headers of the answer, names in any case")] = UNSET
    body: Annotated[OptionalJson, Meta(description="the whole answer")] = UNSET
    error: Annotated[
        OptionalJson, Meta(description="why the request was refused, or the destination is not tested")
    ] = UNSET
    user_transform: Annotated[OptionalJson, Meta(description="the events that came out; one alone needs no list")] = (
        UNSET
    )
    dest_transform: Annotated[OptionalJson, Meta(description="the payloads that came out; one alone needs no list")] = (
        UNSET
    )
    send_to_destination: Annotated[OptionalJson, Meta(description="the answers, each {status, response}")] = UNSET
    response: Annotated[
        OptionalJson,
        Meta(description="what the data plane answered to what was sent: {status, headers, body}; 200 by default"),
    ] = UNSET
    delivered: Annotated[
        OptionalJson,
        Meta(
            description="the requests that arrived, in order, each {method, url, query, headers, body, events}; "
            "an empty list: nothing may arrive. By destination where the source has several"
        ),
    ] = UNSET
    dropped: Annotated[
        OptionalJson,
        Meta(description="what was left out on the way, each {by, reason, destination, fate}"),
    ] = UNSET
    failed: Annotated[
        OptionalJson,
        Meta(
            description="what could not be delivered, each {by, error, status, fate}; nothing, unless this "
            "says otherwise. `any`: it does not matter"
        ),
    ] = UNSET
    attempts: Annotated[
        OptionalJson,
        Meta(
            description="how often a destination was tried: a number; or a list of the tries, each "
            "{status, after, body, headers, response, error}. By destination where there are several"
        ),
    ] = UNSET
    warehouse: Annotated[
        OptionalJson,
        Meta(
            description="what stands in the tables of a warehouse destination: rows by table, in any order; and "
            "`columns`, `discards`, `losses`, `sql: {query, rows}`. By destination where there are several"
        ),
    ] = UNSET
    violations: Annotated[
        OptionalJson,
        Meta(
            description="what the events break of the source's tracking plan, in order, each {type, property, path, "
            "message, event, place, dropped}; an empty list: nothing"
        ),
    ] = UNSET
    capture: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="variables for later steps, from paths of the result: {oid: delivered.0.body.order_id}"),
    ] = UNSET


class RecorderAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the recorder answers one request."""

    status: Annotated[int, Meta(ge=100, le=599)] = 200
    headers: dict[str, str | int] = {}
    body: OptionalJson = UNSET
    delay: Duration = 0.0
    close: Annotated[bool, Meta(description="close the connection instead of an answer")] = False
    truncate: Annotated[bool, Meta(description="close the connection in the middle of the answer")] = False
    times: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="how often in a row: once by default, and the last without end"),
    ] = None
    failed: Annotated[
        list[Annotated[int, Meta(ge=0)]],
        Meta(description="places of the events of a batch that are refused, in the destination's own words"),
    ] = []


RecorderScript: TypeAlias = Annotated[
    dict[str, RecorderAnswer | Annotated[list[RecorderAnswer], Meta(min_length=1)]],
    Meta(description="answers by destination, in order; the last repeats"),
]


Limit: TypeAlias = Annotated[
    Duration | UnsetType, Meta(description="how long it may take, waiting for deliveries included; 10s by default")
]
Exact: TypeAlias = Annotated[
    bool | list[Literal["user_transform", "dest_transform", "send_to_destination", "delivered"]],
    Meta(
        description="what is expected is all there is: objects have no more members than are named, and destinations "
        "that are not named get nothing. True for everything, or a list of what it is true for"
    ),
]
Never: TypeAlias = Annotated[
    list[Any],
    Meta(
        description="what no stage gives and no request has, in any value or key: a text or number, {$regex: ...}, "
        "any other expectation, or {key: email} for members of that name"
    ),
]
Always: TypeAlias = Annotated[
    dict[str, Any],
    Meta(
        description="what each event, payload or request matches: {delivered: {headers: {x-key: {$absent: false}}}}",
        extra_json_schema={"propertyNames": {"enum": ["user_transform", "dest_transform", "delivered"]}},
    ),
]


class Freeze(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A clock that stands still, and ids that are the same in every run."""

    time: Annotated[str, Meta(description="ISO 8601: 2026-01-01T12:00:00Z")] = ""
    ids: Literal["sequence", "random"] = "random"


class Row(msgspec.Struct, frozen=True):
    """One row of `cases`: a test of its own. Every key is a variable."""

    id: Id | int | UnsetType = UNSET
    tags: list[Tag] = []
    skip: Text | None = None
    xfail: Text | None = None


class Verify(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A GET request to a real service that is repeated until the answer is as expected."""

    get: Annotated[str, Meta(description="the address")]
    headers: dict[str, str] = {}
    status: OptionalJson = UNSET
    body: OptionalJson = UNSET
    fail_when: Annotated[
        dict[str, Any] | UnsetType, Meta(description="{status, body}: an answer after which waiting is no use")
    ] = UNSET


class Live(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Runs with --live only: the destination's requests really go out."""

    destination: Annotated[str | UnsetType, Meta(description="the one that is live; the others get nothing")] = UNSET
    within: Duration = 20.0
    every: Duration = 0.5
    verify: Verify | UnsetType = UNSET


BatchSize: TypeAlias = Annotated[
    Literal["off"] | Annotated[int, Meta(ge=1, le=10_000)] | UnsetType,
    Meta(description="how many events a call has, whose events may share requests; off: each has its own"),
]


class Generate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Events that are made up: of the shape of one, with other values, and without some of its members."""

    like: Annotated[str | dict[str, Any], Meta(description="name of a sample event, such as track; or an event")]
    runs: Annotated[int, Meta(ge=1, le=100_000, description="how many are sent")] = 25
    seed: Annotated[int, Meta(description="another one gives other events")] = 0


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One thing that is done, and what must come of it."""

    name: Text | UnsetType = UNSET
    destination: Annotated[str | UnsetType, Meta(description="key or id of a destination of the workspace")] = UNSET
    source: Annotated[str | UnsetType, Meta(description="key or id of a source of the workspace")] = UNSET
    transformation: Annotated[
        str | UnsetType, Meta(description="key of a transformation: it alone is tested, with one event or a list")
    ] = UNSET
    request: Request | UnsetType = UNSET
    event: Annotated[OptionalJson, Meta(description="an event to verify, by the Test API")] = UNSET
    send: Annotated[
        OptionalJson, Meta(description="an event, or a list of them, through the data plane to the end")
    ] = UNSET
    calls: Annotated[
        list[dict[str, Any]] | UnsetType,
        Meta(description="calls of ServiceClient, such as {track: {name: Order Completed}}"),
    ] = UNSET
    generate: Annotated[
        Generate | UnsetType,
        Meta(description="send made-up events, one by one, and show the smallest for which something is wrong"),
    ] = UNSET
    stages: Stages | UnsetType = UNSET
    force: bool = False
    destinationConfig: dict[str, Any] | UnsetType = UNSET  # noqa: N815 - as the Test API spells it
    expect: Expect | UnsetType = UNSET


class Scenario(Step, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One check: an event through the stages or through the data plane, a request as it is, or steps of these."""

    name: Text
    id: Id | UnsetType = UNSET
    tags: list[Tag] = []
    vars: Annotated[dict[str, Any], Meta(description="variables of this scenario, before those of the suite")] = {}
    limit: Limit = UNSET
    steps: Annotated[
        Annotated[list[Step], Meta(min_length=1)] | UnsetType, Meta(description="several that share what they capture")
    ] = UNSET
    cases: Annotated[
        Annotated[list[Row], Meta(min_length=1)] | str | UnsetType,
        Meta(description="rows that run as scenarios of their own; or a .csv, .json, .ndjson or .yaml file of them"),
    ] = UNSET
    matrix: Annotated[
        Annotated[dict[str, Annotated[list[Any], Meta(min_length=1)]], Meta(min_length=1)] | UnsetType,
        Meta(description="every combination of these values is a scenario of its own"),
    ] = UNSET
    recorder: RecorderScript = {}
    setup: Annotated[list[dict[str, Any]], Meta(description="done before, expecting nothing: events or steps")] = []
    teardown: Annotated[list[dict[str, Any]], Meta(description="done after, also after a failure")] = []
    ignore: Annotated[list[Text], Meta(description="paths that are never compared")] = []
    freeze: Freeze | UnsetType = UNSET
    exact: Exact = False
    never: Never = []
    always: Always = {}
    live: Live | UnsetType = UNSET
    batch: BatchSize = UNSET
    serial: Annotated[Text | UnsetType, Meta(description="those of one group never run side by side")] = UNSET
    skip: Text | None = None
    xfail: Text | None = None


class Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What scenarios have that do not say otherwise."""

    destination: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    stages: Stages | UnsetType = UNSET
    force: bool | UnsetType = UNSET


class Suite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A suite file."""

    scenarios: Annotated[list[Scenario], Meta(min_length=1)]
    version: Literal[1] = 1
    suite: Text | UnsetType = UNSET
    tags: list[Tag] = []
    workspace: Annotated[str | UnsetType, Meta(description="the workspace file, relative to this one")] = UNSET
    sources: dict[str, Any] | UnsetType = UNSET
    destinations: dict[str, Any] | UnsetType = UNSET
    transformations: dict[str, Any] | UnsetType = UNSET
    libraries: dict[str, Any] | UnsetType = UNSET
    people: list[Any] | UnsetType = UNSET
    tracking_plans: dict[str, Any] | UnsetType = msgspec.field(default=UNSET, name="trackingPlans")
    vars: dict[str, Any] = {}
    fixtures: Annotated[
        dict[str, Any],
        Meta(description="values by name, for $use: inline, or a .json, .ndjson or .yaml file relative to this one"),
    ] = {}
    defaults: Defaults = Defaults()
    recorder: RecorderScript = {}
    setup: list[dict[str, Any]] = []
    teardown: list[dict[str, Any]] = []
    ignore: list[Text] = []
    limit: Limit = UNSET
    exact: Exact = False
    never: Never = []
    always: Always = {}
    violations: Annotated[
        Literal["forbid"] | UnsetType,
        Meta(description="forbid: no event may break its tracking plan, unless a scenario expects `violations`"),
    ] = UNSET
    freeze: Freeze | UnsetType = UNSET
    batch: BatchSize = UNSET


@cache
def schema() -> dict[str, Json]:
    """The JSON Schema (2020-12) of a suite file. Inside a scenario a lone `$(name)` may stand for any value."""
    definition = yamlfile.schema(Suite)
    definitions = definition["$defs"]
    whole = {
        "tags",
        "cases",
        "matrix",
        "expect",
        "request",
        "generate",
        "steps",
        "recorder",
        "setup",
        "teardown",
        "ignore",
    }
    for name, fixed in (("Scenario", whole), ("Step", whole), ("Stages", set()), ("Expect", {"capture"})):
        properties = definitions[name]["properties"]
        for key in properties.keys() - fixed:
            if properties[key].get("type") in ("boolean", "object") or "$ref" in properties[key]:
                properties[key] = {"if": {"type": "string", "pattern": r"^\$\([^()]+\)$"}, "else": properties[key]}
    return definition


def seconds(duration: Duration) -> float:
    """A duration in seconds.

    >>> seconds("500ms"), seconds("20s"), seconds("2m"), seconds(3)
    (0.5, 20.0, 120.0, 3.0)
    """
    if not isinstance(duration, str):
        return float(duration)
    for unit, factor in (("ms", 0.001), ("s", 1.0), ("m", 60.0)):
        if duration.endswith(unit):
            return float(duration.removesuffix(unit)) * factor
    raise ValueError(duration)
