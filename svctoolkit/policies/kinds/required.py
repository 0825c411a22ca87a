"""`required`: events of a name arrive with these values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.events import EVENT_TYPES, Event
from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Finding, PolicyKind, Proof, Reach, ScreenedCheck, Whole
from svctoolkit.policies.arrivals import Arrival, Sent
from svctoolkit.policies.paths import all_have_value, without_indexes
from svctoolkit.policies.scalars import is_nothing


def make(options: Json) -> ScreenedCheck:
    """Return the check. A value that is null or an empty text is missing, too.

    The name may be a type, such as `identify`: these events have no names, or those of pages. Raises `ConfigError` for
    `track`: these events have names.
    """
    name = options.get("event")
    if name == "track":
        raise ConfigError(
            "'track' is a type of events that have names. Name the event, such as 'Order Completed', or leave out "
            "`event` for events of all names and types"
        )
    if name is not None and not name.strip("*"):
        raise ConfigError(f"{name!r} is not a name. Leave out `event` for events of all names and types")
    at = {key: [*map(without_indexes, places)] for key, places in options["at"].items()}

    is_type = name in EVENT_TYPES

    def is_meant(event: Mapping[str, Json]) -> bool:
        return name is None or Event(event).name == name or (is_type and Event(event).type == name)

    def check(event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Iterator[Finding]:
        if not is_meant(event):
            return
        for arrival in arrivals:
            for steps in at.get(arrival.destination, ()):
                if not all_have_value(arrival, steps):
                    yield Finding(arrival.destination, steps, "is missing")

    def screen(events: Sequence[Mapping[str, Json]], sent: Mapping[str, Sent]) -> Iterator[int]:
        for key, places in at.items():
            for steps in places if key in sent else ():
                # The values first: nearly all are there, and to ask for the name of each event takes longer.
                several = sent[key].same_endpoints
                for position, scalar in enumerate(sent[key].scalars(steps)):
                    is_open = not scalar or is_nothing(scalar) or position in several
                    if is_open and is_meant(events[position]):
                        yield position

    def early(key: str, sent: Sent) -> None:
        for steps in at.get(key, ()):
            sent.scalars(steps)

    def reach(event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Reach:
        return (
            Reach.VALUES
            if is_meant(event) and any(arrival.destination in at for arrival in arrivals)
            else Reach.NOTHING
        )

    def doubts(reached: Reach, whole: Whole) -> Iterator[Finding]:
        where = ", ".join(at)
        if reached == Reach.VALUES:
            return
        names = (*whole.names, *EVENT_TYPES)
        if name is not None and name not in names and (near := did_you_mean(name, names)):
            text = f"cannot be checked: none of the events is called {name!r}.{near}"
            yield Finding(next(iter(at)), "", text, option=("event",))
        else:
            whole.unchecked.append(
                f"required: no {f'{name!r} event' if name is not None else 'event'} arrives at {where}"
            )

    return ScreenedCheck(check, screen, early, at.__contains__, Proof(reach, doubts))


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
