"""`required`: events of a name arrive with these values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Finding, PolicyKind, ScreenedCheck
from svctoolkit.policies.arrivals import Arrival, Sent
from svctoolkit.policies.paths import has_value
from svctoolkit.policies.scalars import is_nothing


def make(options: Json) -> ScreenedCheck:
    """Return the check. A value that is null or an empty text is missing, too."""
    name, at = options.get("event"), options["at"]

    def check(event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Iterator[Finding]:
        if name is not None and Event(event).name != name:
            return
        for arrival in arrivals:
            for steps in at.get(arrival.destination, ()):
                if not has_value(arrival, steps):
                    yield Finding(arrival.destination, steps, "is missing")

    def screen(events: Sequence[Mapping[str, Json]], sent: Mapping[str, Sent]) -> Iterator[int]:
        wanted = [(sent[key], steps) for key, places in at.items() if key in sent for steps in places]
        for position, event in enumerate(events):
            if name is not None and Event(event).name != name:
                continue
            if not all((scalar := of.scalar(position, steps)) and not is_nothing(scalar) for of, steps in wanted):
                yield position

    def early(key: str, sent: Sent) -> None:
        for steps in at.get(key, ()):
            sent.search(steps)

    return ScreenedCheck(check, screen, early)


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
