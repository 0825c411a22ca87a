"""Browser sessions with each explorer, for the browser tests and the screenshots."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable

from playwright.sync_api import Locator, expect

expect.set_options(timeout=60_000)


def sender(page: Locator) -> Callable[[str], None]:
    """Sends events of this name, as an application would, to the explorer's data plane."""
    url = re.search(r"http://127.0.0.1:\d+", page.get_by_text("The data plane is listening at").inner_text())
    assert url

    def send(name: str) -> None:
        body = {"writeKey": "web-key", "batch": [{"type": "track", "event": name, "userId": "u-1"}]}
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{url[0]}/v1/batch", json.dumps(body).encode(), headers)
        urllib.request.urlopen(asked, timeout=60).close()

    return send


def live_events(page: Locator) -> None:
    """Events of an application arrive; one is opened, the list is filtered and paused."""
    send = sender(page)
    for name in ("Signed Up", "Order Completed", "Order Refunded"):
        send(name)
    events = page.get_by_role("grid", name="Newest events").locator(".svc-grid-body").get_by_role("row")
    expect(events).to_have_count(3)
    expect(page.get_by_role("img", name="Events per second")).to_be_visible()
    page.get_by_label("Fate").select_option("failed")
    expect(events).to_have_count(1)
    events.first.click()
    expect(page.get_by_text("the destination answered 400: no such list")).to_be_visible()
    page.get_by_text("mail, attempt 1").click()
    expect(page.get_by_text("https://mail.example/events")).to_be_visible()
    page.get_by_label("Fate").select_option("all")
    expect(events).to_have_count(3)
    page.get_by_label("Pause the list").check()
    expect(page.get_by_text("The list is paused; counts continue.")).to_be_visible()
    send("Meanwhile")
    expect(page.get_by_text("1 since the pause")).to_be_visible()
    expect(events).to_have_count(3)
    page.get_by_label("Pause the list").uncheck()
    expect(events).to_have_count(4)


def sdk_playground(page: Locator) -> None:
    """Calls are made offline, seen in the queue, sent, and seen as received."""
    page.get_by_label("Offline").check()
    page.get_by_label("User ID").fill("ada")
    page.get_by_role("button", name="identify").click()
    page.get_by_label("Screen properties").fill('{"items": }')
    page.get_by_role("button", name="screen").click()
    expect(page.get_by_role("alert")).to_contain_text("invalid JSON in the screen properties: line 1, column 11")
    page.get_by_label("Track properties").fill('{"revenue": 12}')
    page.get_by_role("button", name="track").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    queue = page.get_by_role("table").filter(has_text="stored at")
    expect(queue.get_by_role("row").filter(has_text="ada")).to_have_count(2)
    page.get_by_label("Offline").uncheck()
    expect(page.get_by_text("The queue is empty.")).to_be_visible()
    page.get_by_role("tab", name="Code").click()
    expect(page.get_by_text("client.identify('ada'")).to_be_visible()
    page.get_by_role("tab", name="Received").click()
    events = page.get_by_role("grid", name="Newest events").locator(".svc-grid-body").get_by_role("row")
    expect(events.filter(has_text="Order")).to_have_count(1)
    events.first.click()
    expect(page.get_by_text('"Order Completed"').first).to_be_visible()


def destination_explorer(page: Locator) -> None:
    """A destination is run, inspected in every view, configured wrong and right; then another one is chosen."""
    page.get_by_role("button", name="Run", exact=False).first.click()
    # The first stages are shown before the run, and its result replaces their payloads.
    expect(page.get_by_text("success").locator("visible=true").first).to_be_visible()
    source = page.get_by_title("goes to body.JSON.properties.revenue").locator("visible=true").first
    field = page.get_by_title("comes from properties.revenue").locator("visible=true").first
    expect(field).to_have_css("box-shadow", "none")
    source.click()
    expect(field).not_to_have_css("box-shadow", "none")
    field.hover()
    expect(source).not_to_have_css("box-shadow", "none")
    page.get_by_label("Search in the JSON below").locator("visible=true").first.fill("order_id")
    expect(page.get_by_text("1 of 2: properties.order_id")).to_be_visible()
    page.get_by_role("button", name="Copy path").locator("visible=true").first.press("Enter")
    expect(page.get_by_text("path copied: properties.order_id")).to_be_visible()
    for tab, seen in (("HTTP", page.get_by_text("POST")), ("Diff", page.get_by_label("From", exact=True))):
        page.get_by_role("tab", name=tab).click()
        expect(seen.locator("visible=true").first).to_be_visible()
    page.get_by_label("Event (JSON)").fill('{"type": "track",}')
    page.get_by_label("Event (JSON)").press("Tab")
    expect(page.get_by_role("alert").first).to_contain_text("line 1, column 18")
    page.get_by_label("Start from a sample event").select_option(index=1)
    page.get_by_label("Search destinations").fill("mixpanel")
    expect(page.get_by_label("Destination", exact=True).locator("option")).to_have_count(1)
    page.get_by_label("Destination", exact=True).select_option(index=0)
    expect(page.get_by_label("Project token")).to_be_visible()


def transformation_editor(page: Locator) -> None:
    """Code is edited; its output follows, a mistake is shown at its line, and it is saved."""
    code = page.get_by_role("textbox", name="Code", exact=True)
    expect(page.get_by_text("saw").first).to_be_visible()
    code.fill('def transformEvent(event, metadata):\n    event["event"] = "SHOUTED"\n    return event\n')
    expect(page.get_by_text("SHOUTED").locator("visible=true").first).to_be_visible()
    code.fill("def transformEvent(event, metadata):\n    return evnt\n")
    expect(page.get_by_text("evnt").locator("visible=true").first).to_be_visible()
    expect(page.get_by_text("is not defined").locator("visible=true").first).to_be_visible()
    code.fill("def transformEvent(event, metadata):\n    return event\n")
    expect(page.get_by_text("is not defined")).to_have_count(0)
    page.get_by_role("button", name="Save to workspace").click()
    expect(page.get_by_role("status").filter(has_text="aved").first).to_be_visible()


def suite_explorer(page: Locator) -> None:
    """Suites are run with coverage, and a failure is opened."""
    page.get_by_label("With coverage").check()
    page.get_by_role("button", name="Run all").click()
    expect(page.get_by_text("1 failed, 3 passed").first).to_be_visible()
    expect(page.get_by_text("coverage", exact=False).locator("visible=true").first).to_be_visible()
    page.get_by_label("Search scenarios").fill("outcome: failed")
    expect(page.get_by_text("1 of 4 rows")).to_be_visible()
    page.get_by_role("grid", name="Scenarios").get_by_role("gridcell", name="revenue is a number").click()
    expect(page.get_by_text("orders.suite.yaml:11:67")).to_be_visible()
    expect(page.get_by_role("button", name="Run failed")).to_be_enabled()


def replay_explorer(page: Locator) -> None:
    """The last of a group's events by keyboard, a search, its stages, and on to the destination explorer."""
    events = page.get_by_role("grid", name="Events of the group")
    expect(page.get_by_text("40 rows")).to_be_visible()
    events.press("End")
    expect(events.get_by_role("row", selected=True)).to_contain_text("m-39")
    expect(page.get_by_text('"m-39"').first).to_be_visible()
    page.get_by_label("Search events of the group").fill("user: u-38")
    expect(page.get_by_text("1 of 40 rows")).to_be_visible()
    events.get_by_role("gridcell", name="m-38").click()
    expect(page.get_by_text('"m-38"').first).to_be_visible()
    expect(page.get_by_role("list", name="stages").first).to_contain_text("needs a value at properties.currency")
    page.get_by_role("button", name="Open in destination explorer").click()
    expect(page.get_by_label("Event (JSON)")).to_have_value(re.compile("m-38"))


def compare_explorer(page: Locator) -> None:
    """A group of differences, one of its events, and both of its sides next to each other."""
    groups = page.get_by_role("grid", name="Groups")
    expect(groups.get_by_role("row")).to_have_count(3)  # the head, a difference, and events that are the same
    events = page.get_by_role("grid", name="Events of the group")
    events.get_by_role("gridcell", name="m-3", exact=True).click()
    expect(page.get_by_text('"m-3"').first).to_be_visible()
    difference = page.get_by_label("differences of before and after")
    for source in ("userId", "messageId"):
        for side in range(2):
            field = difference.get_by_title(f"comes from {source}").nth(side)
            source_leaf = page.get_by_title(f"goes to body.JSON.{source}").locator("visible=true").first
            source_leaf.hover()
            expect(field).not_to_have_css("box-shadow", "none")
            groups.hover()
            expect(field).to_have_css("box-shadow", "none")
            field.click()
            expect(source_leaf).not_to_have_css("box-shadow", "none")
            groups.hover()


def plan_explorer(page: Locator) -> None:
    """A planned event with its violation at its line, then an unplanned one."""
    expect(page.get_by_text("must be number").first).to_be_visible()
    names = page.get_by_role("grid", name="Names of events")
    names.press("ArrowDown")
    expect(names.get_by_role("row", selected=True)).to_contain_text("unplanned")
    expect(page.get_by_text("'Order Lost' is not planned").first).to_be_visible()


def data_grid(page: Locator) -> None:
    """A million rows: the last one by keyboard, sorted by a click, a column widened, searched, a row selected."""
    grid = page.get_by_role("grid", name="Rows")
    expect(page.get_by_text("1,000,000 rows")).to_be_visible()
    expect(grid.get_by_role("row")).not_to_have_count(1)
    grid.press("End")
    expect(grid.get_by_role("row", selected=True)).to_contain_text("999,999")
    assert grid.get_by_role("row").count() < 50
    head = grid.get_by_role("columnheader", name="number")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    head.get_by_role("button").press("Enter")
    expect(grid.get_by_role("gridcell", name="999,999", exact=True)).to_be_visible()
    width = head.evaluate("e => e.getBoundingClientRect().width")
    head.get_by_role("button").press("Shift+ArrowRight")
    expect(head).not_to_have_css("width", f"{width}px")
    page.get_by_label("Search rows").fill("user: u-77")
    expect(page.get_by_text("of 1,000,000 rows")).to_be_visible()
    grid.get_by_role("row").nth(2).click()
    expect(grid.get_by_role("row").nth(2)).to_have_attribute("aria-selected", "true")


VISITS: dict[str, Callable[[Locator], None]] = {
    "compare_explorer": compare_explorer,
    "data_grid": data_grid,
    "destination_explorer": destination_explorer,
    "live_events": live_events,
    "plan_explorer": plan_explorer,
    "replay_explorer": replay_explorer,
    "sdk_playground": sdk_playground,
    "suite_explorer": suite_explorer,
    "transformation_editor": transformation_editor,
}
