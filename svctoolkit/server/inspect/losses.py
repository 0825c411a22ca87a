"""Losses of simulated destinations as items of `/inspect`, and those of each fate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from svctoolkit.server.store import schema
from svctoolkit.server.worker import Engine
from svctoolkit.simulations import Loss


class LossItem(Struct, frozen=True, kw_only=True):
    """What a simulated destination refused, dropped, cut or folded (`what`), by which rule of the vendor, and where
    the rule was read. Among changes, `what` is overwritten or moved.

    `table` and `place` say which record of the request it was, `value` broke the rule, `limit` is its bound. `events`
    are the `messageId`s of the events that the record came from; `text` is all of it as a sentence.
    """

    what: str
    rule: str
    says: str
    source: str
    confidence: str
    table: str
    place: int | None
    value: Any
    limit: Any
    request: int
    events: list[str]
    destination: str
    run: str
    text: str


def losses_of(engine: Engine, fate: schema.Fate) -> tuple[Loss, ...]:
    """Return what a simulated destination has lost of an event."""
    return tuple(loss_finder(engine)(fate))


def loss_finder(engine: Engine) -> Callable[[schema.Fate], list[Loss]]:
    """Return a function for the losses of many fates: the losses of each destination are read once."""
    find = event_loss_finder(engine)
    return lambda fate: find(fate.destination, fate.run, fate.message_id)


def event_loss_finder(engine: Engine) -> Callable[[str, str, str], list[Loss]]:
    """Return a function for the losses at a destination (its key) of an event with this run and `messageId`."""
    known: dict[tuple[str, str], dict[str, list[Loss]]] = {}

    def find(key: str, run: str, message_id: str) -> list[Loss]:
        destination = engine.workspace.destinations.get(key)
        if destination is None or not engine.simulated.is_simulated(destination):
            return []
        if (key, run) not in known:
            by_event: dict[str, list[Loss]] = {}
            for loss in list(engine.simulated.server(destination, run).losses):
                for id in loss.events if loss.run == run else ():
                    by_event.setdefault(id, []).append(loss)
            known[key, run] = by_event
        return known[key, run].get(message_id, [])

    return find
