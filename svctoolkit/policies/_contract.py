"""What a kind of policy is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import IntEnum
from typing import TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.policies.arrivals import Arrival, Sent
from svctoolkit.policies.tables import Tables


@dataclass(frozen=True, slots=True)
class Finding:
    """A place where a policy does not hold: a dotted path in a payload, the value there, and what is wrong with it.

    `event`, `event_id` and `place` are those of the event, if the check was not about one event. `events` is how many
    events it is about, `missing` the day on which they were expected and not delivered. `option` is the path of the
    policy's option that is wrong.
    """

    destination: str
    path: str
    text: str
    value: Json = None
    event: str = ""
    event_id: str = ""
    place: str = ""
    events: int = 1
    missing: date | None = None
    option: Sequence[str | int] = ()


#: Checks one event and what arrived of it.
Check: TypeAlias = Callable[[Mapping[str, Json], Sequence[Arrival]], Iterator[Finding]]
#: Returns the positions of events for which a check may find something. It reads the type and names of the events;
#: what was sent is by destination.
Screen: TypeAlias = Callable[[Sequence[Mapping[str, Json]], Mapping[str, Sent]], Iterable[int]]


@dataclass(frozen=True, slots=True)
class Whole:
    """All events of a run together.

    `tables` has what was sent, `delivered` the numbers of delivered events by day, destination and event, also of
    earlier runs; `days` are those of this run, also days without any event between others. `is_complete` is false for
    a few events of a test, in which a member may be missing. `names` are those of the events, `simulated` whether the
    losses of a destination (by key) are known. `paths` are those of a few events (by "") and of what was sent of them
    (by destination), as far as a `Proof` needs them. Checks add to `unchecked` what they could not decide.
    """

    tables: Tables
    delivered: Mapping[tuple[date, str, str], int] = field(default_factory=dict)
    days: Sequence[date] = ()
    is_complete: bool = True
    names: Collection[str] = ()
    simulated: Mapping[str, bool] = field(default_factory=dict)
    paths: Mapping[str, Collection[str]] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)


class Reach(IntEnum):
    """How far a check has got with an event.

    - `NOTHING`: the check is not about what arrived
    - `ARRIVED`: it is, but the event lacks a member that it needs
    - `LACKING`: the same, although the values to check arrived
    - `MEMBER`: the event has the member, without a value or at other destinations
    - `EVENT`: the check is about this event, and what arrived lacks the values
    - `VALUES`: there was a result
    """

    NOTHING = 0
    ARRIVED = 1
    LACKING = 2
    MEMBER = 3
    EVENT = 4
    VALUES = 5


@dataclass(frozen=True, slots=True)
class Proof:
    """Shows that a policy has checked something: one with a misspelt name would hold for any event.

    `reach` is how far the check gets with an event and what arrived of it. `doubts` yields what to report of a run in
    which it got this far. `paths` says which ones it needs to know, to suggest one: the keys of `Whole.paths`.
    """

    reach: Callable[[Mapping[str, Json], Sequence[Arrival]], Reach]
    doubts: Callable[[Reach, Whole], Iterator[Finding]]
    paths: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class ScreenedCheck:
    """Checks one event, and searches many at once for those that need the check: nearly all events keep policies.

    `early` searches what was sent to one destination (by key) while it is still in the CPU cache, for `screen`.
    `searches` returns whether it searches the JSON of nearly all that is sent to a destination.
    """

    check: Check
    screen: Screen
    early: Callable[[str, Sent], None] = lambda _destination, _sent: None
    searches: Callable[[str], bool] = lambda _destination: False
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class WholeCheck:
    """Checks all events of a run together.

    `reads` are the names of the columns that it needs of the table of each destination. `needs_history`: it compares
    with earlier days.
    """

    check: Callable[[Whole], Iterator[Finding]]
    reads: Mapping[str, frozenset[str]] = field(default_factory=dict)
    needs_history: bool = False


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """A kind of policy: the JSON Schema of its options, and the function that makes a check from them.

    The check is about one event, or about all of a run (`WholeCheck`). `make` raises `ConfigError` for options that
    the schema cannot exclude. `destinations` returns the keys of the destinations that the options name.
    """

    help: str
    schema: Mapping[str, Json]
    make: Callable[[Json], Check | ScreenedCheck | WholeCheck]
    destinations: Callable[[Json], Iterable[str]] = lambda _options: ()
