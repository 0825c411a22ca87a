"""The selection of each explorer is data: what is selected, its events, and a frame, for the next cell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import traitlets

from svctoolkit import DataPlane, Workspace, widgets
from svctoolkit.plans import of_service
from tests.notebooks.controls import click, fill, grid, pick

ORDER = {"type": "track", "event": "Order Completed", "userId": "u-1"}
LIST = "Newest events (UTC); select one for details"
SUITE = """\
suite: Orders
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/events}}
defaults: {destination: hook}
scenarios:
  - name: an order
    event: {type: track, event: Order Completed}
    expect: {dest_transform: {body: {JSON: {event: Order Completed}}}}
  - name: a page
    event: {type: page, name: Home}
    expect: {dest_transform: {body: {JSON: {name: Shop}}}}
"""


@pytest.fixture
def opened() -> Iterator[list[Any]]:
    explorers: list[Any] = []
    yield explorers
    for explorer in explorers:
        explorer.close()


def orders(count: int) -> list[dict[str, Any]]:
    return [{**ORDER, "messageId": f"m-{n}", "properties": {"total": n}} for n in range(count)]


def shop() -> Workspace:
    workspace = Workspace("shop")
    code = "def transformEvent(event, metadata):\n    return event if event['properties']['total'] % 2 else None\n"
    workspace.transformation("odd", code=code)
    hook = {"webhookUrl": "https://hook.example/in"}
    workspace.destination("hook", "WEBHOOK", config=hook, transformation="odd")
    workspace.source("web", write_key="w", destinations=["hook"])
    return workspace


def test_a_click_in_a_replay_selects_a_group_and_an_event(opened: list[Any]) -> None:
    """Observers get both by name; the group's events are a list and a frame."""
    explorer = widgets.ReplayExplorer(orders(6), shop())
    opened.append(explorer)
    heard: list[dict[str, Any]] = []
    explorer.observe(lambda change: heard.append(change["new"]), names="selected")

    pick(explorer, "Events of the group", 1)

    assert explorer.selected["place"] == "[2]"
    assert (explorer.selected["destination"], explorer.selected["what"]) == ("hook", "dropped")
    assert heard == [explorer.selected]
    assert [event["messageId"] for event in explorer.events] == ["m-0", "m-2", "m-4"]
    assert explorer.frame()["event_id"].tolist() == ["m-0", "m-2", "m-4"]
    with pytest.raises(traitlets.TraitError):
        explorer.selected = {}


def test_a_destination_and_its_event(opened: list[Any]) -> None:
    """Before a run, the frame has the event; after it, the result."""
    explorer = widgets.DestinationExplorer(shop())
    opened.append(explorer)
    fill(explorer, "Event (JSON)", '{"type": "track", "event": "Paid", "properties": {"total": 1}}')

    assert explorer.selected == {"destination": "hook", "type": "WEBHOOK"}
    assert explorer.events[0]["event"] == "Paid"
    assert explorer.frame()["properties.total"].tolist() == [1]
    fill(explorer, "Destination", "BRAZE")
    assert explorer.selected == {"destination": "BRAZE", "type": "BRAZE"}
    fill(explorer, "Destination", "hook")
    click(explorer, "Run")
    assert explorer.wait()
    assert "stage" in explorer.frame()


def test_the_events_that_code_runs_on(opened: list[Any]) -> None:
    """One of them, or all."""
    explorer = widgets.TransformationEditor(shop(), "odd", events=orders(3))
    opened.append(explorer)
    assert explorer.wait()

    assert explorer.selected["transformation"] == "odd"
    assert [event["messageId"] for event in explorer.events] == ["m-2"]
    fill(explorer, "Event", "all")
    assert explorer.wait()
    assert explorer.selected["event"] == "all"
    assert sorted(explorer.frame()["properties.total"]) == [0, 1, 2]


def test_events_that_arrive(opened: list[Any]) -> None:
    """All of the list, or the selected one; a person's events."""
    plane = DataPlane(shop())
    live, held = widgets.LiveEvents(plane), widgets.HeldExplorer(plane)
    opened += [live, held]
    for event in orders(3):
        plane.send(event, source="web")
    plane.drain()
    assert all(explorer.wait() for explorer in opened)

    assert live.selected == {}
    assert [event["messageId"] for event in live.events] == ["m-2", "m-1", "m-0"]
    pick(live, LIST, grid(live, LIST).page["numbers"][1])
    assert live.selected["user"] == "u-1"
    assert live.frame()["messageId"].tolist() == ["m-1"]
    held.show("u-1")
    assert held.wait()
    assert held.selected == {"person": "u-1"}
    assert len(held.events) == 3
    assert held.frame()["messageId"].tolist() == ["m-2", "m-1", "m-0"]


def test_events_of_a_client(opened: list[Any]) -> None:
    """Those that its data plane received; selected in the list of received events."""
    explorer = widgets.SdkPlayground()
    opened.append(explorer)
    click(explorer, "track")
    click(explorer, "flush")
    explorer.plane.wait(lambda: explorer.plane.newest(text="Order Completed"))
    assert explorer.wait()

    assert "Order Completed" in explorer.frame()["event"].tolist()
    pick(explorer, LIST, explorer.plane.newest(text="Order Completed")[0].seq)
    assert explorer.selected["name"] == "Order Completed"
    assert [event["event"] for event in explorer.events] == ["Order Completed"]


def test_scenarios(tmp_path: Path, opened: list[Any]) -> None:
    """A suite, or one scenario: the events it has, and a row for each outcome."""
    (tmp_path / "orders.suite.yaml").write_text(SUITE, encoding="utf-8")
    explorer = widgets.SuiteExplorer(tmp_path / "orders.suite.yaml")
    opened.append(explorer)
    assert explorer.wait()
    click(explorer, "Run all")
    assert explorer.wait()

    assert [event["type"] for event in explorer.events] == ["track", "page"]
    assert len(explorer.frame()) == 2
    page = explorer.state.scenarios[1]
    pick(explorer, "Scenarios", explorer.state.key(page.name))
    assert explorer.selected == {"suite": page.suite.name, "scenario": page.id}
    assert [event["type"] for event in explorer.events] == ["page"]
    assert explorer.frame()["status"].tolist() == ["failed"]


def test_planned_events_and_webhooks(opened: list[Any]) -> None:
    """The events of a name; the events that a webhook becomes."""
    currency = {"type": "object", "properties": {"currency": {"type": "string"}}, "required": ["currency"]}
    rules = {"properties": {"properties": currency}}
    plan = of_service({"id": "tp", "events": [{"name": "Order Completed", "eventType": "track", "rules": rules}]})
    explorer, source = widgets.PlanExplorer(plan, orders(2)), widgets.SourceExplorer(shop(), "Shopify")
    opened += [explorer, source]

    assert explorer.selected == {"event": "track 'Order Completed'", "event_id": "m-0"}
    assert explorer.frame()["messageId"].tolist() == ["m-0", "m-1"]
    assert source.selected["type"] == "Shopify"
    assert source.events[0]["type"] in {"track", "identify"}
    fill(source, "Body", "[")
    assert source.events == []
