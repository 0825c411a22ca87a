"""Scenarios, and their steps."""

# No `annotations` from `__future__`: msgspec would compile each of them again at every start, which takes 10 ms.
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from svctoolkit.runner.suite.format.conditions import (
    Always,
    BatchSize,
    CodeLosses,
    Exact,
    Freeze,
    Limit,
    Never,
    ScenarioFaults,
    Severity,
    Xfail,
)
from svctoolkit.runner.suite.format.expect import Expect
from svctoolkit.runner.suite.format.recorder import Given, RecorderScript
from svctoolkit.runner.suite.format.values import Duration, Id, OptionalJson, Tag, Text


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
