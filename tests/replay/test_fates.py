"""A replay gives every event the same fate as the data plane, and makes the same requests."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace, events
from svctoolkit.delivery import Recorder
from svctoolkit.plans import of_service
from svctoolkit.replay import Replayed, compare, replay
from svctoolkit.transformations import Limits
from svctoolkit.workspace import Library
from tests.replay.shops import order, orders

REVENUE = {"type": "object", "properties": {"revenue": {"type": "number"}}, "required": ["revenue"]}
RULES = {"type": "object", "properties": {"properties": REVENUE}}
PLAN = {"id": "tp", "name": "Shop", "version": 1, "events": [
    {"name": "Order Completed", "eventType": "track", "rules": RULES}]}  # fmt: skip
CODE = """
export function transformEvent(event, metadata) {
  if (event.event === 'Secret') return
  if (event.event === 'Bad') throw new Error('bad event')
  if (event.event === 'Twin') return [event, { ...event, messageId: event.messageId + '-2' }]
  event.violations = event.context.violationErrors?.length
  event.of = metadata(event).sourceId
  return event
}
"""
CONSENT = {"consentManagement": [{"provider": "custom", "resolutionStrategy": "or", "consents": [{"consent": "ads"}]}]}


def bazaar() -> Workspace:
    """A workspace with everything that affects routing."""
    shop = Workspace("bazaar")
    shop.tracking_plan("plan", of_service(PLAN))
    shop.transformation("clean", language="javascript", code=CODE)
    hook = {"webhookUrl": "https://hook.example/in"}
    ga4 = {"apiSecret": "s", "measurementId": "G-1", "typesOfClient": "gtag"}
    shop.destination("hook", "WEBHOOK", config=hook, transformation="clean")
    shop.destination("consent", "WEBHOOK", config={**hook, **CONSENT})
    shop.destination("off", "WEBHOOK", config=hook, enabled=False)
    shop.destination("ga4", "GA4", config=ga4)
    shop.destination("hybrid", "GA4", config={**ga4, "connectionMode": {"web": "hybrid"}})
    shop.destination("device", "WEBHOOK", config={**hook, "connectionMode": {"web": "device"}})
    shop.destination("mixpanel", "MP", config={"token": "mp-token", "dataResidency": "us"})
    shop.destination("queue", "KAFKA", config={})
    shop.destination("lake", "SNOWFLAKE", config={})
    every = list(shop.destinations)
    shop.source("web", destinations=every, type="web").tracking_plan = "plan"
    app = shop.source("app", destinations=every[:5], type="ios")
    app.tracking_plan, app.plan_settings = "plan", {"track": {"anyOtherViolation": "drop"}}
    return shop


def traffic(count: int) -> list[dict[str, Any]]:
    """Events with everything that affects fates, from a fixed seed."""
    chance = random.Random(7)
    made = []
    for number in range(count):
        user = f"u{chance.randrange(40)}"
        name = chance.choice(["Order Completed", "Order Completed", "Secret", "Bad", "Twin", "Clicked"])
        revenue = chance.choice([{"revenue": number}, {}, {"revenue": "much"}])
        event = chance.choice([
            events.track(name, user_id=user, properties={**revenue, "currency": "EUR"}),
            events.track(name, user_id=user, properties=revenue),
            events.identify(user, traits={"email": f"{user}@x.example"}),
            events.page("Home", user_id=user),
            events.group("g1", user_id=user),
            {"type": " Track ", "event": name, "userId": user},
        ])  # fmt: skip
        integrations = chance.choice([
            None, None, {"All": True}, {"All": False}, {"All": False, "Webhook": True}, {"Webhook": False},
            {"All": False, "Google Analytics 4 (GA4)": {"sessionId": "1"}}, {"All": "no"}, [], {}, {"All": 1},
            {"All": 0},
        ])  # fmt: skip
        if integrations is not None:
            event["integrations"] = integrations
        denied = chance.choice([None, ["ads"], ["other"], ["ads", "other"]])
        consent = {"consentManagement": {"provider": "custom", "deniedConsentIds": denied}} if denied else {}
        event["context"] = {**consent, "ip": "1.2.3.4"}
        repeated = made and number % 50 == 0
        event["messageId"] = made[-1]["messageId"] if repeated else f"m{number}"
        made.append(event)
    return made


@pytest.fixture(scope="module")
def plane_of_a_day(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A data plane that has processed a thousand events, and its store."""
    store = tmp_path_factory.mktemp("day") / "events.db"
    with DataPlane(bazaar(), store=store, listen=False) as plane:
        day = traffic(1000)
        plane.send(day[:600], source="web")
        plane.send(day[600:], source="app")
        plane.drain(60)
        yield plane, store


def fates_of(result: Replayed) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Message id and destination -> fate, and for events that did not arrive the stage."""
    fates: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for row in result.frame().itertuples():
        if row.status in ("failed", "dropped", "filtered", "unmapped"):
            fates.setdefault((row.place.rpartition(":")[2], row.destination_id), set()).add((row.status, row.error))
    return fates


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_thousand_events_have_the_fates_of_the_data_plane(plane_of_a_day: Any, workers: int) -> None:
    """The same counts at every destination, and for each event the same fate for the same reason."""
    plane, store = plane_of_a_day
    result = replay(store, bazaar(), workers=workers)
    expected: dict[str, Counter[str]] = {}
    for fate in plane.fates:
        expected.setdefault(fate.destination, Counter())[fate.status] += 1

    assert {key: dict(counts) for key, counts in result.counts.items()} == {k: dict(v) for k, v in expected.items()}
    assert {status for counts in expected.values() for status in counts} == {
        "delivered", "filtered", "dropped", "failed", "unmapped",
    }  # fmt: skip
    reasons = {(str(f.seq), f.destination): (f.status, f.reason) for f in plane.fates if f.status != "delivered"}
    found = fates_of(result)
    assert {key: fate for key, fate in reasons.items() if fate not in found.get(key, ())} == {}


def items_of(payload: Any) -> list[str]:
    """What a request contains for each of its events."""
    body = payload["body"]
    batch = json.loads(body["JSON_ARRAY"]["batch"]) if "batch" in body["JSON_ARRAY"] else [body]
    return [json.dumps([payload["method"], payload["endpoint"], item], sort_keys=True) for item in batch]


def test_a_thousand_events_make_the_requests_of_the_data_plane(plane_of_a_day: Any) -> None:
    """The requests are equal to those that were sent."""
    plane, store = plane_of_a_day
    frame = replay(store, bazaar(), destinations=["hook", "ga4", "mixpanel"]).frame()
    rows = frame[(frame.stage == "dest_transform") & (frame.status == "ok")]
    would = Counter(
        (row.destination_id, item) for row in rows.itertuples() for item in items_of(json.loads(row.output))
    )
    sent = [d for d in plane.delivered if d.destination in ("hook", "ga4", "mixpanel")]

    assert would == Counter((d.destination, item) for d in sent for item in items_of(d.payload))
    assert {destination for destination, _ in would} == {"hook", "ga4", "mixpanel"}
    assert any("violations" in item for _, item in would)


def test_events_filtered_by_a_change_are_newly_dropped() -> None:
    """By a disabled source, a required consent or an unsupported type."""

    def shop(**config: Any) -> Workspace:
        made = Workspace("shop")
        made.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in", **config})
        made.source("web", type="web", destinations=["hook"])
        return made

    denied = [
        {**e, "context": {"consentManagement": {"provider": "custom", "deniedConsentIds": ["ads"]}}} for e in orders(3)
    ]
    off, device = shop(), shop(connectionMode={"web": "device"})
    off.source("web").enabled = False
    for after, reason in (
        (shop(**CONSENT), "filtered: the user denied consents"),
        (device, "filtered: the destination is in device mode"),
        (off, "filtered: the source is disabled"),
    ):
        result = compare(denied, shop(), after, source="web")

        assert result.kinds["newly dropped"] == 3
        assert result.groups[0].after.startswith(reason)


def test_a_mapping_can_use_the_account_of_its_destination() -> None:
    """As in the data plane: a type with OAuth delivers."""
    shop = Workspace("shop")
    shop.account("ads", secret={"accessToken": "t0k3n-of-ads"})
    shop.destination("crm", "REDDIT", config={"accountId": "t2_1", "version": "v2"}, account="ads")
    event = {**order(1), "context": {"traits": {"email": "a@b.example"}}}
    result = replay([event], shop)

    assert dict(result.counts["crm"]) == {"delivered": 1}
    assert "t0k3n-of-ads" not in result.frame().to_csv()
    assert "Bearer ••••" in result.frame().output.iloc[-1]


def shared(code: str, *, language: str = "javascript", **options: Any) -> Workspace:
    """Three destinations with the same transformation."""
    shop = Workspace("shop", **options)
    shop.transformation("clean", code=code, language=language)
    for key in ("one", "two", "three"):
        shop.destination(key, "WEBHOOK", config={"webhookUrl": f"https://{key}.example"}, transformation="clean")
    return shop


def bodies(result: Replayed) -> list[list[Any]]:
    """What each of the three destinations would get, in order."""
    rows = result.frame().query("stage == 'dest_transform' and status == 'ok'")
    return [
        [json.loads(output)["body"]["JSON"] for output in rows[rows.destination_id == key].output]
        for key in ("one", "two", "three")
    ]


RANDOM = "export function transformEvent(event, metadata) { event.chance = Math.random(); return event }"
RANDOM_PYTHON = """
import random
def transformEvent(event, metadata):
    return {**event, "chance": random.random()}
"""


@pytest.mark.parametrize(("code", "language"), [(RANDOM, "javascript"), (RANDOM_PYTHON, "python")])
def test_user_code_runs_once_for_all_its_destinations(code: str, language: str) -> None:
    """A random number is the same at all three."""
    one, two, three = bodies(replay(orders(5), shared(code, language=language)))

    assert one == two == three
    assert len({event["chance"] for event in one}) == 5


def test_values_equal_in_python_are_different_events() -> None:
    """Events with 1, 1.0 and true are separate calls, and each keeps its type."""
    shop = shared("export function transformEvent(event) { return { ...event, is: typeof event.properties.paid } }")
    same = {
        "type": "track",
        "event": "Paid",
        "userId": "u",
        "messageId": "m",
        "originalTimestamp": "2026-01-01T00:00:00Z",
    }
    given = [{**same, "properties": {"paid": paid}} for paid in (1, True, 1.0)]

    for bodies_of_one in bodies(replay(given, shop, batch=1)):
        assert [event["is"] for event in bodies_of_one] == ["number", "boolean", "number"]


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("export function transformEvent(event, about) { event.at = about(event).destinationId; return event }", ""),
        ("export function transformBatch(all, f) { return all.map(e => ({ ...e, at: f(e).destinationId })) }", ""),
        ("import { at } from 'lib'; export function transformEvent(e, m) { return { ...e, at: at(m, e) } }", ""),
        ("def transformEvent(event, metadata):\n  return {**event, 'at': metadata(event)['destinationId']}", "python"),
    ],
    ids=["event", "batch", "library", "python"],
)
def test_code_that_uses_metadata_runs_for_each_destination(code: str, language: str) -> None:
    """Other metadata means another call, in each form of code."""
    shop = shared(code, language=language or "javascript")
    shop.libraries["lib"] = Library("lib", "javascript", "export const at = (f, e) => f(e).destinationId")

    assert [{event["at"] for event in of} for of in bodies(replay(orders(3), shop))] == [{"one"}, {"two"}, {"three"}]


@pytest.mark.parametrize(("condition", "calls"), [("metadata(event)", 3), ("event.userId", 1)])
def test_interrupted_code_is_shared_only_without_metadata(condition: str, calls: int) -> None:
    """A limit ends a call without details, so code whose text mentions metadata runs for each destination."""
    requests = Recorder()
    code = f"""export async function transformEvent(event, metadata) {{
      await fetch('https://api.example/'); if ({condition}) for (;;); return event }}"""
    result = replay(orders(1), shared(code, limits=Limits(time=0.3)), transport=requests)

    assert [dict(counts) for counts in result.counts.values()] == [{"failed": 1}] * 3
    assert len(requests.requests) == calls


def test_a_comparison_with_shared_code_finds_varying_values() -> None:
    """New code runs again for each destination: random numbers are reported and are not a change."""
    result = compare(orders(4), shared(RANDOM), shared(RANDOM.replace("return", "event.more = 1; return")))

    assert {(group.path, group.count) for group in result.groups} == {("body.JSON.more", 4)}
    varies = {key: dict(paths) for key, paths in result.unstable.items()}
    assert varies == {key: {"body.JSON.chance": 4} for key in ("one", "two", "three")}
