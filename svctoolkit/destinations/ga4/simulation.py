"""Google Analytics' Measurement Protocol: every request is answered 204, whatever is kept; `/debug` validates.

Rules with their checks and answers are in `facts.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.simulations import Fold, Request, Response, Simulation, Visit, member, object_at

_PAGE = ("page_title", "page_referrer", "page_location")


def _is_authentic(config: Mapping[str, Any], request: Request) -> bool:
    """Whether the keys of a request are those of the stream; a setting that is not there is not asked for."""
    asked = {"api_secret": "apiSecret", "measurement_id": "measurementId", "firebase_app_id": "firebaseAppId"}
    given = {setting: request.query.get(name) for name, setting in asked.items()}
    expected = {setting: config.get(setting) for setting in given if config.get(setting)}
    if given["measurementId"] is None:
        expected.pop("measurementId", None)
    if given["firebaseAppId"] is None:
        expected.pop("firebaseAppId", None)
    return expected.items() <= given.items() and bool(given["measurementId"] or given["firebaseAppId"])


def _oldest(_value: Json, days: int, now: datetime) -> Json:
    return int((now - timedelta(days=days)).timestamp() * 1_000_000)


simulation = Simulation(
    "Google Analytics 4",
    facts=Path(__file__).with_name("facts.yaml"),
    auth="ga4.secret",
    is_authentic=_is_authentic,
    formats={"item": lambda item: bool(member(item, "item_id") or member(item, "item_name"))},
    conversions={"oldest": _oldest},
)
PROFILES = simulation.table("profiles", ids=("user_id", "client_id", "app_instance_id"))
EVENTS = simulation.table(
    "events",
    owner=PROFILES,
    folds=(Fold("ga4.fold.purchase", ("owner", "name", "id"), "first", needs=("id",)),),
)


def _sent(request: Request) -> dict[str, Any]:
    """Return a request as its checks read it."""
    ids = {name: request.object.get(name) for name in ("client_id", "app_instance_id")}
    firebase = request.query.get("firebase_app_id")
    return {"body": request.body, "bytes": request.size, "firebase_app_id": firebase, **ids}


def _events(request: Request) -> list[dict[str, Any]]:
    """Return the events of a request as their checks read them."""
    shared = {
        "timestamp_micros": request.object.get("timestamp_micros"),
        "stream": "app" if request.query.get("firebase_app_id") else "web",
    }
    return [{**shared, **event, "params": object_at(event, "params")} for event in request.items("events")]


def _split(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event with the parameters of pages, which may be longer, apart."""
    params = event["params"]
    others = {name: value for name, value in params.items() if name not in _PAGE}
    return {**event, "params": others, "page": {name: params[name] for name in _PAGE if name in params}}


@simulation.on("POST /mp/collect")
def collect(visit: Visit, request: Request) -> Response:
    """Keep the events of a user, and the user's properties."""
    refusal = visit.refuse("request.collect", _sent(request))
    if refusal is not None:
        return refusal
    ids = {name: request.object.get(name) for name in ("user_id", "client_id", "app_instance_id")}
    row = visit.resolve(PROFILES, ids, own="user_id")
    properties, _ = visit.judge(PROFILES, {"user_properties": object_at(request.object, "user_properties")}, 0)
    given = properties["user_properties"].items()
    visit.write(PROFILES, row, {name: item["value"] for name, item in given if "value" in object_at(item)})
    for place, event in visit.batch().judge(EVENTS, _events(request)):
        kept, _ = visit.judge("events.params", _split(event), place)
        params, is_purchase = (
            {**kept["params"], **kept["page"]},
            (event.get("name"), event["stream"]) == ("purchase", "web"),
        )
        id = params.get("transaction_id") if is_purchase else None
        values = {"name": event.get("name"), "properties": params, "time": event["timestamp_micros"], "id": id}
        visit.record(EVENTS, values, row, place)
    return visit.answer("collected")


@simulation.on("POST /debug/mp/collect", is_open=True)
def validate(visit: Visit, request: Request) -> Response:
    """Return what is wrong with a request. Nothing is kept, and the keys are not checked."""
    found = [
        ("", broken) for kind in ("request.collect", "request.debug") for broken in visit.problems(kind, _sent(request))
    ]
    for place, event in enumerate(_events(request)):
        for kind, record in (("events", event), ("events.params", _split(event)), ("events.debug", event)):
            found += [(f"events[{place}].", broken) for broken in visit.problems(kind, record)]
    messages = [
        {
            "fieldPath": f"{prefix}{broken.values['at'].removeprefix('body.')}",
            "description": f"{broken.values['at']}: {broken.value!r} is invalid",
            "validationCode": broken.values["code"],
        }
        for prefix, broken in found
    ]
    return visit.answer("validated", messages=messages)
