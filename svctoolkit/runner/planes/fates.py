"""What a data plane knows of a run, under the names that expectations use."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from svctoolkit.runner.expect.headers import Headers
from svctoolkit.runner.planes.plane import parse_body

if TYPE_CHECKING:
    from svctoolkit.delivery import HttpRequest
    from svctoolkit.server.inspect.views import View

_LEFT_OUT = ("filtered", "dropped")
_FINE = (*_LEFT_OUT, "delivered", "unmapped")
_FATE = ("destination", "status", "by", "reason", "attempts", "transformed")
_DELIVERY = ("destination", "attempt", "status", "payload", "response", "headers", "error")


def run_results(view: View, keys: Sequence[str]) -> dict[str, Any]:
    """What became of the events of a run, at each of the destinations `keys`."""
    fates = [{name: getattr(f, name) for name in _FATE} | {"number": f.seq, "event": dict(f.event)} for f in view.fates]
    deliveries = [
        {name: getattr(d, name) for name in _DELIVERY}
        | {"request": _request(d.request), "at": d.at.isoformat(), "messageId": d.message_id}
        for d in view.deliveries
    ]
    return results_of_records(fates, deliveries, keys)


def results_of_records(
    fates: Iterable[Mapping[str, Any]], deliveries: Sequence[Mapping[str, Any]], keys: Sequence[str]
) -> dict[str, Any]:
    """The same from the records that `/inspect/fates` and `/inspect/deliveries` give; each fate with its `event`."""
    ordered = sorted(fates, key=lambda fate: int(fate["number"]))
    by_key = {key: [fate for fate in ordered if fate["destination"] == key] for key in keys}
    requests = {key: [d for d in deliveries if d["destination"] == key] for key in keys}
    return {
        "user_transform": {key: [e for f in by_key[key] for e in _transform_output(f)] for key in keys},
        "dest_transform": {key: [d["payload"] for d in requests[key] if d["attempt"] == 1] for key in keys},
        "dropped": {key: [_drop(f) for f in by_key[key] if f["status"] in _LEFT_OUT] for key in keys},
        "failed": {key: [_failure(f, requests[key]) for f in by_key[key] if f["status"] not in _FINE] for key in keys},
        "attempts": {key: sum(fate["attempts"] for fate in by_key[key]) for key in keys},
        "tries": {key: _tries(requests[key]) for key in keys},
        "delivered": {key: [_request_record(d) for d in requests[key] if 200 <= d["status"] < 300] for key in keys},
    }


def _request(request: HttpRequest) -> dict[str, Any]:
    return {"method": request.method, "url": request.url, "headers": request.headers, "body": request.body}


def _drop(fate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fate.get(name) for name in ("by", "reason", "destination", "event")} | {"fate": fate["status"]}


def _failure(fate: Mapping[str, Any], requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A failure; `status` is what the destination answered last, where it was asked."""
    message_id = (fate.get("event") or {}).get("messageId")
    statuses = [r["status"] for r in requests if r.get("messageId", message_id) == message_id]
    failure = {name: fate.get(name) for name in ("by", "destination", "event", "attempts")}
    failure |= {"error": fate.get("reason"), "fate": fate["status"]}
    return failure | ({"status": statuses[-1]} if statuses and fate["by"] == "send_to_destination" else {})


def _tries(requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every request to one destination; `after` are the seconds since the one before it of the same event."""
    tries, last = [], dict[Any, datetime]()
    for request in requests:
        at, whose = datetime.fromisoformat(str(request["at"])), request.get("messageId")
        body = _body(request["request"]["body"], "")
        record = {"status": request["status"], "attempt": request["attempt"], "body": body}
        record |= {"response": request["response"], "headers": Headers(_lower(request["request"]["headers"]))}
        record |= {"after": round((at - last[whose]).total_seconds(), 3)} if whose in last else {}
        tries.append(record | ({"error": request["error"]} if request.get("error") else {}))
        last[whose] = at
    return tries


def _lower(headers: Mapping[str, Any]) -> dict[str, Any]:
    return {name.lower(): value for name, value in headers.items()}


def _transform_output(fate: Mapping[str, Any]) -> Sequence[Any]:
    """The events after the user transformation; without one, the event itself if it got as far as there."""
    if fate.get("transformed") is not None:
        return list(fate["transformed"])
    return [] if fate["status"] == "filtered" else [fate.get("event")]


def _request_record(delivery: Mapping[str, Any]) -> dict[str, Any]:
    """One request as expectations see it: header names in lower case, the body parsed."""
    request = delivery["request"]
    headers = Headers(_lower(request["headers"]))
    url = urlsplit(request["url"])
    return {
        "destination": delivery["destination"],
        "method": request["method"],
        "url": request["url"],
        "path": url.path,
        "query": dict(parse_qsl(url.query, keep_blank_values=True)),
        "headers": headers,
        "body": _body(request["body"], headers.get("content-type", "")),
        "status": delivery["status"],
        "response": delivery["response"],
    }


def _body(body: bytes | str, kind: str) -> Any:
    """A JSON body parsed, a form as an object, anything else as text."""
    if isinstance(body, str):
        body = base64.b64decode(body[7:]) if body.startswith("base64:") else body.encode("utf-8", "surrogatepass")
    if "x-www-form-urlencoded" in kind:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    return parse_body(body)
