"""The format of a suite file, as types. The schema that checks files and serves editors is made from them."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from svctoolkit import yamlfile

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Tag: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="a word, to select scenarios by")]
Id: TypeAlias = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="names the test; never changes")
]
Json: TypeAlias = Any | UnsetType

#: What a suite may say of its workspace inline, in the shape of the workspace file.
WORKSPACE_KEYS = ("sources", "destinations", "transformations", "libraries", "people")


class Credentials(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who asks."""

    email: str
    token: str


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to the data plane as it is, valid or not."""

    path: Annotated[str, Meta(description="with the query: /v0/testDestination/hook?force=true")]
    method: Text = "POST"
    headers: dict[str, str] = {}
    json: Annotated[Json, Meta(description="the body, sent as JSON")] = UNSET
    body: Annotated[str | UnsetType, Meta(description="the body, sent as this text")] = UNSET
    auth: Annotated[bool | Credentials, Meta(description="true: valid credentials; false: none")] = True


class Stages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which stages run. What is left out is left out of the request, too."""

    user_transform: bool | UnsetType = UNSET
    dest_transform: bool | UnsetType = UNSET
    send_to_destination: bool | UnsetType = UNSET


class Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must come. Objects match as subsets, lists exactly; `$operators` for the rest."""

    status: Annotated[
        Json, Meta(description="HTTP status of the answer; 200 unless this or `error` says otherwise")
    ] = UNSET
    headers: Annotated[dict[str, Any] | UnsetType, Meta(description="headers of the answer, names in any case")] = UNSET
    body: Annotated[Json, Meta(description="the whole answer")] = UNSET
    error: Annotated[Json, Meta(description="why the request was refused, or the destination is not tested")] = UNSET
    user_transform: Annotated[Json, Meta(description="the events that came out; one alone needs no list")] = UNSET
    dest_transform: Annotated[Json, Meta(description="the payloads that came out; one alone needs no list")] = UNSET
    send_to_destination: Annotated[Json, Meta(description="the answers, each {status, response}")] = UNSET


class Row(msgspec.Struct, frozen=True):
    """One row of `cases`: a test of its own. Every key is a variable."""

    id: Id | int | UnsetType = UNSET
    tags: list[Tag] = []
    skip: Text | None = None
    xfail: Text | None = None


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One check: an event through the stages of a destination or a source, or a request as it is."""

    name: Text
    expect: Expect
    id: Id | UnsetType = UNSET
    tags: list[Tag] = []
    destination: Annotated[str | UnsetType, Meta(description="key or id of a destination of the workspace")] = UNSET
    source: Annotated[str | UnsetType, Meta(description="key or id of a source of the workspace")] = UNSET
    request: Request | UnsetType = UNSET
    event: dict[str, Any] | UnsetType = UNSET
    stages: Stages | UnsetType = UNSET
    force: bool = False
    destinationConfig: dict[str, Any] | UnsetType = UNSET  # noqa: N815 - as the Test API spells it
    cases: Annotated[list[Row], Meta(min_length=1)] | UnsetType = UNSET
    skip: Text | None = None
    xfail: Text | None = None


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
    vars: dict[str, Any] = {}


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a suite file. Inside a scenario a lone `$(name)` may stand for any value."""
    made = yamlfile.schema(Suite)
    definitions = made["$defs"]
    for name, fixed in (("Scenario", {"tags", "cases", "expect", "request"}), ("Stages", set()), ("Expect", set())):
        properties = definitions[name]["properties"]
        for key in properties.keys() - fixed:
            if properties[key].get("type") in ("boolean", "object") or "$ref" in properties[key]:
                properties[key] = {"if": {"type": "string", "pattern": r"^\$\([^()]+\)$"}, "else": properties[key]}
    return made
