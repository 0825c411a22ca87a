"""The rich display of a data plane and its records. Secrets are masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html, pill
from svctoolkit.displayed import shows
from svctoolkit.json_types import Json
from svctoolkit.pictures import duration
from svctoolkit.secrets import Masker
from svctoolkit.server.ingest.scan import excerpt
from svctoolkit.server.inspect.latency import Latencies
from svctoolkit.server.inspect.records import Delivery, Fate, Received, Rejected, Violation, Webhook
from svctoolkit.server.inspect.views import Rows, View
from svctoolkit.transformations import CodeLoss
from svctoolkit.url_secrets import mask_http

_SHOWN = 50  # maximum number of records in a table
_FATES: dict[str, tuple[str, display.Kind]] = {
    "delivered": ("delivered", "ok"),
    "filtered": ("filtered", "plain"),
    "unmapped": ("unmapped", "plain"),
    "dropped": ("dropped", "warning"),
    "failed": ("failed", "error"),
    "dead": ("dead", "error"),
    "pending": ("pending", "info"),
}


@shows(View)
def view(found: View) -> Html:
    return display.page(*counts(found))


def counts(found: View) -> list[Html]:
    """Return how many events were received and rejected, and their fates at each destination."""
    rows = [["received", len(found.received)], ["rejected", len(found.rejected)], ["requests", len(found.deliveries)]]
    fates = found.fate_counts()
    blocks = [display.table(["what", "count"], rows)]
    if fates:
        lines = [[destination, fate(status), count] for (destination, status), count in fates.items()]
        blocks.append(display.table(["destination", "fate", "events"], lines))
    return [*blocks, found.latencies().picture().html()]


@shows(Latencies, "text")
def latencies_text(found: Latencies) -> str:
    """Return a line for each destination and stage."""
    lines = [
        f"{of.destination}  {of.stage}: median {duration(of.median)}, 95% {duration(of.p95)}, "
        f"longest {duration(of.longest)} ({of.requests:,} requests)"
        for of in found.rows
    ]
    return "\n".join(lines) or "no requests"


@shows(Latencies)
def latencies_page(found: Latencies) -> Html:
    return display.page(found.picture().html() or display.message("no requests", "info"))


def loss_text(loss: Mapping[str, Json]) -> str:
    """Return a sentence about a value that user code has lost, as a fate has it."""
    return str(CodeLoss(loss["path"], loss["value"], loss["becomes"]))


def fate(status: str) -> Html:
    word, kind = _FATES[status]
    return pill(word, kind)


@shows(Rows)
def rows(found: Rows[Any]) -> Html:  # Any: rows of any kind of record
    """Return the last records as a table."""
    masker = found.masker()
    records = found[-_SHOWN:]
    if not records:
        return display.page(display.message("no records", "info"))
    head, cells = _COLUMNS[type(records[0])]
    caption = f"{len(found):,} records" + (f", the last {_SHOWN} of them" if len(found) > _SHOWN else "")
    return display.page(display.table(head, [mask(cells(one), masker) for one in records], caption=caption))


def mask(cells: list[Json], masker: Masker) -> list[Json]:
    return [masker.mask(cell) if type(cell) is str else cell for cell in cells]


@shows(Received)
def received(one: Received) -> Html:
    masker = one.masker()
    facts = {"source": one.source, "received": _time(one.received_at), "run": one.run}
    title = masker.text(f"{one.type} {one.name}")
    event = display.tree(masker.mask(dict(one.event)), title)
    return display.page(display.facts({k: masker.text(v) for k, v in facts.items() if v}), event)


@shows(Rejected)
def rejected(one: Rejected) -> Html:
    """Return the reason and an excerpt of the body, which may be anything."""
    masker = one.masker()
    place = "" if one.position is None else f" (event {one.position} of the batch)"
    return display.page(display.message(masker.text(f"{one.status}: {one.reason}{place}"), "error"))


@shows(Webhook)
def webhook(one: Webhook) -> Html:
    """Return the answer, the request, and the events that it became."""
    return display.page(*webhook_parts(one))


def webhook_parts(one: Webhook) -> tuple[Html, Html]:
    """Return the answer of a webhook, and its request next to the events that it became."""
    masker = one.masker()
    head = display.message(masker.text(f"{one.status}: {one.answer}"), "error" if one.refused else "ok")
    request = mask_http(masker.mask(dict(one.request)))
    body = excerpt(str(request.pop("body", "")).encode("utf-8", "surrogatepass"))
    trees = [display.tree(masker.mask(dict(event)), f"event {number}") for number, event in enumerate(one.events, 1)]
    left = [display.tree(body, "body", open_depth=1), display.more("request", display.tree(request, "request"))]
    return head, display.columns(display.fragment(*left), display.fragment(*trees))


@shows(Delivery)
def delivery(one: Delivery) -> Html:
    """Return the payload, the request that was sent, and the answer."""
    masker = one.masker()
    facts = {"destination": one.destination, "attempt": str(one.attempt), "time": _time(one.at), "error": one.error}
    if len(one.events) > 1:
        facts["batch"] = f"{len(one.events)} events: {', '.join(one.events)}"
    head = [_status(one), display.facts({k: masker.mask(v) for k, v in facts.items() if v})]
    payload = display.tree(mask_http(masker.mask(dict(one.payload))), "payload", open_depth=1)
    return display.page(*head, display.columns(payload, display.tree(masker.mask(one.response), "response")))


@shows(Fate)
def of_fate(one: Fate) -> Html:
    """Return the outcome of the event, and the event."""
    masker = one.masker()
    facts = {"destination": one.destination, "by": one.by, "reason": one.reason, "attempts": str(one.attempts)}
    if one.delivery is not None:
        facts["request"] = f"number {one.delivery}, position {one.place}"
    table = display.facts({k: masker.mask(v) for k, v in facts.items() if v})
    lost = [display.message(loss_text(loss), "warning") for loss in masker.mask(list(one.losses or ()))]
    event = display.tree(masker.mask(dict(one.event)), masker.text(f"{one.type} {one.name}"))
    return display.page(fate(one.status), *lost, table, event)


@shows(Violation)
def violation(one: Violation) -> Html:
    """Return the rule, and the event that violates it."""
    masker = one.masker()
    facts = {"plan": f"{one.plan} v{one.version}", "path": one.path, "rule": one.place, "message id": one.message_id}
    message = display.message(masker.text(f"{one.violation}: {one.message}"), "error")
    event = display.tree(masker.mask(dict(one.event)), masker.text(f"{one.type} {one.name}"))
    return display.page(message, display.facts({k: masker.text(v) for k, v in facts.items() if v}), event)


def _status(one: Delivery) -> Html:
    return pill(one.status, "ok" if one.accepted else "error")


def _events(ids: Sequence[str]) -> str:
    """Return the message id of one event, or the number of events and the first id."""
    return ids[0] if len(ids) == 1 else f"{len(ids)} from {ids[0]}" if ids else ""


def _time(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")


def _clock(at: datetime) -> str:
    return at.strftime("%H:%M:%S.%f")[:-3]


_Cells = Callable[[Any], list[Any]]
_COLUMNS: dict[type, tuple[list[str], _Cells]] = {
    Received: (
        ["received (UTC)", "type", "name", "source", "message id"],
        lambda r: [_clock(r.received_at), r.type, r.name, r.source, r.message_id],
    ),
    Rejected: (
        ["at (UTC)", "status", "reason", "position", "source"],
        lambda r: [_clock(r.at), pill(r.status, "error"), r.reason, r.position, r.source],
    ),
    Webhook: (
        ["at (UTC)", "source", "status", "answer", "events", "method", "url"],
        lambda r: [
            *(_clock(r.at), r.source, pill(r.status, "error" if r.refused else "ok"), r.answer, r.count),
            *(r.request.get("method", ""), r.request.get("url", "")),
        ],
    ),
    Delivery: (
        ["at (UTC)", "destination", "status", "attempt", "ms", "request", "events"],
        lambda r: [
            *(_clock(r.at), r.destination, _status(r), r.attempt, r.milliseconds),
            *(f"{r.request.method} {r.request.url.partition('?')[0]}", _events(r.events)),
        ],
    ),
    Violation: (
        ["at (UTC)", "type", "name", "violation", "path", "message", "plan"],
        lambda r: [_clock(r.at), r.type, r.name, r.violation, r.path, r.message, f"{r.plan} v{r.version}"],
    ),
    Fate: (
        ["at (UTC)", "type", "name", "destination", "fate", "by", "reason", "attempts"],
        lambda r: [
            *(_clock(r.at), r.type, r.name, r.destination),
            *(fate(r.status), r.by, r.reason, r.attempts),
        ],
    ),
}
