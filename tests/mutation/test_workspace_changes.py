"""Settings, connections and tracking plans are changed, too; what has no effect is reported apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from svctoolkit.cli import main

WORKSPACE = """\
sources:
  web: {type: web, destinations: [hook, mixpanel, {destination: old, enabled: false}]}
destinations:
  hook:
    type: WEBHOOK
    transformation: clean
    config:
      webhookUrl: https://hook.example/in
      webhookMethod: POST
      headers: [{from: X-Team, to: data}]
      consentManagement: [{provider: custom, resolutionStrategy: and, consents: [{consent: ads}]}]
  mixpanel:
    type: MP
    config: {token: t-1, dataResidency: eu, useNewMapping: true, connectionMode: {web: cloud}}
  old: {type: WEBHOOK, enabled: false, config: {webhookUrl: https://old.example/in}}
transformations:
  clean: {language: python, code: "def transformEvent(event, metadata):\\n    return event"}
dataPlane: {eventBlocking: {track: [Ping]}}
"""
SUITE = """\
workspace: workspace.yaml
scenarios:
  - name: an order arrives
    source: web
    send: {type: track, event: Order Completed, userId: u1}
    expect:
      delivered:
        hook: [{method: POST, url: https://hook.example/in, headers: {X-Team: data}}]
        mixpanel: [{url: {$starts: "https://api-eu.mixpanel.com"}}]
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose suite checks some of its settings."""
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    (tmp_path / "orders.suite.yaml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sections(text: str) -> tuple[str, str, str]:
    """What is not noticed, what has no effect, and what is noticed."""
    rest, _, noticed = text.partition("\n\n")[2].partition("\nnoticed:\n")
    missed, _, idle = rest.partition(" no effect on any event of the suites")
    return missed, idle, noticed


def test_settings_and_connections(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the suite checks is noticed, what it does not check is not, and what no event depends on is apart."""
    before = {file: file.read_bytes() for file in shop.iterdir()}

    assert main(["mutate", "--all", "--jobs", "1"]) == 0
    missed, idle, noticed = sections(capsys.readouterr().out)

    for text in (
        'workspace.yaml:14  setting: mixpanel.config.token: t-1 -> ""',
        'workspace.yaml:8  setting: hook.config.webhookUrl: https://hook.example/in -> ""',
        "workspace.yaml:9  setting: hook.config.webhookMethod: POST -> PUT",
        "workspace.yaml:10  mapping: hook.config.headers.0.to: X-Team: data -> data_x",
        "workspace.yaml:14  setting: mixpanel.config.dataResidency: eu -> us",
        "workspace.yaml:14  setting: mixpanel.config.connectionMode.web: cloud -> device",
        "workspace.yaml:2  connection: web -> mixpanel disconnected",
        "workspace.yaml:4  connection: destination hook disabled",
        "workspace.yaml:2  connection: source web disabled",
    ):
        assert text in noticed
    for text in (
        "workspace.yaml:11  consent: hook.config.consentManagement.0.consents.0: ads -> removed",
        "workspace.yaml:18  event blocking: track 'Ping' is not blocked",
        "setting: mixpanel.config.useNewMapping: true -> false",
        "workspace.yaml:6  connection: hook without transformation clean",
    ):
        assert text in missed
    assert "mixpanel.config.secureCookie" not in missed + idle + noticed  # only a browser's SDK reads it
    assert {file: file.read_bytes() for file in before} == before


def test_a_secret_is_emptied_and_not_shown(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its value appears nowhere in the report."""
    text = WORKSPACE.replace("type: MP", "type: AM").replace("token: t-1", "apiKey: k-8d7f6a5b4c")
    (shop / "workspace.yaml").write_text(text)
    (shop / "orders.suite.yaml").write_text(SUITE.partition("        mixpanel:")[0])

    assert main(["mutate", "--all"]) == 0
    shown = capsys.readouterr().out

    assert "mixpanel.config.apiKey: emptied" in shown
    assert "k-8d7f6a5b4c" not in shown


PLAN = {
    "id": "shop",
    "version": 1,
    "events": [
        {
            "name": "Order Completed",
            "eventType": "track",
            "rules": {
                "$schema": "https://json-schema.org/draft/2019-09/schema",
                "type": "object",
                "properties": {
                    "properties": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["total"],
                        "properties": {
                            "total": {"type": "number"},
                            "currency": {"type": "string", "enum": ["EUR", "NOK"]},
                        },
                    }
                },
            },
        }
    ],
}
PLAN_SUITE = """\
workspace: workspace.yaml
scenarios:
  - name: an order without a total
    source: web
    send: {type: track, event: Order Completed, userId: u1, properties: {currency: EUR}}
    expect: {violations: [{type: Required-Missing}], delivered: []}
  - name: an order as planned
    source: web
    send: {type: track, event: Order Completed, userId: u1, properties: {currency: EUR, total: 2}}
    expect: {violations: [], delivered: [{}]}
"""


def write_planned_shop(folder: Path) -> None:
    """A workspace with a tracking plan, and a suite that checks some of its rules."""
    (folder / "plan.json").write_text(json.dumps(PLAN, indent=1))
    (folder / "workspace.yaml").write_text(
        "sources:\n  web:\n    destinations: [hook]\n    trackingPlan:\n      plan: shop\n"
        "      settings: {global: {allowUnplannedEvents: 'false', anyOtherViolation: drop}}\n"
        "destinations:\n  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}\n"
        "trackingPlans:\n  shop: {file: plan.json}\n"
    )
    (folder / "orders.suite.yaml").write_text(PLAN_SUITE)


def test_tracking_plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Required members, types, enums, unplanned members and events, and what happens to violations."""
    monkeypatch.chdir(tmp_path)
    write_planned_shop(tmp_path)

    assert main(["mutate", "--all"]) == 0
    missed, _, noticed = sections(capsys.readouterr().out)

    assert "plan: Order Completed.properties.total is not required" in noticed
    assert "plan: Order Completed.properties.total: number -> string" in noticed
    assert "plan: Order Completed.properties.currency: enum without EUR" in noticed
    assert "plan: Order Completed is unplanned" in noticed
    assert "plan: web: global.anyOtherViolation: drop -> forward" in noticed
    assert "plan: Order Completed.properties: unplanned members allowed" in missed
    assert "plan: web: global.allowUnplannedEvents: false -> true" in missed
