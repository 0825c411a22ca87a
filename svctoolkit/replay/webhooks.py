"""Recorded webhooks through their source: which would be refused, and which events the others become.

A file has one webhook per line (NDJSON): the body as the vendor sent it, or a record with a `request`, as
`/inspect/webhooks` lists them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from svctoolkit.errors import ConfigError, InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.pipeline.webhooks import handle
from svctoolkit.sources import Memory, accepted, pack
from svctoolkit.workspace import Workspace

_SHOWN = 5  # places of each reason


class Refusal(NamedTuple):
    """A webhook that would be refused: where it is, and what the vendor would be answered."""

    place: str
    status: int
    reason: str


@dataclass
class ReplayedWebhooks:
    """The outcome of recorded webhooks: `events`, in order, `refused`, and the number that only got an answer.

    Refused webhooks are lost in production.
    """

    webhooks: int = 0
    answered: int = 0
    events: list[dict[str, Json]] = field(default_factory=list, repr=False)
    refused: list[Refusal] = field(default_factory=list, repr=False)

    @property
    def names(self) -> Counter[str]:
        """How many events there are of each type and name."""
        return Counter(f"{event.get('type')} {event.get('event') or ''}".strip() for event in self.events)

    def lines(self) -> Iterator[str]:
        """Yield a report: the numbers, the reasons of refusals with places, and the events."""
        yield f"{self.webhooks} webhooks: {len(self.refused)} refused, {self.answered} only answered"
        yield from _reasons(self.refused, "refused")
        yield f"{len(self.events)} events: " + ", ".join(f"{n} {name}" for name, n in self.names.most_common(10))


def replay_webhooks(files: Iterable[str | Path], workspace: Workspace, source: str) -> ReplayedWebhooks:
    """Return what a source (key or id) makes of recorded webhooks; carts and visitors are remembered meanwhile.

    Ids that the source makes up are the same in each replay. Raises `UnknownName`, `UsageError` for a source of SDK
    events, and `ConfigError` for a file that cannot be read.
    """
    found, result, now = workspace.source(source), ReplayedWebhooks(), datetime.now(UTC)
    memory = Memory(lambda: now)
    for place, request in _requests(files):
        result.webhooks += 1
        try:
            handled = handle(found, request, now, _ids(place), memory)
            accepted(handled)
        except InvalidWebhook as error:
            result.refused.append(Refusal(place, error.status, str(error)))
            continue
        result.answered += not handled.events
        result.events += handled.events
    return result


def compare_refusals(before: ReplayedWebhooks, after: ReplayedWebhooks) -> Iterator[str]:
    """Yield a report: which webhooks only one of two replays of the same webhooks refuses."""
    old, new = ({refusal.place: refusal for refusal in each.refused} for each in (before, after))
    yield from _reasons([refusal for place, refusal in new.items() if place not in old], "newly refused")
    yield from _reasons([refusal for place, refusal in old.items() if place not in new], "no longer refused")


def _reasons(refused: Iterable[Refusal], what: str) -> Iterator[str]:
    by_reason: dict[tuple[int, str], list[str]] = {}
    for refusal in refused:
        by_reason.setdefault((refusal.status, refusal.reason), []).append(refusal.place)
    for (status, reason), places in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        more = ", ..." if len(places) > _SHOWN else ""
        yield f"{len(places)} {what} with {status} {reason}: {', '.join(places[:_SHOWN])}{more}"


def _ids(place: str) -> Callable[[], str]:
    """Return ids that depend on the place of a webhook only."""
    numbers = count()
    return lambda: str(uuid5(NAMESPACE_URL, f"{place}#{next(numbers)}"))


def _requests(files: Iterable[str | Path]) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield each webhook with its place, `file:line`. A line that is not JSON is a body that is not JSON."""
    for file in files:
        try:
            with Path(file).open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        yield f"{file}:{number}", _request(line.rstrip(b"\r\n"))
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", where=str(file)) from error


def _request(line: bytes) -> Mapping[str, Json]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return pack(line)
    recorded = value.get("request") if isinstance(value, dict) else None
    return recorded if isinstance(recorded, dict) and isinstance(recorded.get("body"), str) else pack(line)
