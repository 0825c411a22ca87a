"""The plan explorer shows volumes, violations at their lines, and planned events that never come; live and static."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from svctoolkit import plans
from svctoolkit.plans import Plan
from svctoolkit.plans.marked_json import marked_lines
from svctoolkit.widgets.plan_explorer import PlanExplorer
from tests.notebooks.controls import lines, pick, search
from tests.plans.test_formats import PROJECT, write

GOOD = {"type": "track", "event": "Order Paid", "messageId": "good", "properties": {"total": 3, "method": "cash"}}
BAD = {**GOOD, "messageId": "bad", "properties": {"totl": "<b>", "lines": [{"sku": 1}]}}
LIST = "Events of the name"
UNPLANNED = {**GOOD, "event": "Order Payed"}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return plans.load(write(tmp_path, PROJECT)).plan()


def test_planned_and_actual_events_are_compared(plan: Plan) -> None:
    """Planned ones that never come, unplanned ones, volumes by property, the nearest name."""
    explorer = PlanExplorer(plan, [GOOD, GOOD, BAD, UNPLANNED])
    shown = explorer.static()

    assert repr(explorer) == "<PlanExplorer: 4 events, 2 with violations>"
    assert "never received" in shown
    assert "unplanned" in shown
    assert "Did you mean &#x27;total&#x27;?" in shown or "Did you mean 'total'?" in shown
    assert "2 of 3" in explorer.state.properties("track 'Order Paid'")
    assert "identify" in explorer.state.absent
    assert "Order Paid: card" in explorer.state.absent
    assert ("properties", "Order Paid: card") in explorer.coverage.missing
    assert "Coverage of the tracking plan" in shown
    explorer.close()


def test_violations_are_shown_at_their_lines(plan: Plan) -> None:
    """An unexpected property at its own line, a missing one at its parent's."""
    found: dict[str, list[str]] = {
        line.text.strip(): [v.type for v in line.violations]
        for line in marked_lines(BAD, plan.check(BAD).violations)
        if line.violations
    }

    assert found == {
        '"properties": {': ["Required-Missing"],
        '"totl": "<b>",': ["Additional-Properties"],
        '"sku": 1': ["Datatype-Mismatch"],
    }


def test_events_can_be_selected(plan: Plan) -> None:
    """Those with violations come first; event data is escaped in the HTML."""
    explorer = PlanExplorer(plan, [GOOD, BAD])
    view: Any = explorer._details.value

    assert lines(explorer, LIST) == ["bad    3  /properties must have required property 'total'", "good    0  "]
    assert "must have required property" in view
    assert "<b>" not in view.replace("<b><span", "")
    pick(explorer, LIST, 1)
    assert "good" in explorer._details.value
    assert explorer.selected["event_id"] == "good"
    search(explorer, LIST, "violations > 0")
    assert [event["messageId"] for event in explorer.events] == ["bad"]
    pick(explorer, "Names of events", 1)
    assert explorer.selected == {"event": explorer.state.titles[1]}
    assert explorer.events == []
    explorer.close()


def test_without_events_samples_are_shown(plan: Plan) -> None:
    """They are generated from the plan, and all conform."""
    explorer = PlanExplorer(plan)

    assert (explorer.state.survey.checked, explorer.state.survey.violated) == (20, 0)
    explorer.close()
