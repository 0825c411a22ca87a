"""Views of received events: one event as a line, and one event in detail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from svctoolkit import display
from svctoolkit.delivery import HttpRequest
from svctoolkit.display import Html
from svctoolkit.json_types import Json
from svctoolkit.server.inspect._display import loss_text
from svctoolkit.server.inspect.arrivals import Arrival

_SIGNS = {
    "delivered": "✓",
    "pending": "…",
    "filtered": "–",
    "unmapped": "○",
    "dropped": "⊘",
    "failed": "✗",
    "dead": "✗",
}
_KINDS: dict[str, display.Kind] = {
    "delivered": "ok",
    "pending": "info",
    "dropped": "warning",
    "failed": "error",
    "dead": "error",
}
_MOST_FATES = 3  # outcomes shown by name in a line; more are only counted
_MOST_NAMES = 20
_MOST_DELIVERIES = 20


class _Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: Any


COLUMNS = ("received", "source", "type", "name", "user", "outcomes")


def cells(arrival: Arrival) -> tuple[str, ...]:
    """An arrival as a row with these columns; for a refusal, its reason is the outcome."""
    outcome = f"✗ refused {arrival.refused}" if arrival.refused else fates(arrival)
    return (_time(arrival), arrival.source, arrival.type, arrival.name, arrival.user, outcome)


def _time(arrival: Arrival) -> str:
    return f"{arrival.at:%H:%M:%S}.{arrival.at.microsecond // 1000:03}"


def fates(arrival: Arrival) -> str:
    """The outcome at each destination, as signs and words."""
    if len(arrival.fates) > _MOST_FATES:
        counts = [f"{_SIGNS[status]} {n} {status}" for status, n in Counter(arrival.fates.values()).items()]
        return "  ".join([*counts, *([f"⚠ {len(arrival.lost)} lost values"] if arrival.lost else [])])
    return "  ".join(
        f"{_SIGNS[status]} {destination}"
        + ("" if status == "delivered" else f" {status}")
        + (" ⚠ lost values" if destination in arrival.lost else "")
        for destination, status in arrival.fates.items()
    )


def table_of(arrivals: Sequence[Arrival]) -> Html:
    """The arrivals as a table, for views without widgets."""
    head = ("#", "received (UTC)", "source", "type", "name", "user", "outcomes")
    return display.table(head, [_row(arrival) for arrival in arrivals])


def _row(arrival: Arrival) -> tuple[object, ...]:
    pills = [
        display.pill(f"{destination}: {status}, lost values", "warning")
        if destination in arrival.lost
        else display.pill(f"{destination}: {status}", kind(status))
        for destination, status in arrival.fates.items()
    ]
    outcome: object = display.pill(f"refused: {arrival.refused}", "error") if arrival.refused else Html(" ".join(pills))
    return (str(arrival.seq), _time(arrival), arrival.source, arrival.type, arrival.name, arrival.user, outcome)


def kind(status: str) -> display.Kind:
    """The colour of an outcome."""
    return _KINDS.get(status, "plain")


def details(sections: Mapping[str, Sequence[Mapping[str, Json]]]) -> Html:
    """The details of one event or rejection from `DataPlane.about`: content, outcomes, deliveries."""
    for event in sections["events"]:
        return _of_event(event, sections["fates"], sections["deliveries"])
    for refusal in sections["rejected"]:
        return _of_refusal(refusal)
    return display.page(display.message("This event is no longer stored.", "info"))


def _of_event(
    event: Mapping[str, Any], fates: Sequence[Mapping[str, Any]], deliveries: Sequence[Mapping[str, Any]]
) -> Html:
    body = event["event"]
    names = {"source": event["source"], "received at": event["at"], "messageId": body.get("messageId", "")}
    if event["run"]:
        names["run"] = event["run"]
    return display.page(
        display.facts(names),
        display.section("Outcomes", _fates(fates)),
        display.tree(body, "event"),
        *_deliveries(deliveries),
    )


def _fates(fates: Sequence[Mapping[str, Any]]) -> Html:
    if not fates:
        return display.message("Its source is not connected to any destination.", "info")
    rows = [(fate["destination"], _fate(fate), fate["attempts"], fate["reason"]) for fate in fates]
    lost = [
        display.message(f"{fate['destination']}: {text}", "warning")
        for fate in fates
        for text in [*map(loss_text, fate.get("losses") or ()), *(loss["text"] for loss in fate["lost"])]
    ]
    return Html("".join([display.table(("destination", "fate", "attempts", "reason"), rows), *lost]))


def _fate(fate: Mapping[str, Any]) -> Html:
    by = f" in {fate['by']}" if fate["by"] else ""
    return display.pill(fate["status"] + by, kind(fate["status"]))


def _deliveries(deliveries: Sequence[Mapping[str, Any]]) -> list[Html]:
    if not deliveries:
        return []
    left_out = len(deliveries) - _MOST_DELIVERIES
    message = [display.message(f"{left_out} earlier requests not shown.", "info")] if left_out > 0 else []
    blocks = [_delivery(delivery) for delivery in deliveries[-_MOST_DELIVERIES:]]
    return [display.section("Requests to destinations", *message, *blocks)]


def _delivery(delivery: Mapping[str, Any]) -> Html:
    question, message = delivery["request"], delivery["error"] or f"{delivery['milliseconds']:,.1f} ms"
    request = HttpRequest(
        question["method"], question["url"], question["headers"], question["body"].encode("utf-8", "replace")
    )
    if delivery["error"]:
        blocks = [display.exchange(request), display.message(delivery["error"], "error")]
    else:
        blocks = [display.exchange(request, _Answer(delivery["status"], delivery["headers"], delivery["response"]))]
    if len(delivery["events"]) > 1:
        blocks.insert(0, display.facts({f"{len(delivery['events'])} events": _names(delivery["events"])}))
    answer = display.pill(delivery["status"], "ok" if delivery.get("accepted", delivery["status"] < 300) else "error")
    title = Html(
        f"{display.html(delivery['destination'])}, attempt {delivery['attempt']} {answer} {display.html(message)}"
    )
    return display.more(title, *blocks)


def _names(events: Sequence[str]) -> str:
    """The message ids of a batch, in order."""
    more = len(events) - _MOST_NAMES
    return ", ".join(events[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _of_refusal(refusal: Mapping[str, Any]) -> Html:
    place = "" if refusal["position"] is None else f" (event {refusal['position'] + 1} of the batch)"
    names = {"source": refusal["source"] or "no source has this write key", "received at": refusal["at"]}
    return display.page(
        display.message(f"Refused with {refusal['status']}: {refusal['reason']}{place}", "error"),
        display.facts(names),
        display.tree(refusal["body"], "received body"),
    )
