"""Two workspaces side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import Workspace
from svctoolkit.destinations import CATALOGUE
from svctoolkit.replay import KINDS, compare
from tests.replay.shops import orders, revenue_as_text, shop


def keep(event: dict[str, Any]) -> Any:
    return event


def drop(event: dict[str, Any]) -> Any:
    return None


def fail(event: dict[str, Any]) -> Any:
    raise ValueError("no")


def fail_differently(event: dict[str, Any]) -> Any:
    raise KeyError("yes")


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (keep, keep, "same"),
        (keep, revenue_as_text, "changed"),
        (keep, drop, "newly dropped"),
        (drop, keep, "newly delivered"),
        (keep, fail, "newly failing"),
        (drop, fail, "newly failing"),
        (fail, keep, "no longer failing"),
        (fail, drop, "changed"),
        (drop, drop, "same"),
        (fail, fail, "same"),
        (fail, fail_differently, "changed"),
    ],
)
def test_every_event_has_one_kind_of_change(before: Callable[..., Any], after: Callable[..., Any], kind: str) -> None:
    """Its outcomes on both sides decide the kind."""
    result = compare(orders(3), shop(before), shop(after))

    assert result.kinds == {name: 3 if name == kind else 0 for name in KINDS}
    assert list(result.frame().kind) == [kind] * 3
    assert result.different == (0 if kind == "same" else 3)


def test_changes_are_grouped_by_path_types_and_event_name() -> None:
    """The count of a change is part of its group, too; examples have the values and all changes."""

    def after(event: dict[str, Any]) -> Any:
        event["properties"] = {"revenue": str(event["properties"]["revenue"]), "items": [{"n": "1"}, {"n": "2"}]}
        return event

    def before(event: dict[str, Any]) -> Any:
        event["properties"]["items"] = [{"n": 1}, {"n": 2}]
        return event

    groups = compare(orders(4), shop(before), shop(after)).groups

    assert {(g.path, g.before, g.after, g.event, g.count) for g in groups} == {
        ("body.JSON.properties.revenue", "number", "text", "Order Completed", 4),
        ("body.JSON.properties.items.*.n", "number", "text", "Order Completed", 4),
    }
    example = groups[0].examples[0]
    assert (example.place, example.event_id, example.before, example.after) == ("[0]", "m0", "0", '"0"')
    assert len(example.changes) == 3


def test_the_frame_has_every_change() -> None:
    """`changes` is JSON: path, value before, value after; an absent side is left out."""

    def after(event: dict[str, Any]) -> Any:
        return {**event, "properties": {"amount": event["properties"]["revenue"]}}

    row = compare(orders(1), shop(keep), shop(after)).frame().iloc[0]

    assert (row.place, row.event_id, row.before, row.after) == ("[0]", "m0", "delivered", "delivered")
    assert json.loads(row.changes) == [
        {"path": "body.JSON.properties.revenue", "before": 0},
        {"path": "body.JSON.properties.amount", "after": 0},
    ]


def test_varying_values_are_not_changes() -> None:
    """Differences between two runs of the same code are set aside and reported; real changes remain."""
    noise = "e.properties.id = Math.random(); e.properties.nested = {id: Math.random(), fixed: 1};"
    before = shop(code=f"export function transformEvent(e) {{ {noise} return e }}")
    after = shop(code=f"export function transformEvent(e) {{ {noise} e.properties.new = 1; return e }}")
    result = compare(orders(3), before, after)

    assert [(g.path, g.count) for g in result.groups] == [("body.JSON.properties.new", 3)]
    assert result.unstable == {"hook": {"body.JSON.properties.id": 3, "body.JSON.properties.nested.id": 3}}
    assert "body.JSON.properties.id differs between two runs of the same code" in repr(result)


def test_a_changed_setting_runs_unchanged_code_once() -> None:
    """Equal user code runs once for both sides; only the effect of the setting is a change."""
    calls: list[int] = []

    def clean(event: dict[str, Any]) -> Any:
        calls.append(1)
        return {**event, "call": len(calls)}

    result = compare(orders(3), shop(clean), shop(clean, url="https://new.example/in"))

    assert len(calls) == 3
    assert [(g.path, g.before, g.after) for g in result.groups] == [("endpoint", "text", "text")]


def test_destinations_may_exist_on_one_side_only() -> None:
    """A destination that exists or is enabled on one side only gets its events there."""
    before, after = shop(), shop()
    after.destination("new", "WEBHOOK", config={"webhookUrl": "https://new.example"})
    after.destination("hook").enabled = False
    result = compare(orders(2), before, after)

    assert result.counts == {"new": {"newly delivered": 2}, "hook": {"newly dropped": 2}}


def test_changed_connections_are_differences() -> None:
    """A connection that is new on one side is a difference for the events of that source."""
    before, after = shop(), shop()
    before.source("web", destinations=[])
    after.source("web", destinations=["hook"])

    assert compare(orders(2), before, after, source="web").kinds["newly delivered"] == 2


def test_a_changed_secret_is_reported_but_not_shown(tmp_path: Path) -> None:
    """The secrets differ, but they are not in groups, frames, text or pages."""

    def keyed(secret: str) -> Workspace:
        made = shop()
        config = {"webhookUrl": "https://x.example", "headers": [{"from": "x-key", "to": secret}]}
        made.destination("hook", "WEBHOOK", config=config)
        return made

    result = compare(orders(1), keyed("0ld-s3cr3t"), keyed("n3w-s3cr3t"))

    assert [group.path for group in result.groups] == ["headers.x-key"]
    shown = repr(result) + result.to_html() + json.dumps(result.to_dict()) + result.frame().to_csv()
    assert "s3cr3t" not in shown
    assert "••••" in shown


def test_personal_data_is_masked_in_changes() -> None:
    """On request: a changed address is a change but is not shown."""

    def after(event: dict[str, Any]) -> Any:
        return {**event, "userId": "ann@example.com"}

    result = compare(orders(1), shop(keep), shop(after), mask_personal=True)

    assert [group.path for group in result.groups] == ["body.JSON.userId"]
    assert "ann@" not in repr(result) + result.to_html() + result.frame().to_csv()


def test_batches_in_a_payload_are_parsed() -> None:
    """A list that RudderStack sends as text is compared as a list."""
    from svctoolkit.destinations import DestinationType, Payload, Settings
    from svctoolkit.events import Event

    class ListSettings(Settings, frozen=True, kw_only=True):
        pass

    listed = DestinationType("Listed", ListSettings)

    @listed.on()
    def send(event: Event, settings: ListSettings) -> Payload:
        return Payload(endpoint="https://x.example", json_array=[dict(event.properties)])

    CATALOGUE.add("WEBHOOK", listed)
    try:
        result = compare(orders(2), shop(keep), shop(revenue_as_text))
    finally:
        CATALOGUE._added.pop("WEBHOOK")

    assert [group.path for group in result.groups] == ["body.JSON_ARRAY.batch.*.revenue"]


def test_moved_code_is_not_a_change() -> None:
    """The same error at another line of the code is equal."""
    before = shop(code="export function transformEvent(e) { throw new Error('no') }")
    after = shop(code="// more\n\nexport function transformEvent(e) { throw new Error('no') }")

    assert compare(orders(1), before, after).kinds["same"] == 1


def test_the_page_leads_from_groups_to_differences(tmp_path: Path) -> None:
    """The HTML has every group with its examples and their values, escaped; the console has the same words."""

    def after(event: dict[str, Any]) -> Any:
        return {**event, "properties": {"revenue": "<b>"}}

    result = compare(orders(2), shop(keep), shop(after))
    page = result.to_html(tmp_path / "page.html")

    assert (tmp_path / "page.html").read_text() == page
    assert "body.JSON.properties.revenue: number -&gt; text in 2 events of Order Completed" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page.replace("<b>2 events", "")
    assert repr(result).splitlines()[0] == "2 events, 1 destination: 2 changed"
