"""The members of a result, as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal, TypedDict


class Absent(Enum):
    """The one value of a member that is not in the result. It is false."""

    ABSENT = "ABSENT"

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> Literal[False]:
        return False


#: The member is not in the result, because its stage was off or did not come to it.
ABSENT: Final = Absent.ABSENT
NO_TRANSFORMATION = "Transformation VersionID not found"
DROPPED = "event dropped by user_transformation"


class StageError(TypedDict):
    """What stands in place of a stage's output."""

    error: str


class Body(TypedDict, total=False):
    """The body of a request: the last member that is not empty is sent."""

    JSON: dict[str, Any]  # whatever the destination takes
    JSON_ARRAY: dict[str, str]
    XML: dict[str, str]
    FORM: dict[str, Any]
    GZIP: dict[str, str]


class Payload(TypedDict, total=False):
    """One element of `dest_transformed_payload`: an HTTP request in the service's format."""

    version: str
    type: str
    method: str
    endpoint: str
    headers: dict[str, Any]  # texts; numbers and booleans where a mapping has them
    params: dict[str, Any]
    body: Body
    files: dict[str, Any]


def error_of(value: object) -> str | None:
    """The text of a stage's `{"error": text}`. An event or answer that has an `error` beside other members is none."""
    kind = type(value)
    if kind is list or (kind is dict and len(value) != 1):  # type: ignore[arg-type]  # nearly all of them
        return None
    if isinstance(value, Mapping) and len(value) == 1 and isinstance(value.get("error"), str):
        return str(value["error"])
    return None
