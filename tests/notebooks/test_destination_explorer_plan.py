"""The destination explorer with a tracking plan, and with several events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from svctoolkit import Secret, Workspace
from svctoolkit.plans import Plan, Rule
from svctoolkit.plans.generate import near_misses
from svctoolkit.widgets import DestinationExplorer
from tests.notebooks.controls import click, control, fill, saved, shown, words

KEY = "s3cr3t-t0ken"
SCHEMA = {
    "type": "object",
    "properties": {
        "properties": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "total": {"type": "number"}},
            "required": ["order_id", "total"],
            "additionalProperties": False,
        }
    },
}
PLAN = Plan("tp-orders", (Rule("track", "Order Completed", SCHEMA), Rule("identify", "", {})), name="Orders")
ORDER = {
    "type": "track",
    "event": "Order Completed",
    "userId": "u1",
    "messageId": "m",
    "properties": {"order_id": "o-1", "totl": 5},
}


@pytest.fixture
def shop(tmp_path: Path) -> Workspace:
    workspace = Workspace("shop", folder=tmp_path)
    config = {"apiKey": Secret(KEY, origin="$(env:AM_KEY)")}
    workspace.destination("amp", "AM", config=config)
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    workspace.tracking_plan("orders", PLAN)
    source = workspace.source("web", destinations=["amp"])
    source.tracking_plan = "orders"
    return workspace


@pytest.fixture
def explorer(shop: Workspace) -> Iterator[DestinationExplorer]:
    made = DestinationExplorer(shop, "amp", event=ORDER)
    yield made
    made.close()


def run(explorer: DestinationExplorer) -> str:
    click(explorer, "Run")
    assert explorer.wait(60)
    return words(shown(explorer))


def test_violations_are_shown_next_to_the_stages(
    explorer: DestinationExplorer,
) -> None:
    """Immediately below the event; after a run also before the first stage, and in what is saved."""
    assert control(explorer, "Tracking plan").value == "Orders, of source web"
    before = words(shown(explorer))
    assert "must have required property 'total'" in before
    assert "Did you mean 'total'?" in before

    said = run(explorer)
    assert "tracking_plan ✗ failed 2 violations; the event continues, marked user_transform" in said
    assert "must have required property 'total'" in words(explorer._repr_mimebundle_()["text/html"])

    fill(explorer, "Tracking plan", "none")
    assert "tracking_plan" not in run(explorer)


def test_events_dropped_by_the_plan_are_reported(shop: Workspace) -> None:
    """The stages are tested anyway, as the Test API does."""
    shop.sources["web"].plan_settings = {"track": {"unplannedProperties": "drop"}}
    explorer = DestinationExplorer(shop, "amp", event=ORDER)

    said = run(explorer)
    assert "dropped 2 violations: the data plane drops the event" in said
    assert "HTTP 200" in said
    explorer.close()


def test_a_plan_provides_samples(explorer: DestinationExplorer) -> None:
    """One that conforms, then each near miss, which breaks the rule in its name."""
    fill(explorer, "Start from a planned event", "track 'Order Completed'")
    assert "the event conforms to the tracking plan" in words(shown(explorer))
    options = control(explorer, "Sample").options
    assert len(options) == 2 + len(near_misses(PLAN, PLAN.rules[0], Random(1)))
    for title, (event,) in options[2:]:
        fill(explorer, "Sample", (event,))
        assert explorer.state.event == event
        _, _, message = title.partition(": ")
        assert [v.message for v in PLAN.check(event).violations] == [message]
        assert message in words(shown(explorer))


def test_without_plans_there_is_no_choice() -> None:
    """A plan passed by the caller is chosen from the start, whatever the workspace has."""
    bare, own = DestinationExplorer(), DestinationExplorer(plan=PLAN)

    assert "Tracking plan" not in json.dumps([getattr(w, "description", "") for w in _all(bare.root)])
    assert control(own, "Tracking plan").value == "Orders"
    bare.close()
    own.close()


def test_a_batch_lists_its_events(explorer: DestinationExplorer) -> None:
    """Events of one user share a request; the reason for another request is given."""
    fill(explorer, "How many", 25)
    click(explorer, "Put together")
    assert explorer.wait(60)
    said = words(shown(explorer))

    assert "25 events make 2 requests" in said
    assert "5 events → POST https://api2.amplitude.com/batch apart: another call: each has 20 jobs" in said
    assert KEY not in saved(explorer)


def test_several_events_are_batched(shop: Workspace) -> None:
    """A refused event has no request and says why; changed settings count."""
    events = [ORDER, {"type": "track", "userId": "u2", "messageId": "m2"}]
    explorer = DestinationExplorer(shop, "hook", events=events)
    fill(explorer, "Override (destinationConfig, JSON)", '{"webhookUrl": "https://other.example/in"}')
    click(explorer, "Put together")
    assert explorer.wait(60)

    assert "2 events make 2 requests" in words(shown(explorer))
    assert "https://other.example/in" in shown(explorer)
    explorer.close()


def _all(widget: Any) -> Iterator[Any]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _all(child)
