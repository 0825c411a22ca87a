"""Types of the members of a result, as in the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal, TypedDict


class Absent(Enum):
    """The value of a member that is not in the result. It is false."""

    ABSENT = "ABSENT"

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> Literal[False]:
        return False


#: The member is not in the result, because its stage was off or was not reached.
ABSENT: Final = Absent.ABSENT
NO_TRANSFORMATION = "Transformation VersionID not found"
DROPPED = "event dropped by user_transformation"


class StageError(TypedDict):
    """Replaces the output of a stage that failed."""

    error: str


class Body(TypedDict, total=False):
    """The body of a request: the last member that is not empty is sent."""

    JSON: dict[str, Any]  # any JSON that the destination accepts
    JSON_ARRAY: dict[str, str]
    XML: dict[str, str]
    FORM: dict[str, Any]
    GZIP: dict[str, str]


class Payload(TypedDict, total=False):
    """One element of `dest_transformed_payload`: an HTTP request in RudderStack's format."""

    version: str
    type: str
    method: str
    endpoint: str
    headers: dict[str, Any]  # strings; numbers and booleans if a mapping sets them
    params: dict[str, Any]
    body: Body
    files: dict[str, Any]


def error_of(value: object) -> str | None:
    """Return the text of a stage's `{"error": text}`; None for anything else, also with members next to `error`."""
    kind = type(value)
    # Fast path for most values.
    if kind is list or value is ABSENT or (kind is dict and len(value) != 1):  # type: ignore[arg-type]
        return None
    if isinstance(value, Mapping) and len(value) == 1 and isinstance(value.get("error"), str):
        return str(value["error"])
    return None
