"""One violation of a tracking plan, under RudderStack's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from svctoolkit.json_types import Json

UNPLANNED_EVENT = "Unplanned-Event"
REQUIRED_MISSING = "Required-Missing"
DATATYPE_MISMATCH = "Datatype-Mismatch"
ADDITIONAL_PROPERTIES = "Additional-Properties"
ADVANCE_RULES = "Advance-Rules-Violation"
UNKNOWN = "Unknown-Violation"

#: all types, in RudderStack's spelling
VIOLATION_TYPES = (
    UNPLANNED_EVENT,
    REQUIRED_MISSING,
    DATATYPE_MISMATCH,
    ADDITIONAL_PROPERTIES,
    ADVANCE_RULES,
    UNKNOWN,
)

_ADVANCE = (
    "minLength maxLength pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems "
    "uniqueItems enum if"
)
_TYPES = {
    "required": REQUIRED_MISSING,
    "type": DATATYPE_MISMATCH,
    "additionalProperties": ADDITIONAL_PROPERTIES,
    "unevaluatedProperties": ADDITIONAL_PROPERTIES,
    **dict.fromkeys(_ADVANCE.split(), ADVANCE_RULES),
}


class Violation(NamedTuple):
    """One violation: its type and message, the missing or superfluous property, and its position.

    `path` is a JSON pointer into the event (`/properties/items/1`), `schema_path` one into the rule's schema, starting
    with `#`. All but type and message are empty for an unplanned event.
    """

    type: str
    message: str
    property: str = ""
    path: str = ""
    schema_path: str = ""

    def meta(self) -> dict[str, str]:
        """Return `instancePath` and `schemaPath`, under RudderStack's names; empty for an unplanned event."""
        if self.type == UNPLANNED_EVENT:
            return {}
        return {"instancePath": self.path, "schemaPath": self.schema_path}

    def as_json(self) -> dict[str, Json]:
        """Return the violation as RudderStack writes it into `context.violationErrors`."""
        return {"type": self.type, "message": self.message, "meta": self.meta(), "property": self.property}

    @classmethod
    def of_json(cls, data: Mapping[str, Json]) -> Violation:
        """Return the violation from the output of `as_json`."""
        meta = data["meta"]
        return cls(
            data["type"], data["message"], data["property"], meta.get("instancePath", ""), meta.get("schemaPath", "")
        )


def type_of(keyword: str) -> str:
    """Return the type of a violation of this JSON Schema keyword."""
    return _TYPES.get(keyword, UNKNOWN)
