"""Tracking plans in a data plane: each event is checked once, and then marked, dropped or passed on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.errors import InvalidWorkspace
from svctoolkit.plans import Plan, of_service
from svctoolkit.server import Backoff

SCHEMA = {
    "type": "object",
    "properties": {
        "properties": {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]},
    },
}
GOOD = {"type": "track", "event": "Order Done", "userId": "u", "messageId": "good", "properties": {"total": 3}}
BAD = {**GOOD, "messageId": "bad", "properties": {"total": "3"}}
UNPLANNED = {**GOOD, "messageId": "unplanned", "event": "Order Lost"}
DROP = {"track": {"allowUnplannedEvents": "false", "anyOtherViolation": "drop"}}


def shop_plan(version: int = 3) -> Plan:
    events = [{"name": "Order Done", "eventType": "track", "rules": SCHEMA}]
    return of_service({"id": "tp", "name": "Shop", "version": version, "events": events})


def workspace(settings: dict[str, Any] | None, transformation: str | None = None) -> Workspace:
    shop = Workspace("shop")
    if transformation:
        shop.transformation("code", code=transformation, language="javascript")
    for key in ("a", "b"):
        hook = shop.destination(key, "WEBHOOK", config={"webhookUrl": f"https://{key}.example"})
        hook.transformation = "code" if transformation else None
    shop.tracking_plan("shop", shop_plan())
    source = shop.source("web", destinations=["a", "b"])
    source.tracking_plan, source.plan_settings = "shop", settings
    return shop


def bodies(plane: DataPlane, destination: str = "a") -> dict[str, Any]:
    """The requests of a destination, by message id."""
    sent = [d.payload["body"]["JSON"] for d in plane.delivered if d.destination == destination]
    return {body["messageId"]: body for body in sent}


def test_events_dropped_by_the_plan_go_nowhere() -> None:
    """Each destination that would have received the event has a fate with the reason; other events continue."""
    with DataPlane(workspace(DROP)) as plane:
        plane.send([GOOD, BAD, UNPLANNED], source="web")
        plane.drain()
        fates = {(f.message_id, f.destination): (f.status, f.by, f.reason) for f in plane.fates}

    wrong = ("dropped", "tracking_plan", "Datatype-Mismatch: must be number")
    unplanned = ("dropped", "tracking_plan", "Unplanned-Event: no schema for event: Order Lost")
    assert fates == {
        ("good", "a"): ("delivered", "", ""),
        ("good", "b"): ("delivered", "", ""),
        ("bad", "a"): wrong,
        ("bad", "b"): wrong,
        ("unplanned", "a"): unplanned,
        ("unplanned", "b"): unplanned,
    }


def test_without_settings_all_events_continue_with_violations_marked() -> None:
    """Every destination gets the same mark; the stored event has none."""
    with DataPlane(workspace(None)) as plane:
        plane.send([GOOD, BAD], source="web")
        plane.drain()
        for destination in ("a", "b"):
            marked = bodies(plane, destination)["good"]["context"]
            assert (marked["trackingPlanId"], marked["trackingPlanVersion"]) == ("tp", 3)
            assert marked["violationErrors"] == []
            (error,) = bodies(plane, destination)["bad"]["context"]["violationErrors"]
            assert error["meta"]["instancePath"] == "/properties/total"
        assert [event.event.get("context") for event in plane.received] == [None, None]


def test_options_of_the_validator_change_what_destinations_get(tmp_path: Path) -> None:
    """`ajvOptions` coerce, fill in and remove; the stored event stays as it came, and a restart changes nothing."""
    body = {**SCHEMA["properties"]["properties"], "additionalProperties": False}  # type: ignore[index]
    body["properties"] = {**body["properties"], "currency": {"type": "string", "default": "EUR"}}
    rules = {"type": "object", "properties": {"properties": body}}
    options = {"coerceTypes": True, "useDefaults": True, "removeAdditional": True}
    shop = workspace({"global": {"anyOtherViolation": "drop", "ajvOptions": options}})
    events = [{"name": "Order Done", "eventType": "track", "rules": rules}]
    shop.tracking_plan("shop", of_service({"id": "tp", "version": 3, "events": events}))
    sent = {**BAD, "properties": {"total": "3", "extra": 1}}
    with DataPlane(shop, store=tmp_path / "plane.db", listen=False, backoff=Backoff(first=0.01)) as plane:
        plane.script("b", Answer(503))
        plane.send(sent, source="web")
        plane.wait(lambda: {f.destination: f.attempts for f in plane.fates}.get("b", 0) >= 1 and bodies(plane))
        first = bodies(plane, "a")["bad"]
    with DataPlane(shop, store=tmp_path / "plane.db", listen=False) as plane:
        plane.drain()
        again = bodies(plane, "b")["bad"]

        assert first["properties"] == again["properties"] == {"total": 3, "currency": "EUR"}
        assert again["context"]["violationErrors"] == []
        assert plane.received[0].event["properties"] == sent["properties"]


def test_user_code_sees_the_violations() -> None:
    """In the event's context, with the plan in its metadata: the plan is checked before the user transformation."""
    code = """export function transformEvent(event, metadata) {
      const m = metadata(event);
      event.seen = [event.context.violationErrors.length, m.trackingPlanId, m.trackingPlanVersion, m.mergedTpConfig];
      return event; }"""
    with DataPlane(workspace({"global": {"anyOtherViolation": "forward"}}, code)) as plane:
        plane.send([GOOD, BAD], source="web")
        plane.drain()
        seen = {key: body["seen"] for key, body in bodies(plane).items()}

    config = {"anyOtherViolation": "forward"}
    assert seen == {"good": [0, "tp", 3, config], "bad": [1, "tp", 3, config]}


def test_sources_without_a_plan_are_unaffected() -> None:
    """No mark, no check, no violation."""
    shop = workspace(None)
    shop.source("web").tracking_plan = None
    with DataPlane(shop) as plane:
        plane.send([BAD], source="web")
        plane.drain()

        assert "violationErrors" not in bodies(plane)["bad"].get("context", {})
        assert len(plane.violations) == 0
        assert httpx.get(f"{plane.url}/inspect/counts", timeout=60).json()["checked"] == 0


def test_an_event_without_a_destination_is_not_checked() -> None:
    """As in RudderStack: an event without destinations is discarded before the plan is checked."""
    shop = workspace(None)
    for key in ("a", "b"):
        shop.source("web").connections.clear()
        shop.destination(key)
    with DataPlane(shop) as plane:
        plane.send([BAD], source="web")
        plane.drain()

        assert len(plane.received) == 1
        assert len(plane.violations) == 0


def test_violations_can_be_inspected() -> None:
    """As records, as a frame, filtered over HTTP, as counts and as metrics; valid and invalid events are separate."""
    changes: list[dict[str, Any]] = []
    with DataPlane(workspace(DROP)) as plane:
        plane.watch(lambda kind, items: changes.extend(items) if kind == "violation" else None)
        plane.send([GOOD, BAD, UNPLANNED], source="web")
        plane.drain()
        found = {v.message_id: (v.violation, v.path, v.plan, v.version, v.dropped) for v in plane.violations}
        violations, frame = list(plane.violations), plane.violations.frame()
        good = [event.message_id for event in plane.conforming]
        bad = [event.message_id for event in plane.violating]

        def get(path: str) -> Any:
            return httpx.get(f"{plane.url}{path}", timeout=60).json()

        listed = get("/inspect/violations?violation=Datatype-Mismatch")["items"]
        pages = [get(f"/inspect/events?violations={which}")["items"] for which in ("any", "none")]
        events = [[item["event"]["messageId"] for item in page] for page in pages]
        counts, metrics = get("/inspect/counts"), httpx.get(f"{plane.url}/metrics", timeout=60).text
        wrong = httpx.get(f"{plane.url}/inspect/events?violations=yes", timeout=60)

    assert found == {
        "bad": ("Datatype-Mismatch", "/properties/total", "tp", 3, True),
        "unplanned": ("Unplanned-Event", "", "tp", 3, True),
    }
    assert list(frame["violation"]) == ["Datatype-Mismatch", "Unplanned-Event"]
    assert (good, bad) == (["good"], ["bad", "unplanned"])
    assert [item["messageId"] for item in listed] == ["bad"]
    assert events == [["bad", "unplanned"], ["good"]]
    assert (counts["checked"], counts["violated"], counts["dropped_by_plan"]) == (3, 2, 2)
    assert 'svctoolkit_violations_total{source="web",type="Unplanned-Event"} 1' in metrics
    assert 'svctoolkit_checks_total{plan="tp",outcome="conforming"} 1' in metrics
    members = ("seq", "source", "type", "name", "plan", "version", "violation", "property", "path", "message", "place")
    assert changes == [{name: getattr(v, name) for name in (*members, "dropped", "run")} for v in violations]
    assert wrong.status_code == 400


def test_marks_survive_a_restart(tmp_path: Path) -> None:
    """A pending event keeps its mark, also after a restart without the plan."""
    shop = workspace(None)
    with DataPlane(shop, store=tmp_path / "store.db", backoff=Backoff(first=60.0)) as plane:
        plane.script("a", Answer(503))
        plane.send([BAD], source="web")
        plane.wait(lambda: len(plane.deliveries) == 2)
        assert len(plane.violations) == 1
    shop.source("web").tracking_plan = None
    with DataPlane(shop, store=tmp_path / "store.db") as plane:
        plane.drain()

        assert len(bodies(plane)["bad"]["context"]["violationErrors"]) == 1
        assert len(plane.violations) == 1


def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


FILE = """\
workspace: shop
trackingPlans:
  shop: {file: plan.json}
sources:
  web: {destinations: [a], trackingPlan: shop}
destinations:
  a: {type: WEBHOOK, config: {webhookUrl: "https://a.example"}}
"""


def plan_file(folder: Path, **schema: Any) -> None:
    events = [{"name": "Order Done", "eventType": "track", "rules": {**SCHEMA, **schema}}]
    (folder / "plan.json").write_text(json.dumps({"id": "tp", "version": 1, "events": events}), encoding="utf-8")


def test_a_plan_is_read_again_when_its_file_changes(tmp_path: Path) -> None:
    """An invalid plan is not used, and `reload_problem` says why."""
    (tmp_path / "workspace.yaml").write_text(FILE, encoding="utf-8")
    plan_file(tmp_path)
    with DataPlane(tmp_path / "workspace.yaml") as plane:
        plan_file(tmp_path, tpye="object")
        _until(lambda: "unknown keyword 'tpye'. Did you mean 'type'?" in plane.reload_problem)
        plan_file(tmp_path, required=["userId"], properties={**SCHEMA["properties"], "userId": {"type": "null"}})  # type: ignore[dict-item]
        _until(lambda: not plane.reload_problem)
        plane.send([GOOD], source="web")
        plane.drain()

        assert [v.path for v in plane.violations] == ["/userId"]


def test_a_project_links_plans_to_sources(tmp_path: Path) -> None:
    """An `event-stream-source` with the source's id has plan and settings, unless the workspace sets others."""
    from tests.plans.test_formats import PROJECT, write

    write(tmp_path / "tracking", PROJECT)
    text = FILE.replace("{file: plan.json}", "{project: tracking}").replace(", trackingPlan: shop", "")
    shop = Workspace.loads(text, folder=tmp_path)
    link = shop.plan_link(shop.source("web"))
    assert link
    assert link.plan
    assert (link.plan.id, link.settings.of("track").drops(link.plan.check(UNPLANNED).violations)) == ("shop", True)

    text = text.replace("destinations: [a]", "destinations: [a], trackingPlan: {plan: shop, settings: {}}")
    shop = Workspace.loads(text, folder=tmp_path)
    link = shop.plan_link(shop.source("web"))
    assert link
    assert link.settings.by_type == {}
    assert Workspace.loads(shop.dumps(), folder=tmp_path).source("web") == shop.source("web")


@pytest.mark.parametrize(
    ("text", "instead", "said"),
    [
        ("trackingPlan: shop", "trackingPlan: shp", "5:42: unknown tracking plan 'shp'. Did you mean 'shop'?"),
        ("plan.json", "plans.json", "3:16: cannot be used:\nplans.json: no such file or folder"),
        ("{file: plan.json}", "{}", "give either 'project' (a folder) or 'file'"),
        ("plan.json}", "plan.json, format: segmnt}", "unknown tracking plan format 'segmnt'. Did you mean 'segment'?"),
        ("plan.json}", "plan.json, plan: other}", "unknown tracking plan 'other'"),
        (": shop}", ": {plan: shop, settings: {trakc: {}}}}", "not 'trakc'. Did you mean 'track'?"),
        (": shop}", ": {plan: shop, settings: {track: {drop: true}}}}", "unknown setting 'drop'"),
    ],
)
def test_mistakes_are_reported_with_their_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, instead: str, said: str
) -> None:
    """Line and column in the workspace file or in the plan's own file."""
    monkeypatch.chdir(tmp_path)
    plan_file(tmp_path)
    with pytest.raises(InvalidWorkspace) as error:
        Workspace.loads(FILE.replace(text, instead), name="w.yaml", folder=tmp_path)

    assert said in str(error.value)


def test_an_unusable_plan_stops_no_event(caplog: pytest.LogCaptureFixture) -> None:
    """No accepted event is lost: it continues unchecked, and the log says why."""
    shop = workspace(None)
    shop.source("web").tracking_plan = "gone"
    with DataPlane(shop, listen=False) as plane:
        plane.send([BAD], source="web")
        plane.drain()

        assert [fate.status for fate in plane.fates] == ["delivered"] * 2
        assert len(plane.violations) == 0
    [record] = caplog.records
    expected = "event 1 cannot be checked against its plan; it continues unchecked"
    assert (record.name, record.getMessage(), bool(record.exc_info)) == ("svctoolkit.plans", expected, True)
