"""The format of a suite file as types, from which the schemas for checks and editors are generated."""

# No `annotations` from `__future__`: msgspec would compile each of them again at every start, which takes 10 ms.
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from svctoolkit import yamlfile
from svctoolkit.delivery.faults import Faults
from svctoolkit.json_types import Json

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Tag: TypeAlias = Annotated[
    str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z", description="a word for selecting scenarios")
]
Id: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*\Z", description="stable id of the test")]
OptionalJson: TypeAlias = Any | UnsetType
Duration: TypeAlias = (
    Annotated[str, Meta(pattern=r"^[0-9]+(\.[0-9]+)?(ms|s|m|h)\Z", description="500ms, 20s, 2m, 1h")]
    | Annotated[float, Meta(ge=0, description="seconds")]
)

#: The parts of a workspace that a suite may contain, in the format of the workspace file.
WORKSPACE_KEYS = ("sources", "destinations", "transformations", "libraries", "users", "trackingPlans")


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A raw request to the data plane, valid or not."""

    path: Annotated[str, Meta(description="path and query: /v0/testDestination/hook?force=true")]
    method: Text = "POST"
    headers: dict[str, str] = {}
    json: Annotated[OptionalJson, Meta(description="body, sent as JSON")] = UNSET
    body: Annotated[str | UnsetType, Meta(description="body, sent as this text")] = UNSET
    auth: Annotated[
        bool | dict[str, str],
        Meta(description="true: valid credentials; false: none; {email, token}; {source}: its write key"),
    ] = True


class Stages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which stages run. Stages that are not set are left out of the request."""

    user_transform: bool | UnsetType = UNSET
    dest_transform: bool | UnsetType = UNSET
    send_to_destination: bool | UnsetType = UNSET


class Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The expected results. Objects match as subsets, lists exactly; use `$operators` for anything else."""

    status: Annotated[
        OptionalJson, Meta(description="HTTP status of the response; 200 unless this or `error` is set")
    ] = UNSET
    headers: Annotated[dict[str, Any] | UnsetType, Meta(description="headers of the response, names in any case")] = (
        UNSET
    )
    body: Annotated[OptionalJson, Meta(description="the entire response body")] = UNSET
    error: Annotated[
        OptionalJson, Meta(description="why the request was rejected, or the destination cannot be tested")
    ] = UNSET
    user_transform: Annotated[OptionalJson, Meta(description="the resulting events; a single one needs no list")] = (
        UNSET
    )
    dest_transform: Annotated[OptionalJson, Meta(description="the resulting payloads; a single one needs no list")] = (
        UNSET
    )
    send_to_destination: Annotated[OptionalJson, Meta(description="the responses, each {status, response}")] = UNSET
    response: Annotated[
        OptionalJson,
        Meta(description="the data plane's response: {status, headers, body}; status 200 by default"),
    ] = UNSET
    received: Annotated[
        OptionalJson,
        Meta(
            description="the events that the data plane accepted, in order, such as those that a webhook became; a "
            "single one needs no list"
        ),
    ] = UNSET
    delivered: Annotated[
        OptionalJson,
        Meta(
            description="the requests that arrived, in order, each {method, url, query, headers, body, events}; "
            "an empty list: nothing may arrive. By destination if the source has several"
        ),
    ] = UNSET
    dropped: Annotated[
        OptionalJson,
        Meta(description="the dropped events, each {by, reason, destination, fate}"),
    ] = UNSET
    failed: Annotated[
        OptionalJson,
        Meta(
            description="the failed events, each {by, error, status, fate}; none by default. "
            "`any`: failures do not matter"
        ),
    ] = UNSET
    attempts: Annotated[
        OptionalJson,
        Meta(
            description="number of requests to a destination; or a list of the tries, each "
            "{status, after, body, headers, response, error}. By destination if there are several"
        ),
    ] = UNSET
    warehouse: Annotated[
        OptionalJson,
        Meta(
            description="the tables of a warehouse destination: rows by table, in any order; and "
            "`columns`, `discards`, `losses`, `sql: {query, rows}`. By destination if there are several"
        ),
    ] = UNSET
    violations: Annotated[
        OptionalJson,
        Meta(
            description="the events' violations of the source's tracking plan, in order, each {type, property, path, "
            "message, event, place, dropped}; an empty list: none"
        ),
    ] = UNSET
    holds: Annotated[
        OptionalJson,
        Meta(
            description="what a simulated destination holds after the step: rows by table, in any order, such as "
            "`profiles: [{ids, attributes}]` and `events: [{name, under}]`; `counts` of rows by table; `nobody`: ids "
            "that no profile has. By destination if several are simulated"
        ),
    ] = UNSET
    lost: Annotated[
        OptionalJson,
        Meta(
            description="what simulated destinations lost in the step although it may be delivered, in any order, each "
            "{what, rule, destination, table, place, value, events}; an empty list: nothing. By destination if several "
            "are simulated"
        ),
    ] = UNSET
    result: Annotated[OptionalJson, Meta(description="what a Python step returns")] = UNSET
    deleted: Annotated[
        OptionalJson,
        Meta(
            description="the deletion at a destination: {status, error, tries, requests}; `complete` by default. By "
            "destination if there are several"
        ),
    ] = UNSET
    fetched: Annotated[
        OptionalJson,
        Meta(
            description="the requests of user code (fetch, fetchV2, geolocation), in order, each {method, url, path, "
            "query, headers, body, status, response, transformation}; an empty list: none. By destination if there are "
            "several"
        ),
    ] = UNSET
    logs: Annotated[
        OptionalJson,
        Meta(
            description="the lines that user code logged, in order: texts, or {level, text, event, transformation}. By "
            "destination if there are several"
        ),
    ] = UNSET
    losses: Annotated[
        OptionalJson,
        Meta(
            description="the values that user code returned and JSON cannot represent (NaN, Infinity, undefined, Set, "
            "Map), in order, each {path, value, becomes, event, transformation}; an empty list: none. By destination "
            "if there are several"
        ),
    ] = UNSET
    capture: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="variables for later steps, from paths of the result: {oid: delivered.0.body.order_id}"),
    ] = UNSET


class RecorderAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the recorder responds to one request."""

    status: Annotated[int, Meta(ge=100, le=599)] = 200
    headers: dict[str, str | int] = {}
    body: OptionalJson = UNSET
    delay: Duration = 0.0
    close: Annotated[
        bool | Literal["after"],
        Meta(
            description="close the connection instead of responding; after: a simulated destination takes the request"
        ),
    ] = False
    truncate: Annotated[bool, Meta(description="close the connection in the middle of the response")] = False
    times: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="number of times in a row: once by default; the last one repeats"),
    ] = None
    failed: Annotated[
        list[Annotated[int, Meta(ge=0)]],
        Meta(description="indexes of the batch's events that are rejected, in the destination's format"),
    ] = []
    when: Annotated[
        OptionalJson,
        Meta(
            description="only for requests that match: an expectation with some of method, url, path, query, headers "
            "and body. Responses with the same condition are a sequence of their own"
        ),
    ] = UNSET


RecorderScript: TypeAlias = Annotated[
    dict[str, RecorderAnswer | Annotated[list[RecorderAnswer], Meta(min_length=1)]],
    Meta(
        description="responses by destination, or by the URL prefix that user code requests, in order; the last one "
        "repeats"
    ),
]


Given: TypeAlias = Annotated[
    dict[str, dict[str, Any]],
    Meta(
        description="what simulated destinations hold before the scenario, by destination: rows by table as in "
        "`holds`, and what else the account has, such as `lists: [news]`"
    ),
]


Limit: TypeAlias = Annotated[
    Duration | UnsetType, Meta(description="timeout, including the wait for deliveries; 10s by default")
]
Exact: TypeAlias = Annotated[
    bool | list[Literal["user_transform", "dest_transform", "send_to_destination", "delivered"]],
    Meta(
        description="no results other than the expected ones: objects have no other members, and destinations "
        "that are not named receive nothing. True for everything, or a list of results"
    ),
]
Never: TypeAlias = Annotated[
    list[Any],
    Meta(
        description="must not occur in any value or key of a stage or request: a string or number, {$regex: ...}, "
        "another expectation, or {key: email} for members of that name"
    ),
]
Always: TypeAlias = Annotated[
    dict[Literal["user_transform", "dest_transform", "delivered"], Any],
    Meta(
        description="every event, payload or request must match: {delivered: {headers: {x-key: {$absent: false}}}}",
        extra_json_schema={"propertyNames": {"enum": ["user_transform", "dest_transform", "delivered"]}},
    ),
]


class Freeze(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A frozen clock, and ids that are the same in every run."""

    time: Annotated[str, Meta(description="ISO 8601: 2026-01-01T12:00:00Z")] = ""
    ids: Literal["sequence", "random"] = "random"


class Xfail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A known bug: why a scenario is expected to fail, and what differs because of it."""

    reason: Text
    differs: Annotated[
        Text | Annotated[list[Text], Meta(min_length=1)],
        Meta(
            description="path of the result that is wrong, such as delivered.0.body.total, or a list of paths; any "
            "other difference is a failure"
        ),
    ]


Severity: TypeAlias = Annotated[
    Literal["error", "warn"], Meta(description="warn: a difference is reported, but is not a failure")
]


PolicyFile: TypeAlias = Annotated[
    str | UnsetType,
    Meta(description="a file of policies (`policies.yaml`) that must hold for everything that scenarios send or map"),
]
CodeLosses: TypeAlias = Annotated[
    Literal["forbid", "allow"] | UnsetType,
    Meta(
        description="forbid: user code must not return values that JSON cannot represent, such as NaN, unless a step "
        "expects `losses`"
    ),
]


class Row(msgspec.Struct, frozen=True):
    """One row of `cases`, which is a separate test. Every key is a variable."""

    id: Id | int | UnsetType = UNSET
    tags: list[Tag] = []
    skip: Text | None = None
    xfail: Text | Xfail | None = None


class Verify(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A GET request to a real service that is repeated until the response is as expected."""

    get: Annotated[str, Meta(description="the URL")]
    headers: dict[str, str] = {}
    status: OptionalJson = UNSET
    body: OptionalJson = UNSET
    fail_when: Annotated[
        dict[str, Any] | UnsetType, Meta(description="{status, body}: a response that ends the polling as a failure")
    ] = UNSET


class Live(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Runs only with --live: the destination's requests are really sent."""

    destination: Annotated[str | UnsetType, Meta(description="the live destination; the others receive nothing")] = (
        UNSET
    )
    within: Duration = 20.0
    every: Duration = 0.5
    verify: Verify | UnsetType = UNSET


BatchSize: TypeAlias = Annotated[
    Literal["off"] | Annotated[int, Meta(ge=1, le=10_000)] | UnsetType,
    Meta(description="number of events per call, which may share requests; off: one request for each event"),
]


class Generate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Generated events: like a given one, with other values, and without some of its members."""

    like: Annotated[str | dict[str, Any], Meta(description="name of a sample event, such as track; or an event")]
    runs: Annotated[int, Meta(ge=1, le=100_000, description="number of events")] = 25
    seed: Annotated[int, Meta(description="random seed")] = 0


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One action, and its expected results."""

    name: Text | UnsetType = UNSET
    wait: Annotated[
        Duration | UnsetType,
        Meta(
            description="time that passes before the step, on the scenario's clock: 1h takes no time. May be all of it"
        ),
    ] = UNSET
    destination: Annotated[str | UnsetType, Meta(description="key or id of a destination of the workspace")] = UNSET
    source: Annotated[str | UnsetType, Meta(description="key or id of a source of the workspace")] = UNSET
    only: Annotated[
        str | Annotated[list[str], Meta(min_length=1)] | UnsetType,
        Meta(description="keys of the destinations that get the sent events; the source's others do no work"),
    ] = UNSET
    transformation: Annotated[
        str | UnsetType, Meta(description="key of a transformation to test alone, with one event or a list")
    ] = UNSET
    request: Request | UnsetType = UNSET
    event: Annotated[OptionalJson, Meta(description="an event to verify with the Test API")] = UNSET
    send: Annotated[
        OptionalJson,
        Meta(
            description="an event, or a list of them, to send through the data plane; or a webhook: {webhook: SOURCE, "
            "topic, body, query, headers}"
        ),
    ] = UNSET
    calls: Annotated[
        list[dict[str, Any]] | UnsetType,
        Meta(description="calls of ServiceClient, such as {track: {name: Order Completed}}"),
    ] = UNSET
    delete: Annotated[
        OptionalJson,
        Meta(
            description="users to delete: an id, {userId, email, ...}, or a list of these; at the `destination`, or "
            "those in `only`, or all whose type can"
        ),
    ] = UNSET
    generate: Annotated[
        Generate | UnsetType,
        Meta(description="send generated events, one by one, and report the smallest one that fails"),
    ] = UNSET
    python: Annotated[
        Text | UnsetType, Meta(description="name of a Python step, of an entry point in the group svctoolkit.steps")
    ] = UNSET
    arguments: Annotated[dict[str, Any] | UnsetType, Meta(description="arguments of the Python step, by name")] = UNSET
    repeat: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)] | UnsetType,
        Meta(description="send the events, or make the calls, this many times; $(index) counts from 0"),
    ] = UNSET
    stages: Stages | UnsetType = UNSET
    force: bool = False
    destinationConfig: dict[str, Any] | UnsetType = UNSET  # noqa: N815 - as the Test API spells it
    expect: Expect | UnsetType = UNSET


class ScenarioFaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Fault profiles during a scenario: names of the workspace's profiles, or profiles."""

    destinations: Annotated[dict[Text, str | Faults], Meta(description="by destination")] = {}
    sources: Annotated[dict[Text, str | Faults], Meta(description="by source: for the requests of its clients")] = {}


class Scenario(Step, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One test: an event through the stages or through the data plane, a raw request, or a list of steps."""

    name: Text
    id: Id | UnsetType = UNSET
    tags: list[Tag] = []
    vars: Annotated[
        dict[str, Any], Meta(description="variables of this scenario; they override those of the suite")
    ] = {}
    limit: Limit = UNSET
    steps: Annotated[
        Annotated[list[Step], Meta(min_length=1)] | UnsetType, Meta(description="steps that share captured values")
    ] = UNSET
    cases: Annotated[
        Annotated[list[Row], Meta(min_length=1)] | str | UnsetType,
        Meta(description="rows that run as separate scenarios; or a .csv, .json, .ndjson or .yaml file of them"),
    ] = UNSET
    matrix: Annotated[
        Annotated[dict[str, Annotated[list[Any], Meta(min_length=1)]], Meta(min_length=1)] | UnsetType,
        Meta(description="every combination of these values is a separate scenario"),
    ] = UNSET
    recorder: RecorderScript = {}
    faults: ScenarioFaults = ScenarioFaults()
    given: Given = {}
    setup: Annotated[
        list[dict[str, Any]], Meta(description="events or steps before the scenario, without expectations")
    ] = []
    teardown: Annotated[
        list[dict[str, Any]], Meta(description="events or steps after the scenario, even after a failure")
    ] = []
    ignore: Annotated[list[Text], Meta(description="paths that are never compared")] = []
    freeze: Freeze | UnsetType = UNSET
    exact: Exact = False
    never: Never = []
    always: Always = {}
    live: Live | UnsetType = UNSET
    batch: BatchSize = UNSET
    serial: Annotated[Text | UnsetType, Meta(description="scenarios of the same group never run in parallel")] = UNSET
    skip: Text | None = None
    xfail: Text | Xfail | None = None
    severity: Severity | UnsetType = UNSET
    losses: CodeLosses = UNSET


class Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Default values for scenarios."""

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
    users: list[Any] | UnsetType = UNSET
    tracking_plans: dict[str, Any] | UnsetType = msgspec.field(default=UNSET, name="trackingPlans")
    vars: dict[str, Any] = {}
    fixtures: Annotated[
        dict[str, Any],
        Meta(description="values by name, for $use: inline, or a .json, .ndjson or .yaml file relative to this one"),
    ] = {}
    defaults: Defaults = Defaults()
    recorder: RecorderScript = {}
    given: Given = {}
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
    lost: Annotated[
        Literal["forbid"] | UnsetType,
        Meta(description="forbid: no simulated destination may lose anything, unless a step expects `lost`"),
    ] = UNSET
    losses: CodeLosses = UNSET
    policies: PolicyFile = UNSET
    freeze: Freeze | UnsetType = UNSET
    batch: BatchSize = UNSET
    severity: Severity = "error"


@cache
def schema() -> dict[str, Json]:
    """Return the JSON Schema (2020-12) of a suite file. Inside a scenario, `$(name)` may replace any value."""
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
        "given",
        "setup",
        "teardown",
        "ignore",
    }
    for name, fixed in (("Scenario", whole), ("Step", whole), ("Stages", set()), ("Expect", {"capture"})):
        properties = definitions[name]["properties"]
        for key in properties.keys() - fixed:
            if properties[key].get("type") in ("boolean", "object", "integer") or "$ref" in properties[key]:
                properties[key] = {"if": {"type": "string", "pattern": r"^\$\([^()]+\)$"}, "else": properties[key]}
    return definition


def seconds(duration: Duration) -> float:
    """Return a duration in seconds.

    >>> seconds("500ms"), seconds("20s"), seconds("2m"), seconds("1h"), seconds(3)
    (0.5, 20.0, 120.0, 3600.0, 3.0)
    """
    if not isinstance(duration, str):
        return float(duration)
    for unit, factor in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)):
        if duration.endswith(unit):
            return float(duration.removesuffix(unit)) * factor
    raise ValueError(duration)
