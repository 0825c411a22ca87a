"""The timeline of one event as unstyled HTML. Everything is escaped, and secrets are masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from svctoolkit import display
from svctoolkit.delivery import HttpRequest
from svctoolkit.display import Html, Step, pill
from svctoolkit.json_types import Json
from svctoolkit.pictures import Attempt, TimeLine
from svctoolkit.server.inspect._display import fate as fate_pill
from svctoolkit.server.inspect._display import loss_text
from svctoolkit.server.inspect.exchange import request_of
from svctoolkit.workspace import is_forward_key

_STAGES = ("user_transform", "dest_transform", "send_to_destination")


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: Json


#: The worst first: what a reader looks for is at the top, and open.
_WORST = ("failed", "dead", "dropped", "pending", "unmapped", "delivered", "filtered")
_OPEN = ("failed", "dead", "dropped", "pending")


def event_timeline(
    about: Mapping[str, Sequence[Mapping[str, Json]]], payloads: Mapping[str, Sequence[Json]], trace: str = ""
) -> Html:
    """Render the content of `/inspect/arrivals/{seq}` as HTML: what happened to the event, one stop after another.

    `payloads` are those of the event alone, by destination. `trace` is the address of its trace, if it is known.

    Destinations where it failed come first and are open; delivered ones without lost values are folded.
    """
    fates = sorted(about["fates"], key=lambda fate: (_WORST.index(str(fate["status"])), str(fate["destination"])))
    alone = len(fates) == 1
    return display.fragment(
        *([Html(f'<p><a href="{display.html(trace)}" rel="noreferrer">Trace</a></p>')] if trace else []),
        *(_refusal(item) for item in about["rejected"]),
        *(_received(item) for item in about["events"]),
        *_attempts(about),
        *_violations(about["violations"]),
        *(
            _fate(item, about, payloads, is_open=alone or item["status"] in _OPEN or bool(item.get("losses")))
            for item in fates
        ),
    )


def _attempts(about: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Html]:
    """Render the attempts on a time line if there was a retry, or one is due: a single attempt needs no picture."""
    line = _time_line(about)
    if line.upcoming or any(item["attempt"] > 1 for item in about["deliveries"]):
        yield line.html()


def _time_line(about: Mapping[str, Sequence[Mapping[str, Any]]]) -> TimeLine:
    """Return the attempts at each destination, and the next ones."""
    received = min((_seconds(item["at"]) for item in about["events"]), default=0.0)
    rows: dict[str, list[Attempt]] = {}
    for item in about["deliveries"]:
        end, took = (_seconds(item["at"]) - received) * 1000, float(item["milliseconds"])
        result, tone = item["error"] or str(item["status"]), "ok" if item["accepted"] else "bad"
        rows.setdefault(item["destination"], []).append(Attempt(end - took, took, result, tone))
    upcoming = [
        (fate["destination"], (_seconds(fate["at"]) + fate["retry_in"] - received) * 1000)
        for fate in about["fates"]
        if fate["status"] == "pending" and fate.get("retry_in") is not None
    ]
    return TimeLine("Attempts", list(rows.items()), upcoming)


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def _stop(kind: str, title: object, *blocks: object, is_open: bool, destination: str = "") -> Html:
    """Render one stop of the timeline; `kind` is a fate's status, which gives its colour."""
    of = f' data-destination="{display.html(destination)}"' if destination else ""
    inner = "".join(map(display.html, blocks))
    state = " open" if is_open else ""
    return Html(f'<details class="stop {kind}"{of}{state}><summary>{display.html(title)}</summary>{inner}</details>')


def _refusal(item: Mapping[str, Any]) -> Html:
    place = "" if item["position"] is None else f" (event {item['position']} of the batch)"
    return _stop(
        "rejected",
        Html("<b>Refused</b>"),
        display.message(f"{item['status']}: {item['reason']}{place}", "error"),
        display.facts(_present(source=item["source"], run=item["run"], at=item["at"])),
        display.tree(item["body"], "body"),
        is_open=True,
    )


def _received(item: Mapping[str, Any]) -> Html:
    event = item["event"]
    repeats = f"event {item['repeats']}, received earlier" if item["repeats"] else ""
    facts = _present(source=item["source"], run=item["run"], received=item["at"], repeats=repeats)
    title = " ".join(str(part) for part in (event.get("type"), event.get("event") or event.get("name")) if part)
    head = Html(
        f'<b>Received</b> <span class="dim">{display.html(item["at"])} from {display.html(item["source"])}</span>'
    )
    return _stop("delivered", head, display.facts(facts), display.tree(event, title, open_depth=1), is_open=False)


def _violations(items: Sequence[Mapping[str, Any]]) -> Iterator[Html]:
    if items:
        rows = [[pill(v["violation"], "error"), v["path"], v["message"], f"{v['plan']} v{v['version']}", v["place"]]
                for v in items]  # fmt: skip
        dropped = display.message("the plan drops this event", "warning") if any(v["dropped"] for v in items) else ""
        table = display.table(["violation", "path", "what", "plan", "rule"], rows)
        yield _stop("violated", Html("<b>Violations of the tracking plan</b>"), dropped, table, is_open=True)


def _fate(
    fate: Mapping[str, Any],
    about: Mapping[str, Sequence[Mapping[str, Any]]],
    payloads: Mapping[str, Sequence[Any]],
    *,
    is_open: bool,
) -> Html:
    """Render one destination: the stages, what each changed, and the requests."""
    event = about["events"][0]["event"] if about["events"] else {}
    requests = [item for item in about["deliveries"] if item["destination"] == fate["destination"]]
    losses = fate.get("losses") or ()
    lost = Html(f" {pill('lost', 'warning')}") if fate["lost"] or losses else ""
    facts = _present(by=fate["by"], attempts=fate["attempts"] or "", outcome=fate["outcome"])
    why = f'<div class="why">{display.html(fate["reason"])}</div>' if fate["reason"] else ""
    return _stop(
        str(fate["status"]),
        Html(f"<b>{display.html(fate['destination'])}</b> {fate_pill(fate['status'])}{lost}{why}"),
        display.strip(_steps(fate, requests)),
        display.facts({name: value if isinstance(value, Html) else str(value) for name, value in facts.items()}),
        _cause(fate),
        *(display.message(loss_text(loss), "warning") for loss in losses),
        *(display.message(loss["text"], "warning") for loss in fate["lost"]),
        _next_attempt(fate),
        *_changes(event, fate, payloads.get(fate["destination"], ())),
        *(_request(item, event) for item in requests),
        is_open=is_open,
        destination=str(fate["destination"]),
    )


def _cause(fate: Mapping[str, Any]) -> Html:
    """Render why it failed, with a link to the setting that decides."""
    cause = fate.get("cause") or {}
    setting = cause.get("setting", "")
    address = urlencode({"view": "destinations", "setting": f"{fate['destination']}.{setting.partition('.')[0]}"})
    facts: dict[str, Html | str] = {
        "rule": fate["rule"],
        "field": cause.get("field", ""),
        "expected": cause.get("expected", ""),
        "value": cause.get("value") or "",
        "setting": Html(f'<a href="?{display.html(address)}">{display.html(setting)}</a>') if setting else "",
    }
    shown = {name: value for name, value in facts.items() if value}
    return display.facts(shown) if shown else Html("")


def _steps(fate: Mapping[str, Any], requests: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    stopped_at = fate["by"] if fate["status"] in ("failed", "dropped", "filtered", "unmapped", "dead") else ""
    words: dict[str, display.Status] = {"dropped": "dropped", "filtered": "none", "unmapped": "unmapped"}
    waiting = fate["status"] == "pending" and not requests
    over = fate["status"] == "filtered" and stopped_at not in _STAGES
    for stage in _STAGES[-1:] if is_forward_key(fate["destination"]) else _STAGES:
        note = ""
        word: display.Status = "aborted" if over else "none" if waiting else "ok"
        if stage == "user_transform" and fate.get("transformed") is None and word == "ok":
            word, note = "none", "no transformation"
        if stage == stopped_at:
            word, over = words.get(fate["status"], "failed"), True
        if stage == "send_to_destination" and requests:
            statuses = ", ".join(str(item["status"]) for item in requests)
            word, note = ("ok" if fate["status"] == "delivered" else "failed"), statuses
        yield Step(stage, word, None, note)


def _next_attempt(fate: Mapping[str, Any]) -> Html:
    """Render the time of the next attempt, to which the page counts down."""
    if fate["status"] != "pending" or fate.get("retry_in") is None:
        return Html("")
    at = datetime.fromisoformat(fate["at"]) + timedelta(seconds=fate["retry_in"])
    time = f'<time datetime="{at.isoformat()}" data-until>{at.strftime("%H:%M:%S")} UTC</time>'
    return display.message(Html(f"next attempt at {time}"), "info")


def _changes(event: Mapping[str, Any], fate: Mapping[str, Any], payloads: Sequence[Any]) -> Iterator[Html]:
    """Render what the user transformation changed, and the result of the mapping."""
    transformed = fate.get("transformed")
    before: Json = dict(event)
    for number, after in enumerate(transformed or (), 1):
        title = "user_transform changed" if len(transformed or ()) == 1 else f"user_transform output {number}"
        same = display.message("the transformation changed nothing", "info")
        body = same if after == before else display.diff(before, after, left="received", right="transformed")
        yield display.more(title, body, is_open=after != before)
    if transformed:
        before = transformed[0]
    for payload in payloads[:1]:
        body = payload.get("body", {})
        content = next((value for value in body.values() if value), {}) if isinstance(body, Mapping) else body
        diff = display.diff(before, content, left="event", right="body of the payload")
        yield display.more("dest_transform output", diff)
        yield display.more("payload", display.tree(payload, "payload", open_depth=2))


def _request(item: Mapping[str, Any], event: Mapping[str, Any]) -> Html:
    count = len(item["events"])
    batch = f", with {count - 1} other events" if count > 1 else ""
    error = display.message(item["error"], "error") if item["error"] else ""
    title = Html(
        f"request {display.html(item['number'])}: attempt {display.html(item['attempt'])}, "
        f"{pill(item['status'], 'ok' if item['accepted'] else 'error')} "
        f"{display.html(item['at'])}, {item['milliseconds']:.1f} ms{display.html(batch)}"
    )
    others = [id for id in item["events"] if id != event.get("messageId")]
    carried = display.facts({"also carries": ", ".join(others[:50])}) if others else ""
    answer = None if item["error"] else _Answer(item["status"], item["headers"], item["response"])
    return display.more(title, error, carried, display.exchange(_http(item["request"]), answer))


def _http(request: Mapping[str, Any]) -> HttpRequest:
    try:
        return request_of(request)
    except ValueError:  # a masked body in base64
        return HttpRequest(request["method"], request["url"], request["headers"], b"")


def _present(**facts: Json) -> dict[str, Json]:
    return {name: value for name, value in facts.items() if value not in ("", None)}
