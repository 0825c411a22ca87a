"""What a data plane knows of a run, under the names that expectations use."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from svctoolkit.runner.planes.plane import parse_body

if TYPE_CHECKING:
    from svctoolkit.server.inspect.views import View

_LEFT_OUT = ("filtered", "dropped")


def run_results(view: View, keys: Sequence[str]) -> dict[str, Any]:
    """What became of the events of a run, at each of the destinations `keys`."""
    fates = [
        {name: getattr(f, name) for name in ("destination", "status", "by", "reason", "attempts", "transformed")}
        | {"number": f.seq, "event": dict(f.event)}
        for f in view.fates
    ]
    sent = [
        {name: getattr(d, name) for name in ("destination", "attempt", "status", "payload", "response")}
        | {"request": asdict(d.request)}
        for d in view.deliveries
    ]
    return results_of_records(fates, sent, keys)


def results_of_records(
    fates: Iterable[Mapping[str, Any]], deliveries: Sequence[Mapping[str, Any]], keys: Sequence[str]
) -> dict[str, Any]:
    """The same from the records that `/inspect/fates` and `/inspect/deliveries` give; each fate with its `event`."""
    ordered = sorted(fates, key=lambda fate: int(fate["number"]))
    by_key = {key: [fate for fate in ordered if fate["destination"] == key] for key in keys}
    first = [d for d in deliveries if d["attempt"] == 1]
    delivered = [d for d in deliveries if 200 <= d["status"] < 300]
    return {
        "user_transform": {key: [e for f in by_key[key] for e in _transform_output(f)] for key in keys},
        "dest_transform": {key: [d["payload"] for d in first if d["destination"] == key] for key in keys},
        "dropped": [_fate_record(fate) for fate in ordered if fate["status"] in _LEFT_OUT],
        "failed": [
            {**_fate_record(fate), "status": fate["status"]}
            for fate in ordered
            if fate["status"] not in (*_LEFT_OUT, "delivered")
        ],
        "attempts": {key: sum(fate["attempts"] for fate in by_key[key]) for key in keys},
        "delivered": {key: [_request_record(d) for d in delivered if d["destination"] == key] for key in keys},
    }


def _transform_output(fate: Mapping[str, Any]) -> Sequence[Any]:
    """The events after the user transformation; without one, the event itself if it got as far as there."""
    if fate.get("transformed") is not None:
        return list(fate["transformed"])
    return [] if fate["status"] == "filtered" else [fate.get("event")]


def _fate_record(fate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fate.get(name) for name in ("by", "reason", "destination", "event")}


def _request_record(delivery: Mapping[str, Any]) -> dict[str, Any]:
    """One request as expectations see it: header names in lower case, the body parsed."""
    request = delivery["request"]
    headers = {name.lower(): value for name, value in request["headers"].items()}
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
