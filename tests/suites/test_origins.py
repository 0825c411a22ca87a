"""Below a difference, reports say where the value came from: fields of the event, lines of user code, settings."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import runner
from svctoolkit.pytest_plugin import assert_delivered
from svctoolkit.runner import REPORTERS, Notice, Outcome, Output
from svctoolkit.server import DataPlane
from svctoolkit.workspace import Person, Workspace

WORKSPACE = """
transformations: {js: {file: enrich.js}, py: {file: pii.py}}
libraries: {money: {file: money.js}}
destinations:
  hook: {type: WEBHOOK, transformation: js, config: {webhookUrl: https://h.example/in}}
  crm: {type: WEBHOOK, transformation: py, config: {webhookUrl: https://c.example/in}}
  ga: {type: GA4, config: {apiSecret: s, measurementId: G-1, typesOfClient: gtag, piiPropertiesToIgnore: []}}
sources: {web: {destinations: [hook, crm, ga]}}
"""
FILES = {
    "workspace.yaml": WORKSPACE,
    "money.js": "export function round(event) {\n  event.properties.tax = Math.round(event.properties.tax);\n}\n",
    "enrich.js": """\
import { round } from "money";
export function transformEvent(event) {
  const p = event.properties;
  p.total = p.total * 100;
  round(event);
  delete p.coupon;
  return { ...event, properties: {
    ...p,
    source: "js",
  } };
}
""",
    "pii.py": """\
def transformEvent(event, metadata):
    event['properties'] = {key: value for key, value in event['properties'].items()}
    event['properties']['total'] += 1
    event['properties'].pop('coupon', None)
    return event
""",
}
EVENT = (
    "{type: track, event: Paid, userId: u1, anonymousId: a, "
    "properties: {total: 5, tax: 1.5, coupon: X, currency: EUR, lines: [{sku: a}, {sku: b}]}}"
)
SUITE = f"""
workspace: workspace.yaml
scenarios:
  - name: sent
    source: web
    send: [{EVENT}, {{type: track, event: Paid, userId: u1, anonymousId: a, properties: {{total: 7}}}}]
    expect:
      delivered:
        hook: [{{method: PUT, body: {{properties: {{total: 5, tax: 3, source: app, coupon: X, currency: NOK,
                                              lines: []}}}}}},
               {{body: {{properties: {{total: 7}}}}}}]
        crm: [{{body: {{properties: {{total: 5, coupon: X}}}}}}, {{}}]
        ga: [{{query: {{measurement_id: G-2}}, body: {{events: [{{params: {{engagement_time_msec: 2}}}}]}}}}, {{}}]
  - name: tested
    destination: hook
    event: {EVENT}
    expect: {{user_transform: {{properties: {{total: 5}}}}, dest_transform: {{body: {{JSON: {{userId: u2}}}}}}}}
  - name: alone
    transformation: py
    event: {EVENT}
    expect: {{user_transform: {{properties: {{total: 5}}}}}}
"""
WANTED = {
    "delivered.hook.0.method": "method: from the default of setting webhookMethod",
    "delivered.hook.0.body.properties.total": "total: from properties.total, changed by enrich.js:4",
    "delivered.hook.0.body.properties.tax": "tax: from properties.tax, changed by money.js:2",
    "delivered.hook.0.body.properties.source": "source: made by enrich.js:9",
    "delivered.hook.0.body.properties.coupon": "coupon: properties.coupon is removed by enrich.js:6",
    "delivered.hook.0.body.properties.currency": "currency: from properties.currency",
    "delivered.hook.0.body.properties.lines": "lines: from properties.lines",
    "delivered.hook.1.body.properties.total": "total: from properties.total, changed by enrich.js:4",
    "delivered.crm.0.body.properties.total": "total: from properties.total, changed by pii.py:3",
    "delivered.crm.0.body.properties.coupon": "coupon: properties.coupon is removed by pii.py:4",
    "delivered.ga.0.query.measurement_id": "measurement_id: from setting measurementId",
    "delivered.ga.0.body.events.0.params.engagement_time_msec": "engagement_time_msec: made by the mapping",
    "user_transform.properties.total": "total: from properties.total, changed by enrich.js:4",
    "dest_transform.body.JSON.userId": "userId: from userId",
}


@pytest.fixture(scope="module")
def notices(tmp_path_factory: pytest.TempPathFactory) -> list[Notice]:
    folder = tmp_path_factory.mktemp("origins")
    for name, text in {**FILES, "s.suite.yaml": SUITE}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with runner.open_planes(limit=60) as planes:
        return list(runner.run(runner.load(folder / "s.suite.yaml").scenarios, planes))


def report(name: str, notices: list[Notice]) -> str:
    stream = io.StringIO()
    reporter = REPORTERS[name](Output(stream))
    for notice in notices:
        reporter(notice)
    return stream.getvalue()


def test_each_difference_has_its_origin(notices: list[Notice]) -> None:
    """Event fields, lines of both languages and of libraries, settings, defaults, the mapping; as data and as text."""
    scenarios: list[dict[str, Any]] = json.loads(report("json", notices))["scenarios"]
    origins = {d["path"]: d["origin"] for scenario in scenarios[:2] for d in scenario["differences"]}
    (alone,) = scenarios[2]["differences"]

    assert {path: origins[path]["text"] for path in WANTED} == WANTED
    assert origins["delivered.hook.0.body.properties.total"]["events"] == ["properties.total"]
    assert origins["delivered.hook.0.body.properties.total"]["code"] == ["enrich.js:4"]
    assert origins["delivered.hook.0.method"]["defaults"] == ["webhookMethod"]
    assert origins["delivered.hook.0.body.properties.coupon"]["lost_at"] == "user_transform"
    assert alone["origin"]["code"] == ["pii.py:3"]


@pytest.mark.parametrize("name", ["console", "html", "junit", "github", "markdown"])
def test_reports_show_origins(name: str, notices: list[Notice]) -> None:
    assert "total: from properties.total, changed by enrich.js:4" in report(name, notices)


def test_nothing_is_measured_before_a_report_asks(notices: list[Notice]) -> None:
    """A failed step keeps its events; a passed one keeps nothing."""
    failed = [step for notice in notices if isinstance(notice, Outcome) for step in notice.steps]
    hook = "{name: well, send: {type: track, event: A, userId: u}, expect: {delivered: [{body: {event: A}}]}}"
    shop = Workspace("shop")
    shop.destination("h", "WEBHOOK", config={"webhookUrl": "https://h.example"})
    shop.source("web", destinations=["h"])
    suite = runner.loads(f"scenarios: [{hook}]", shop)
    with runner.open_planes(limit=60) as planes:
        (passed,) = [n for n in runner.run(suite.scenarios, planes) if isinstance(n, Outcome)]

        assert passed.status == "passed"
        assert [step.origins for step in passed.steps] == [None]
        assert planes.lineages.measured == 0
    assert all(step.origins is not None for step in failed)


def test_helpers_of_pytest_say_it_too() -> None:
    """`assert_delivered` shows the origin below the difference."""
    shop = Workspace("shop")
    code = "def transformEvent(event, metadata):\n    event['properties']['total'] *= 2\n    return event\n"
    shop.transformation("double", code=code, language="python")
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://h.example"}, transformation="double")
    shop.source("web", destinations=["hook"])
    with DataPlane(shop, listen=False) as plane:
        plane.send({"type": "track", "event": "Paid", "userId": "u", "properties": {"total": 4}}, source="web")
        with pytest.raises(AssertionError, match=r"got 8\n  total: from properties.total, changed by double.py:2"):
            assert_delivered(plane, {"body": {"properties": {"total": 4}}})


def test_a_random_value_has_no_origin() -> None:
    """Two runs differ, whatever of the event changes: the other fields of the event are not its origin."""
    shop = Workspace("shop")
    code = """export function transformEvent(event) {
      const p = event.properties;
      return { ...event, properties: { sum: p.a + Math.random(), at: Date.now(), total: p.total * 2 } };
    }"""
    shop.transformation("noise", code=code, language="javascript")
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://h.example"}, transformation="noise")
    event = "{type: track, event: Paid, userId: u1, properties: {a: 1, total: 4}}"
    wanted = "{properties: {sum: 7, at: 7, total: 7}}"
    suite = runner.loads(
        f"scenarios: [{{name: noise, destination: hook, event: {event}, expect: {{user_transform: {wanted}}}}}]", shop
    )
    with runner.open_planes(limit=60) as planes:
        notices = list(runner.run(suite.scenarios, planes))
    ((scenario),) = json.loads(report("json", notices))["scenarios"]
    origins = {d["path"].rpartition(".")[2]: d.get("origin") for d in scenario["differences"]}

    assert (origins["sum"], origins["at"]) == (None, None)
    assert origins["total"]["text"] == "total: from properties.total, changed by noise.js:3"


def test_a_service_with_other_settings_gets_no_origin(tmp_path: Path) -> None:
    """`--base-url`: lineage is measured here. A value that would be another one here has no origin."""
    text = (
        "destinations: {{hook: {{type: WEBHOOK, config: {{webhookUrl: {url}}}}}}}\n"
        "sources: {{web: {{destinations: [hook]}}}}\n"
    )
    served = Workspace.loads(text.format(url="https://served.example"))
    served.users.append(Person.with_token("a@b.example", "token"))
    send = "source: web, send: {type: track, event: Paid, userId: u1, anonymousId: a1}"
    wanted = "{delivered: [{url: https://o.example, body: {event: A}}]}"
    suite = f"{text.format(url='https://here.example')}scenarios: [{{name: a, {send}, expect: {wanted}}}]"
    (tmp_path / "s.suite.yaml").write_text(suite, encoding="utf-8")
    with DataPlane(served) as plane:
        planes = runner.remote_planes(plane.url, "a@b.example", "token", limit=60)
        notices = list(runner.run(runner.load(tmp_path / "s.suite.yaml").scenarios, planes))
        planes.close()
    ((scenario),) = json.loads(report("json", notices))["scenarios"]
    origins = {d["path"]: (d.get("origin") or {}).get("text") for d in scenario["differences"]}

    assert origins == {"delivered.0.body.event": "event: from event", "delivered.0.url": None}


def test_columns_of_warehouses_have_origins() -> None:
    """The row's ID is that of its event; a row of `users` has the user's, and no origin."""
    shop = Workspace("shop")
    code = "def transformEvent(event, metadata):\n    event['properties']['total'] *= 2\n    return event\n"
    shop.transformation("double", code=code, language="python")
    shop.destination("wh", "POSTGRES", transformation="double")
    shop.source("web", destinations=["wh"])
    event = "{type: track, event: Paid, userId: u1, properties: {total: 4, plan: pro}}"
    wanted = "{warehouse: {paid: [{total: 4, plan: free}]}}"
    suite = runner.loads(f"scenarios: [{{name: a, source: web, send: {event}, expect: {wanted}}}]", shop)
    with runner.open_planes(limit=60) as planes:
        notices = list(runner.run(suite.scenarios, planes))
    ((scenario),) = json.loads(report("json", notices))["scenarios"]

    assert {d["path"]: (d.get("origin") or {}).get("text") for d in scenario["differences"]} == {
        "warehouse.paid.0.total": "total: from properties.total, changed by double.py:2",
        "warehouse.paid.0.plan": "plan: from properties.plan",
    }
