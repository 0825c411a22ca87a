"""What arrives at destinations: of one event, or of a batch, which is searched at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from svctoolkit import personal
from svctoolkit.json_types import Json
from svctoolkit.policies.scalars import scalar_at
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


def endpoint_of(payload: Json) -> str:
    """Return the address of a request; empty for a payload without one."""
    address = payload.get("endpoint") if isinstance(payload, dict) else None
    return address if isinstance(address, str) else ""


class Sent:
    """What the events of a batch become at one destination: payloads and losses, by the position of the event.

    The payloads become JSON once, for all policies, and only if one searches it.
    """

    def __init__(self, destination: str, payloads: Sequence[Sequence[Json]], losses: Sequence[Sequence[Loss]]) -> None:
        self._destination = destination
        self.payloads, self.losses = payloads, losses
        self._searched: dict[frozenset[str], set[int]] = {}
        self._scalars: dict[str, dict[int, bytes]] = {}

    def arrival(self, position: int) -> Arrival | None:
        """Return what arrived of an event; None if nothing did."""
        payloads = self.payloads[position]
        return Arrival(self._destination, payloads, self.losses[position]) if payloads else None

    @cached_property
    def plain(self) -> list[bytes | None]:
        """`Arrival.plain` of each event."""
        text, have_json = self._lines
        lines = text.split(b"\n")[:-1]
        if b"\\" not in text:
            return [*lines] if have_json else [line or None for line in lines]
        opened = [open_json(line) if b"\\" in line else line for line in lines]
        return [line if line and b"\\" not in line else None for line in opened]

    def scalar(self, position: int, steps: str) -> bytes:
        """Return the JSON of a scalar of an event, as `scalar_at` does. Policies about the same value search once."""
        known = self._scalars.setdefault(steps, {})
        if position not in known:
            known[position] = scalar_at(self.plain[position], steps)
        return known[position]

    @cached_property
    def endpoints(self) -> list[list[str]]:
        """The addresses of the requests of each event; empty for payloads without one."""
        return [[*map(endpoint_of, payloads)] for payloads in self.payloads]

    def search(self) -> None:
        """Make the JSON now, while the payloads are still in the CPU cache."""
        _ = self.plain

    def may_have(self, kinds: Collection[str]) -> set[int]:
        """Return the positions of events whose payloads may have personal data of kinds that have a form."""
        key = frozenset(kinds)
        if key not in self._searched:
            text, _ = self._lines
            text = text.replace(b'\\"', b'"') if b"\\" in text else text
            self._searched[key] = personal.lines_with(kinds, text) | self._unsearchable(text)
        return self._searched[key]

    @cached_property
    def _lines(self) -> tuple[bytes, bool]:
        return _lines_of(self.payloads)

    def _unsearchable(self, text: bytes) -> set[int]:
        """Return the positions of events whose JSON has other escaped characters than quotes, or which have no JSON."""
        if b"\\" not in text and self._lines[1]:
            return set()
        lines = enumerate(text.split(b"\n")[:-1])
        return {position for position, line in lines if not line or b"\\" in line}


def _lines_of(payloads: Sequence[Sequence[Json]]) -> tuple[bytes, bool]:
    """Return a line of JSON for the payloads of each event, and whether all have one: it is empty otherwise."""
    lines = [[with_raw_texts(payload) for payload in of_event] for of_event in payloads]
    try:
        text = _encoder.encode_lines(lines)
        if text.count(b"\n") == len(lines):
            return text, True
    except (TypeError, ValueError, RecursionError):
        pass
    return b"".join(map(_line_of, lines)), False


def _line_of(payloads: Sequence[Json]) -> bytes:
    try:
        return _encoder.encode(payloads).replace(b"\n", b" ") + b"\n"
    except (TypeError, ValueError, RecursionError):
        return b"\n"
