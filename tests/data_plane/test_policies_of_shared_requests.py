"""Policies are about single events, also if many of them share a request."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.cli import main
from svctoolkit.destinations import CATALOGUE, DestinationType, Endpoint, Merge, Payload, Settings
from svctoolkit.events import Event, track
from svctoolkit.policies import Policies
from svctoolkit.replay import replay
from svctoolkit.workspace import Calls

WORKSPACE = """
workspace: shop
sources: {web: {destinations: [hook, mixpanel]}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}}
  mixpanel: {type: MP, config: {token: t0k3n, dataResidency: us, identityMergeApi: simplified}}
"""
#: policies, and which of the events below break them
POLICIES = [
    ({"name": "privacy", "no_personal": {"destinations": ["mixpanel"]}}, [3]),
    ({"name": "coupon", "required": {"event": "Paid", "at": {"mixpanel": ["coupon"]}}}, [1]),
    ({"name": "equal", "agree": {"values": ["hook.properties.price", "mixpanel.properties.price"]}}, []),
    ({"name": "hosts", "hosts": ["hook.example"]}, [0, 1, 2, 3, 4]),
    ({"name": "cheap", "sql": "select event_id, price from mixpanel where price < 13"}, [0, 1, 2]),
]
API = Endpoint("https://harbor.example")


def events() -> list[dict[str, Any]]:
    found = [track("Paid", user_id=f"u{n}", properties={"price": 10 + n, "coupon": f"c{n}"}) for n in range(5)]
    del found[1]["properties"]["coupon"]
    found[3]["properties"]["note"] = "jo@mail.example"
    return [{**event, "messageId": f"m{number}"} for number, event in enumerate(found)]


def together(workspace: Workspace) -> Workspace:
    workspace.delivery.batch = Calls(jobs=20, wait=60)
    return workspace


@pytest.mark.parametrize(("policy", "broken"), POLICIES, ids=[str(policy["name"]) for policy, _ in POLICIES])
def test_only_the_events_that_break_a_policy_are_named(policy: dict[str, Any], broken: list[int]) -> None:
    """By a served plane and `plane.breaches()`, with the same numbers as in a replay."""
    workspace = together(Workspace.loads(WORKSPACE))
    policies = Policies.of([policy])
    replayed = replay(events(), workspace, policies=policies)
    workspace.policies = [policy]
    with DataPlane(workspace, listen=False) as plane:
        plane.send(events(), source="web")
        plane.drain(120)
        assert max(len(one.events) for one in plane.deliveries) == 5
        of_plane = plane.breaches()
        while (state := plane.ingest("GET", "/inspect/policies").json)["more"]:
            pass

    (item,) = state["items"]
    first = [one["first"] - 1 for one in item["groups"]]
    assert (
        [min(first), max(one["seq"] - 1 for one in item["groups"])] == [broken[0], broken[-1]] if broken else not first
    )
    assert item["breaches"] == len(of_plane)
    if "sql" not in policy:  # a row of a query has no event id of its event
        assert sorted({breach.event_id for breach in of_plane}) == [f"m{number}" for number in broken]
    assert sum(group.count for group in replayed.groups if group.kind == "breach") == item["breaches"]


@pytest.fixture
def endless_again() -> Iterator[threading.Event]:
    """A type whose events share requests. While the event is set, its mapping does not end."""
    is_endless = threading.Event()
    own = DestinationType("Shared harbor", Settings, merges=[Merge("visits", wraps=True)])

    @own.on("track")
    def send(event: Event, settings: Settings) -> Payload:
        while is_endless.is_set():
            pass
        return API.post(settings, "visits", {**event.raw["properties"]})

    CATALOGUE.add("SHARED_HARBOR", own)
    yield is_endless
    is_endless.clear()
    CATALOGUE._added.pop("SHARED_HARBOR")  # other tests of this process look at every type


def test_a_mapping_that_does_not_end_when_it_runs_again_is_given_up(endless_again: threading.Event) -> None:
    """Policies are answered by what was sent, and the mapping is not tried for each event."""
    workspace = Workspace.loads("""
workspace: shop
sources: {web: {destinations: [harbor]}}
destinations: {harbor: {type: SHARED_HARBOR}}
dataPlane: {limits: {mapping: 0.2}}
policies: [{no_personal: {destinations: [harbor]}}]
""")
    with DataPlane(together(workspace), listen=False) as plane:
        plane.send(events(), source="web")
        plane.drain(120)
        assert [len(one.events) for one in plane.deliveries] == [5]
        (breach,) = plane.breaches()
        endless_again.set()

        assert {each.event_id for each in plane.breaches()} == {f"m{number}" for number in range(5)}
        assert breach.event_id == "m3"


def test_an_event_is_mapped_with_the_workspace_that_sent_it(tmp_path: Path) -> None:
    """After the file was reloaded, the events that were sent before still went to the earlier host."""
    file = tmp_path / "workspace.yaml"
    policies = "policies: [{hosts: [hook.example, api.mixpanel.com]}]\n"
    text = WORKSPACE + "delivery: {batch: {jobs: 20, wait: 60}}\n" + policies
    file.write_text(text)

    def read(path: str) -> Any:
        answer = httpx.get(f"{plane.url}/{path}", headers={"authorization": f"Bearer {plane.token}"}, timeout=120)
        return answer.json()

    def hosts() -> list[tuple[int, str]]:
        while (state := read("inspect/policies"))["more"]:
            pass
        return [(one["count"], one["first"], one["text"]) for one in state["items"][0]["groups"]]

    with DataPlane(file) as plane:
        plane.send(events(), source="web")
        plane.drain(120)
        file.write_text(text.replace("dataResidency: us", "dataResidency: eu"))
        plane.wait(lambda: read("inspect/workspace")["reload"]["at"], 120)
        assert hosts() == []
        plane.send([{**event, "messageId": f"again-{event['messageId']}"} for event in events()[:2]], source="web")
        plane.drain(120)
        assert hosts() == [(2, 6, "goes to api-eu.mixpanel.com")]


def test_a_suite_names_only_the_scenario_with_the_breach(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`required` does not hold for an event because another one in its request has the value."""
    (tmp_path / "policies.yaml").write_text("policies: [{required: {event: Paid, at: {mixpanel: [coupon]}}}]")
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    suite = tmp_path / "orders.suite.yaml"
    suite.write_text("""
suite: Orders
workspace: workspace.yaml
policies: policies.yaml
scenarios:
  - name: with coupons
    send:
      - {type: track, event: Paid, userId: u1, properties: {coupon: a}}
      - {type: track, event: Paid, userId: u2, properties: {coupon: b}}
    expect: {delivered: {hook: [{}, {}]}}
  - name: one without
    send:
      - {type: track, event: Paid, userId: u1, properties: {coupon: a}}
      - {type: track, event: Paid, userId: u2, properties: {price: 1}}
    expect: {delivered: {hook: [{}, {}]}}
""")

    assert main(["run", str(suite)]) == 1

    said = capsys.readouterr().out
    assert "1 passed, 1 failed" in said
    assert "policy required: mixpanel: " in said
