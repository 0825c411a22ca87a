"""Batch many events: which of them share a request, and why others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from svctoolkit import display, events
from svctoolkit.display import Html
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.results import SharedDeliveries, SharedRequests

SAME_USER, OTHER_USERS, SAMPLES, GIVEN = "this event, again", "this event, of other users", "sample events", "yours"
_KINDS: dict[str, display.Kind] = {"sent": "ok", "refused": "error", "dropped": "warning"}
_OPEN = 3  # requests that are initially open
_MOST = 100  # requests per page
_MOST_EVENTS = 20  # events shown of a request


def events_of(
    kind: str, count: int, event: Mapping[str, Json], own: Sequence[Mapping[str, Json]]
) -> list[Mapping[str, Json]]:
    """The given number of events: copies of one with different message ids, samples in turn, or the user's `own`."""
    if kind == GIVEN:
        return list(own[:count])
    if kind == SAMPLES:
        names = list(events.samples())
        return [events.sample(names[n % len(names)], at=datetime.now(UTC)) for n in range(count)]
    return [_copy(event, n, other=kind == OTHER_USERS) for n in range(count)]


def _copy(event: Mapping[str, Any], number: int, *, other: bool) -> Mapping[str, Json]:
    copied = {**event, "messageId": f"{event.get('messageId') or 'message'}-{number + 1}"}
    if other and number:
        for name in ("userId", "anonymousId"):
            if event.get(name):
                copied[name] = f"{event[name]}-{number + 1}"
    return copied


def page(deliveries: SharedDeliveries, together: Sequence[Mapping[str, Json]]) -> Html:
    """Each request with its events: what they share, and why it is separate from earlier requests."""
    sent, refused = len(deliveries.payloads), sum(item.status != "sent" for item in deliveries)
    head = f"{display.quantity(len(together), 'event')} make {display.quantity(sent, 'request')}"
    blocks = [display.message(head + (f"; {refused} produce none" if refused else ""), "warning" if refused else "ok")]
    blocks += [_item(deliveries, n, item, together) for n, item in enumerate(deliveries[:_MOST])]
    if len(deliveries) > _MOST:
        blocks.append(display.message(f"{len(deliveries) - _MOST:,} more not shown", "info"))
    return display.page(*blocks)


def _item(
    deliveries: SharedDeliveries, number: int, item: SharedRequests, together: Sequence[Mapping[str, Json]]
) -> Html:
    mask = deliveries.mask
    where = ", ".join(dict.fromkeys(f"{p['method']} {mask(p)['endpoint']}".partition("?")[0] for p in item.payloads))
    title = Html(
        f"{display.pill(item.status, _KINDS[item.status])} "
        + display.html(f"{display.quantity(len(item.events), 'event')} → {where or mask(item.error) or 'nothing'}")
        + (f" <span class='dim'>apart: {display.html(mask(item.reason))}</span>" if item.reason else "")
    )
    rows = [_row(place, mask(together[place])) for place in item.events[:_MOST_EVENTS]]
    left_out = len(item.events) - _MOST_EVENTS
    names = display.table(("#", "type", "event", "user"), rows, caption="Its events")
    if left_out > 0:
        names = Html(names + display.message(f"{display.quantity(left_out, 'more event')} not shown", "info"))
    trees = [display.tree(mask(payload), f"request {n}") for n, payload in enumerate(item.payloads, 1)]
    message = [display.message(mask(item.error), _KINDS[item.status])] if item.error else []
    return display.more(title, display.columns(names, Html("".join([*message, *trees]))), is_open=number < _OPEN)


def _row(place: int, event: Mapping[str, Any]) -> tuple[object, ...]:
    read = Event(event)
    return str(place), read.type, read.name, event.get("userId") or event.get("anonymousId") or ""
