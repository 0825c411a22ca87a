"""What a kind of policy is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import TypeAlias

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.policies.tables import Tables
from svctoolkit.results.texts import open_json, open_texts, with_raw_texts
from svctoolkit.simulations import Loss

_encoder = msgspec.json.Encoder()


@dataclass(frozen=True)
class Arrival:
    """What one event becomes at a destination (by key): its payloads, or rows of tables for a warehouse.

    `losses` is what a simulated destination lost of it.
    """

    destination: str
    payloads: Sequence[Json]
    losses: Sequence[Loss] = field(default=())

    @cached_property
    def plain(self) -> bytes | None:
        """The payloads as JSON in which each quote begins or ends a text, so that `"name":` is always a member.

        JSON inside texts is opened. None if any character is escaped then.
        """
        if self._encoded is None or b"\\" not in self._encoded:
            return self._encoded
        opened = open_json(self._encoded)
        return None if b"\\" in opened else opened

    @cached_property
    def text(self) -> bytes | None:
        """The payloads as JSON, to be searched, which is much faster than to visit each value.

        Quotes of JSON inside texts are not escaped there. So what looks like a member may be text: look at the value
        itself before you believe it. None if other characters are escaped: a search could miss them.
        """
        if self._encoded is None or b"\\" not in self._encoded:
            return self._encoded
        text = self._encoded.replace(b'\\"', b'"')
        return None if b"\\" in text else text

    def lacks(self, name: str) -> bool:
        """Whether no member of the payloads has this name for certain, also not in JSON inside texts."""
        return (
            self._encoded is not None and name.isascii() and name.isidentifier() and name.encode() not in self._encoded
        )

    @cached_property
    def _encoded(self) -> bytes | None:
        """The payloads as JSON. Texts that are JSON are opened where destinations expect them: see `with_raw_texts`."""
        try:
            return _encoder.encode([with_raw_texts(payload) for payload in self.payloads])
        except (TypeError, ValueError, RecursionError):
            return None

    @cached_property
    def opened(self) -> list[Json]:
        """The payloads, with objects and lists instead of texts that are their JSON."""
        return [open_texts(payload) for payload in self.payloads]


@dataclass(frozen=True, slots=True)
class Finding:
    """A place where a policy does not hold: a dotted path in a payload, the value there, and what is wrong with it.

    `event`, `event_id` and `place` are those of the event, if the check was not about one event. `events` is how many
    events it is about.
    """

    destination: str
    path: str
    text: str
    value: Json = None
    event: str = ""
    event_id: str = ""
    place: str = ""
    events: int = 1


#: Checks one event and what arrived of it.
Check: TypeAlias = Callable[[Mapping[str, Json], Sequence[Arrival]], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Whole:
    """All events of a run together.

    `tables` has what was sent, `delivered` the numbers of delivered events by day, destination and event, also of
    earlier runs; `days` are those of this run. `is_complete` is false for a few events of a test, in which a member
    may be missing. Checks add to `unchecked` what they could not decide.
    """

    tables: Tables
    delivered: Mapping[tuple[date, str, str], int] = field(default_factory=dict)
    days: Sequence[date] = ()
    is_complete: bool = True
    unchecked: list[str] = field(default_factory=list)


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
    make: Callable[[Json], Check | WholeCheck]
    destinations: Callable[[Json], Iterable[str]] = lambda _options: ()
