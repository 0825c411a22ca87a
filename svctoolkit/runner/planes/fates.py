"""The data plane's records of a run, under the names that expectations use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from svctoolkit.causes import cause_from_json
from svctoolkit.delivery.view import body_value, lower_names, request_view
from svctoolkit.expect.failed import with_cause
from svctoolkit.expect.headers import Headers
from svctoolkit.json_types import Json
from svctoolkit.runner.planes.traces import Trace

if TYPE_CHECKING:
    from svctoolkit.delivery import HttpRequest
    from svctoolkit.server.inspect.views import View

_LEFT_OUT = ("filtered", "dropped")
_FINE = (*_LEFT_OUT, "delivered", "unmapped")
_FATE = ("destination", "status", "by", "reason", "attempts", "transformed", "rule", "cause")
_VIOLATION = ("violation", "type", "name", "property", "path", "message", "place", "dropped")
_DELIVERY = ("destination", "attempt", "status", "payload", "response", "headers", "error", "accepted")


def run_results(view: View, keys: Sequence[str]) -> dict[str, Json]:
    """Return the results of a run's events at each of the destinations `keys`."""
    return results_of_records(*_records(view), keys)


def _records(view: View) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the fates and the deliveries in a view as records of `/inspect`; each fate has its `event`."""
    fates = [{name: getattr(f, name) for name in _FATE} | {"number": f.seq, "event": dict(f.event)} for f in view.fates]
    deliveries = [
        {name: getattr(d, name) for name in _DELIVERY}
        | {"events": d.events, "part": d.part}
        | {"request": _request(d.request), "at": d.at.isoformat(), "messageId": d.message_id}
        for d in view.deliveries
    ]
    return fates, deliveries


def traces(view: View, keys: Sequence[str]) -> dict[str, Trace]:
    """Return the traces of a run's events at `keys`, destinations; values are in the order of `fates.run_results`."""
    return traces_of_records(*_records(view), keys)


def traces_of_records(
    fates: Iterable[Mapping[str, Json]], deliveries: Sequence[Mapping[str, Json]], keys: Sequence[str]
) -> dict[str, Trace]:
    """Return the same from the records that `results_of_records` accepts."""
    by_key = {}
    ordered = sorted((fate for fate in fates if fate.get("event")), key=lambda fate: int(fate["number"]))
    for key in keys:
        own = [(str(fate["event"].get("messageId")), fate) for fate in ordered if fate["destination"] == key]
        sent = [(d["events"] or [str(d["messageId"])], d) for d in deliveries if d["destination"] == key]
        stages: dict[str, list[Sequence[str]]] = {
            "user_transform": [
                [id] for id, f in own for _ in transform_output(f["status"], f.get("transformed"), f["event"])
            ],
            "dest_transform": [ids for ids, d in sent if d["attempt"] == 1],
            "delivered": [ids for ids, d in sent if _is_delivered(d)],
        }
        by_key[key] = Trace({id: fate["event"] for id, fate in own}, stages)
    return by_key


def results_of_records(
    fates: Iterable[Mapping[str, Json]], deliveries: Sequence[Mapping[str, Json]], keys: Sequence[str]
) -> dict[str, Json]:
    """Return the same from records of `/inspect/fates` and `/inspect/deliveries`; each fate has its `event`."""
    # In the order of the events, not of their results: expectations of lists must not depend on timing.
    ordered = sorted(fates, key=lambda fate: int(fate["number"]))
    events = dict.fromkeys((fate.get("event") or {}).get("messageId") for fate in ordered)
    places = {message_id: place for place, message_id in enumerate(events)}
    by_key = {key: [fate for fate in ordered if fate["destination"] == key] for key in keys}
    requests = {key: [d for d in deliveries if d["destination"] == key] for key in keys}
    return {
        "user_transform": {
            key: [e for f in by_key[key] for e in transform_output(f["status"], f.get("transformed"), f.get("event"))]
            for key in keys
        },
        # Retries repeat the payload.
        "dest_transform": {key: [d["payload"] for d in requests[key] if d["attempt"] == 1] for key in keys},
        "dropped": {key: [_drop(f) for f in by_key[key] if f["status"] in _LEFT_OUT] for key in keys},
        "failed": {key: [_failure(f, requests[key]) for f in by_key[key] if f["status"] not in _FINE] for key in keys},
        "attempts": {key: _attempts(by_key[key], requests[key]) for key in keys},
        "tries": {key: _tries(requests[key]) for key in keys},
        "delivered": {key: [_request_record(d, places) for d in requests[key] if _is_delivered(d)] for key in keys},
    }


def violation_record(found: Mapping[str, Json]) -> dict[str, Json]:
    """Return a violation as expectations see it, from a record of `/inspect/violations`; `type` is the violation's."""
    members = {name: found[name] for name in ("property", "path", "message", "place", "dropped")}
    return {"type": found["violation"], "event": found["name"] or found["type"], **members}


def violation_records(view: View) -> list[dict[str, Json]]:
    """Return the violations in a view."""
    return [violation_record({name: getattr(found, name) for name in _VIOLATION}) for found in view.violations]


class EventPlace(int):
    """The index, from 0, of an event among those that were sent; it also equals the event's message id."""

    def __new__(cls, place: int, message_id: str) -> EventPlace:
        event = super().__new__(cls, place)
        event.message_id = message_id
        return event

    message_id: str

    def __eq__(self, other: object) -> bool:
        return self.message_id == other if isinstance(other, str) else super().__eq__(other)

    __hash__ = int.__hash__


class RequestRecord(dict[str, Any]):
    """A request as expectations see it.

    The events that it carried can always be expected, but they are only listed if there are several, so that snapshots
    of single-event requests do not change.
    """

    def __init__(self, members: Mapping[str, Json], events: list[Json]) -> None:
        super().__init__(members)
        self.events = events
        if len(events) > 1:
            self["events"] = events

    def __contains__(self, name: object) -> bool:
        return name == "events" or super().__contains__(name)

    def __missing__(self, name: str) -> Any:
        if name == "events":
            return self.events
        raise KeyError(name)


def _is_delivered(request: Mapping[str, Any]) -> bool:
    """Return whether the destination accepted an event of a request. Earlier versions of the service do not say so."""
    accepted = request.get("accepted")
    return bool(200 <= request["status"] < 300 if accepted is None else accepted)


def _attempts(fates: Sequence[Mapping[str, Any]], requests: Sequence[Mapping[str, Any]]) -> int:
    """Return how often the destination was tried: per event, or per request if events share requests."""
    # A shared request counts as an attempt of each of its events, so their sum would be too large.
    if any(len(_event_ids(request)) > 1 for request in requests):
        # An event with several payloads is one attempt; `part` numbers its requests.
        return sum(not request["part"] for request in requests)
    return sum(fate["attempts"] for fate in fates)


def _event_ids(request: Mapping[str, Any]) -> Sequence[str]:
    """Return the message ids of the events that a request carried. Earlier versions of the service record only one."""
    return request.get("events") or [str(request.get("messageId"))]


def _request(request: HttpRequest) -> dict[str, Any]:
    return {"method": request.method, "url": request.url, "headers": request.headers, "body": request.body}


def _drop(fate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fate.get(name) for name in ("by", "reason", "destination", "event")} | {"fate": fate["status"]}


def _failure(fate: Mapping[str, Any], requests: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return a failure; `status` is the destination's last response, if there was any."""
    message_id = (fate.get("event") or {}).get("messageId")
    statuses = [r["status"] for r in requests if "messageId" not in r or message_id in _event_ids(r)]
    failure = {name: fate.get(name) for name in ("by", "destination", "event", "attempts")}
    failure |= {"error": fate.get("reason"), "fate": fate["status"]}
    # A failure in an earlier stage has no response, even if an attempt before it had one.
    failure |= {"status": statuses[-1]} if statuses and fate["by"] == "send_to_destination" else {}
    cause = cause_from_json(fate["cause"]) if fate.get("cause") else None
    return with_cause(failure, cause, str(fate.get("rule", "")))


def _tries(requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return every request to one destination; `after` is the seconds since the same event's previous request."""
    tries, last = [], dict[Any, datetime]()
    for request in requests:
        at, whose = datetime.fromisoformat(str(request["at"])), request.get("messageId")
        body = body_value(request["request"]["body"], "")
        record = {"status": request["status"], "attempt": request["attempt"], "body": body}
        record |= {"response": request["response"], "headers": Headers(lower_names(request["request"]["headers"]))}
        record |= {"after": round((at - last[whose]).total_seconds(), 3)} if whose in last else {}
        tries.append(record | ({"error": request["error"]} if request.get("error") else {}))
        last[whose] = at
    return tries


def transform_output(status: str, transformed: Sequence[Json] | None, event: Json) -> Sequence[Json]:
    """Return the events after the user transformation; without one, the event itself if it got that far."""
    if transformed is not None:
        return list(transformed)
    # Filtered before the transformation: it never ran.
    return [] if status == "filtered" else [event]


def _request_record(delivery: Mapping[str, Any], places: Mapping[Any, int]) -> dict[str, Any]:
    """Return a request as expectations see it: header names in lower case, the body parsed."""
    request = delivery["request"]
    members = {
        "destination": delivery["destination"],
        **request_view(request["method"], request["url"], request["headers"], request["body"]),
        "status": delivery["status"],
        "response": delivery["response"],
    }
    return RequestRecord(members, [EventPlace(places[id], id) if id in places else id for id in _event_ids(delivery)])
