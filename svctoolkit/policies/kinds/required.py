"""`required`: events of a name arrive with these values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Arrival, Check, Finding, PolicyKind
from svctoolkit.policies.paths import has_value


def make(options: Json) -> Check:
    """Return the check. A value that is null or an empty text is missing, too."""
    name, at = options.get("event"), options["at"]

    def check(event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Iterator[Finding]:
        if name is not None and Event(event).name != name:
            return
        for arrival in arrivals:
            for steps in at.get(arrival.destination, ()):
                if not has_value(arrival, steps):
                    yield Finding(arrival.destination, steps, "is missing")

    return check


kind = PolicyKind(
    "values without which an event must not arrive",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["at"],
        "properties": {
            "event": {"type": "string", "minLength": 1},
            "at": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            },
        },
    },
    make,
    lambda options: options["at"],
)
