"""A suite file, and its JSON Schema."""

# No `annotations` from `__future__`: msgspec would compile each of them again at every start, which takes 10 ms.
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from svctoolkit import yamlfile
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.format.conditions import (
    Always,
    BatchSize,
    CodeLosses,
    Exact,
    Freeze,
    Limit,
    Never,
    Severity,
)
from svctoolkit.runner.suite.format.recorder import Given, RecorderScript
from svctoolkit.runner.suite.format.scenario import Scenario, Stages
from svctoolkit.runner.suite.format.values import Tag, Text

#: The parts of a workspace that a suite may contain, in the format of the workspace file.
WORKSPACE_KEYS = ("sources", "destinations", "transformations", "libraries", "users", "trackingPlans")


PolicyFile: TypeAlias = Annotated[
    str | UnsetType,
    Meta(description="a file of policies (`policies.yaml`) that must hold for everything that scenarios send or map"),
]


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
