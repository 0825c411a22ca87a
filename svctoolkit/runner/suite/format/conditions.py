"""The conditions under which a scenario runs, and what must hold in all of it."""

# No `annotations` from `__future__`: msgspec would compile each of them again at every start, which takes 10 ms.
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, UnsetType

from svctoolkit.delivery.faults import Faults
from svctoolkit.runner.suite.format.values import Duration, Text

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


CodeLosses: TypeAlias = Annotated[
    Literal["forbid", "allow"] | UnsetType,
    Meta(
        description="forbid: user code must not return values that JSON cannot represent, such as NaN, unless a step "
        "expects `losses`"
    ),
]


BatchSize: TypeAlias = Annotated[
    Literal["off"] | Annotated[int, Meta(ge=1, le=10_000)] | UnsetType,
    Meta(description="number of events per call, which may share requests; off: one request for each event"),
]


class ScenarioFaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Fault profiles during a scenario: names of the workspace's profiles, or profiles."""

    destinations: Annotated[dict[Text, str | Faults], Meta(description="by destination")] = {}
    sources: Annotated[dict[Text, str | Faults], Meta(description="by source: for the requests of its clients")] = {}
