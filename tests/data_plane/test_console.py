"""The page of a data plane, in Chromium, with real clients that send events."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from playwright.sync_api import Browser, Page, expect

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.delivery.faults import Errors, Faults
from svctoolkit.events import track
from svctoolkit.server import Backoff, Retention
from svctoolkit.workspace import Calls
from tests.data_plane import packages
from tests.data_plane.packages import SCRIPTS

expect.set_options(timeout=60_000)  # long, because a busy machine is slow, not wrong

pytestmark = pytest.mark.slow
_AXE = "node_modules/axe-core/axe.min.js"


def strict(event: dict[str, Any]) -> dict[str, Any]:
    if event.get("userId") == "u13":
        raise ValueError("no user has the name u13")
    return {**event, "checked": True}


@pytest.fixture
def plane(workspace: Workspace) -> Iterator[DataPlane]:
    workspace.transformation("strict", strict)
    workspace.destination(
        "crm", "WEBHOOK", config={"webhookUrl": "https://crm.example/in"}, transformation="strict", name="The CRM"
    )
    with DataPlane(workspace, backoff=Backoff(attempts=3, first=60)) as made:
        yield made


class Visit:
    """An open page: its errors, and the requests that it made to other hosts."""

    def __init__(
        self, browser: Browser, plane: DataPlane, address: str = "", *, width: int = 1360, scheme: Any = "light"
    ) -> None:
        context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page: Page = context.new_page()
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on(
            "console", lambda line: self.wrong.append(line.text) if line.type in ("error", "warning") else None
        )
        self.page.on("request", lambda request: self._check(request.url, plane.url))
        self.session = context.new_cdp_session(self.page)
        self.page.goto(f"{plane.url}/{address}#token={plane.token}")
        expect(self.page.locator("#state")).to_have_text("live")

    def _check(self, url: str, own: str) -> None:
        if not url.startswith((own, "data:", "blob:")):
            self.wrong.append(f"asks for {url}")

    def said(self, text: str) -> None:
        expect(self.page.locator("#said")).to_contain_text(text)

    def accessible(self) -> list[str]:
        """The findings of axe, loaded through the debugger because the page's policy allows no other script."""
        self.session.send("Runtime.evaluate", {"expression": (packages.node_clients() / _AXE).read_text()})
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [f"{item['id']}: {item['nodes'][0]['html']}" for item in found]


def tracks(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"type": "track", "event": "Order Completed", "userId": f"u{n}", "properties": {"n": n}}
        for n in range(start, start + count)
    ]


def test_events_of_a_real_client_appear_live(browser: Browser, plane: DataPlane) -> None:
    """Events of @rudderstack/rudder-sdk-node appear as they come, each with its fate; the counts agree."""
    visit = Visit(browser, plane)
    expect(visit.page.locator("#empty")).to_contain_text("No events yet")
    run = subprocess.run(
        ["node", SCRIPTS / "rudder_node.mjs", plane.url, "web-key"],
        env={**os.environ, "CLIENTS": str(packages.node_clients())}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert json.loads(run.stdout.splitlines()[-1])["errors"] == []
    expect(visit.page.locator("#n-received")).to_have_text("55")
    expect(visit.page.locator(".row").first.locator(".pill.delivered")).to_have_text("✓ 2 delivered")
    assert visit.page.locator(".row").first.locator(".name").inner_text() == "Order Completed"
    assert "#token" not in visit.page.url
    assert visit.wrong == []


def test_the_page_works_by_keyboard(browser: Browser, plane: DataPlane) -> None:
    """Select, inspect, resend, edit and send, copy: all without a mouse."""
    plane.script("mail", Answer(503))
    plane.send(tracks(3), source="web", run="checkout")
    plane.wait(lambda: len(plane.deliveries) >= 2)
    visit = Visit(browser, plane, "?run=checkout")
    page = visit.page
    expect(page.locator(".row")).to_have_count(3)
    page.locator("#list").focus()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("#detail h2")).to_have_text("track Order Completed")
    expect(page.locator("#detail")).to_contain_text("user_transform changed")
    expect(page.locator("#detail time[data-until]")).to_contain_text("in ")
    assert "seq=2" in page.url
    page.locator("[data-destination=crm] > summary").click()
    page.get_by_role("button", name="Lineage at crm").click()
    expect(page.locator(".lineage table").first).to_contain_text("properties.n")
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    visit.said("copied as curl")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f'curl {plane.url}/v1/batch -u "web-key:"')
    page.keyboard.press("s")
    visit.said("sent again: 200 ok")
    page.keyboard.press("e")
    page.locator("#editor-text").fill(json.dumps({"type": "page", "name": "Edited", "userId": "u7"}))
    page.get_by_role("button", name="Send", exact=True).click()
    visit.said("sent")
    page.get_by_role("button", name="Copy as scenario").click()
    visit.said("copied as suite scenario")
    assert "name: track Order Completed" in page.evaluate("navigator.clipboard.readText()")
    with page.expect_download() as download:
        page.locator("#detail").get_by_role("button", name="HAR").click()

    assert [received.name for received in plane.of_run("checkout").received][3:] == ["Order Completed", "Edited"]
    assert json.loads(Path(download.value.path()).read_text())["log"]["version"] == "1.2"
    assert visit.wrong == []


def test_a_failure_links_to_the_setting_that_causes_it(browser: Browser, plane: DataPlane) -> None:
    """The page names the rule that an event broke, and its link opens the destination at the setting."""
    plane.workspace.destination("adjust", "ADJ", config={"appToken": "t"})
    plane.workspace.source("app", write_key="app-key", destinations=["adjust"])
    plane.send({"type": "track", "event": "Room Booked", "userId": "u1"}, source="app", run="adjust")
    plane.wait(lambda: [fate.status for fate in plane.of_run("adjust").fates] == ["failed"])
    visit = Visit(browser, plane, "?run=adjust&seq=1")
    page = visit.page

    expect(page.locator("#detail")).to_contain_text("ADJ.not-configured.customMappings")
    page.locator("#detail").get_by_role("link", name="customMappings").click()
    row = page.locator("tr[data-setting='adjust.customMappings']")
    expect(row).to_be_focused()
    expect(row).to_contain_text("not set")
    assert visit.wrong == []
    assert visit.accessible() == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_list_shows_what_failed_first(browser: Browser, plane: DataPlane, width: int) -> None:
    """Counts, the worst first and marked, at any width; the event opens at the destination that failed."""
    for n in range(4):
        plane.workspace.destination(f"a{n}", "WEBHOOK", config={"webhookUrl": f"https://a{n}.example/"}, enabled=n > 1)
    plane.workspace.source("all", write_key="all-key", destinations=["a0", "a1", "a2", "a3", "crm"])
    plane.send(tracks(2, 12), source="all")
    plane.drain()
    visit = Visit(browser, plane, width=width)
    page, rows = visit.page, visit.page.locator(".row")

    expect(rows.nth(0).locator(".pill").first).to_have_text("✗ 1 failed")
    expect(rows.nth(0).locator(".pill").nth(1)).to_have_text("✓ 2 delivered")
    expect(rows.nth(0)).to_have_class("row bad")
    expect(rows.nth(1).locator(".pill")).to_have_text(["✓ 3 delivered"])
    box = rows.nth(0).locator(".pill").first.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    rows.nth(0).click()
    stops = page.locator("#detail .stop")
    expect(stops).to_have_count(6)
    expect(stops.nth(1)).to_contain_text("ValueError: no user has the name u13")
    assert [stop.get_attribute("open") is not None for stop in stops.all()] == [False, True, *[False] * 4]
    assert page.evaluate("Number(document.documentElement.scrollWidth > innerWidth)") == 0
    assert page.locator("body > header").bounding_box()["height"] < (80 if width > 800 else 160)  # type: ignore[index]
    assert visit.wrong == []


def test_the_page_has_code_with_the_write_key(browser: Browser, plane: DataPlane) -> None:
    """For each language, to copy; the curl line on the empty page works unchanged."""
    visit = Visit(browser, plane)
    page = visit.page
    expect(page.locator("#empty pre")).to_contain_text(f"curl {plane.url}/v1/batch -u web-key:")
    page.locator("#empty").get_by_role("button", name="Copy code").click()
    visit.said("copied as code")
    subprocess.run(page.evaluate("navigator.clipboard.readText()"), shell=True, check=True, timeout=60)
    expect(page.locator(".row .name").first).to_have_text("Signed Up")
    page.get_by_role("button", name="Connect").click()
    dialog = page.locator("#connect")
    dialog.get_by_label("Source").select_option("quiet")
    for language in ("JavaScript", "Node", "Python", "iOS", "Android"):
        dialog.get_by_role("button", name=language, exact=True).click()
        expect(dialog.locator("pre")).to_contain_text('"quiet-key"')
        port = plane.url.rpartition(":")[2]
        expect(dialog.locator("pre")).to_contain_text(
            f"http://{'10.0.2.2' if language == 'Android' else '127.0.0.1'}:{port}"
        )
    assert visit.accessible() == []
    assert visit.wrong == []


def test_filters_are_part_of_the_address(browser: Browser, plane: DataPlane) -> None:
    """A filter is a link; its address opens the same list elsewhere, and the browser's Back works."""
    plane.send([*tracks(5), {"type": "page", "name": "Home", "userId": "u1"}], source="web", run="a")
    plane.send({"type": "identify", "userId": "u1"}, source="web", run="b")
    plane.send({"type": "track"}, source="web", run="b")
    plane.drain()
    visit = Visit(browser, plane)
    page, rows = visit.page, visit.page.locator(".row")
    expect(rows).to_have_count(8)
    page.locator("#more summary").click()
    page.get_by_label("Type").select_option("track")
    expect(rows).to_have_count(5)
    page.get_by_label("Search").fill("u4")
    expect(rows).to_have_count(1)
    elsewhere = Visit(browser, plane, page.url.partition("/?")[2] and f"?{page.url.partition('/?')[2]}")
    expect(elsewhere.page.locator(".row")).to_have_count(1)
    rows.first.click()
    page.get_by_role("link", name="user: u4").click()
    expect(page.locator("#active")).to_have_text("2")
    page.locator("#more summary").click()
    page.get_by_role("button", name="Clear").click()
    expect(rows).to_have_count(8)
    page.get_by_role("link", name="b (1)").click()
    expect(rows).to_have_count(2)
    expect(page.locator("#n-received")).to_have_text("1")
    page.locator("#more summary").click()
    page.get_by_label("Fate").select_option("rejected")
    expect(rows).to_have_count(1)
    page.go_back()
    expect(rows).to_have_count(8)
    page.go_back()
    expect(rows).to_have_count(1)

    assert visit.wrong + elsewhere.wrong == []


def test_faults_and_switches_take_effect_at_once(browser: Browser, plane: DataPlane) -> None:
    """Set on the page; failures and their reasons appear in the list."""
    visit = Visit(browser, plane, "?view=destinations")
    card = visit.page.locator(".cards li", has_text="The CRM")
    card.get_by_label("Response").select_option("503")
    card.get_by_role("button", name="Set").click()
    visit.said("crm responds: 503")
    expect(card).to_contain_text("Current response: 503")
    plane.send(tracks(1, 13), source="web")
    plane.send(tracks(1), source="web")
    plane.wait(lambda: any(delivery.status == 503 for delivery in plane.deliveries))
    expect(card.get_by_role("link", name="1 pending")).to_be_visible()
    card.get_by_role("button", name="Disable").click()
    expect(card).to_contain_text("disabled")
    assert not plane.workspace.destinations["crm"].enabled
    visit.page.get_by_role("link", name="Transformations").click()
    expect(visit.page.locator("#transformations")).to_contain_text("no user has the name u13")
    visit.page.get_by_role("link", name="event 1, at crm").click()
    expect(visit.page.locator("#detail")).to_contain_text("no user has the name u13")
    assert visit.wrong == []


def test_fault_profiles_are_switched_on_the_page(browser: Browser, plane: DataPlane) -> None:
    """Those of the workspace, at a destination; the page counts what they did."""
    plane.workspace.faults.profiles = {"gone": Faults(errors=Errors(share=1))}
    visit = Visit(browser, plane, "?view=destinations")
    section = visit.page.locator("details", has_text="Fault profiles")
    section.locator("summary").click()
    section.get_by_label("Place").select_option("destination crm")
    section.get_by_role("button", name="Switch on").click()
    visit.said("destination crm has the faults of gone")
    plane.send(tracks(1), source="web")
    plane.wait(lambda: any(delivery.status == 503 for delivery in plane.deliveries))
    expect(section).to_contain_text("destination crm: gone since")
    expect(section).to_contain_text("1 error")
    section.get_by_role("button", name="Switch off").click()
    visit.said("destination crm has no faults")
    expect(section).to_contain_text("none switched on")
    assert visit.wrong == []


@pytest.fixture
def full(workspace: Workspace) -> Iterator[DataPlane]:
    with DataPlane(workspace, retention=Retention(events=200_000)) as made:
        for start in range(0, 100_000, 1000):
            made.send(tracks(1000, start), source="quiet")
        yield made


def test_a_hundred_thousand_stored_events_are_paged(browser: Browser, full: DataPlane) -> None:
    """Scrolling all the way down and up keeps a bounded number of lines in the page; a selective filter works."""
    visit = Visit(browser, full)
    page, bottom = visit.page, "list => { list.scrollTop = list.scrollHeight; }"
    shown = "parseInt(document.getElementById('shown').textContent.replaceAll(',', ''))"
    for _ in range(40):
        page.locator("#list").evaluate(bottom)
        page.wait_for_timeout(100)
    oldest = page.locator(".row").last.locator(".user").inner_text()
    lines = page.evaluate(shown)
    page.locator("#new").click()
    expect(page.locator(".row").first.locator(".user")).to_have_text("u99999")
    page.get_by_label("Search").fill("u4242")
    expect(page.locator(".row")).to_have_count(11)

    assert int(oldest[1:]) < 96_000
    assert lines <= 5700
    assert page.locator("*").count() < 1500
    assert visit.wrong == []


@pytest.mark.parametrize("width", [1360, 1165, 1120, 900])
def test_the_selected_row_does_not_move_under_load(browser: Browser, plane: DataPlane, width: int) -> None:
    """At 300 events a second it stays in place, even when a line above it becomes too long for the window."""
    stop = threading.Event()

    def load() -> None:
        began, sent = time.monotonic(), 0
        while not stop.is_set():
            due = int((time.monotonic() - began) * 300) - sent
            plane.send(tracks(max(1, due), sent), source="web")
            sent += max(1, due)
            time.sleep(0.03)

    visit = Visit(browser, plane, width=width)
    sender = threading.Thread(target=load)
    sender.start()
    try:
        expect(visit.page.locator(".row").nth(20)).to_be_visible(timeout=60_000)
        visit.page.locator("#list").focus()
        visit.page.keyboard.press("j")
        visit.page.keyboard.press("j")
        chosen = visit.page.locator("[aria-selected='true']")
        before, name = chosen.bounding_box(), chosen.get_attribute("data-seq")
        expect(visit.page.locator("#new")).to_have_text(
            re.compile(r"^([5-9]\d\d|[\d,]{5,}) new events"), timeout=120_000
        )
        after = chosen.bounding_box()
    finally:
        stop.set()
        sender.join()

    assert (before, name) == (after, chosen.get_attribute("data-seq"))
    assert visit.wrong == []


def test_the_list_is_bounded_and_keeps_the_selected_row(browser: Browser, plane: DataPlane) -> None:
    """Beyond its limit, the page drops unseen lines and loads them again on demand."""
    plane.send(tracks(100), source="web")
    plane.drain(60)
    visit = Visit(browser, plane)
    expect(visit.page.locator(".row").nth(20)).to_be_visible(timeout=60_000)
    visit.page.locator("#list").focus()
    visit.page.keyboard.press("j")
    chosen = visit.page.locator("[aria-selected='true']")
    before, name = chosen.bounding_box(), chosen.get_attribute("data-seq")
    for start in range(100, 9100, 500):
        plane.send(tracks(500, start), source="web")
    expect(visit.page.locator("#new")).to_have_text(re.compile(r"^[5-9],\d\d\d new events"), timeout=120_000)
    plane.drain(120)
    after = chosen.bounding_box(), chosen.get_attribute("data-seq")
    visit.page.locator("#new").click()

    assert after == (before, name)
    expect(visit.page.locator(".row").first.locator(".user")).to_have_text("u9099", timeout=60_000)
    assert visit.wrong == []


def test_a_changed_file_is_reported_on_the_page(browser: Browser, tmp_path: Path) -> None:
    """Whether it was read again, or, if it has mistakes, why it is not used."""
    file = tmp_path / "workspace.yaml"
    file.write_text("sources: {web: {destinations: []}}")
    with DataPlane(file) as plane:
        visit = Visit(browser, plane)
        expect(visit.page.locator("#filters [name=source] option")).to_have_count(2)
        file.write_text("sources: {web: {destinations: []}, app: {destinations: []}}")
        visit.said("was reloaded")
        file.write_text("sources: [")
        expect(visit.page.locator("#problem")).to_contain_text("cannot be used")

    assert [line for line in visit.wrong if "ERR_" not in line] == []


def test_without_the_token_the_page_is_read_only(browser: Browser, plane: DataPlane) -> None:
    """On this machine the page shows everything; a change is refused, and the page says what to do."""
    page = browser.new_page()
    page.goto(f"{plane.url}/?view=destinations")
    page.locator(".cards li", has_text="The CRM").get_by_role("button", name="Disable").click()
    expect(page.locator("#said")).to_contain_text("not allowed: open this page with the full address")

    assert plane.workspace.destinations["crm"].enabled


def test_the_json_of_an_event_can_be_searched(browser: Browser, plane: DataPlane) -> None:
    """A search opens collapsed parts with matches; the page's policy allows it."""
    plane.send(
        {"type": "track", "event": "E", "userId": "u1", "properties": {"deep": {"er": {"n": "x-7"}}}}, source="web"
    )
    visit = Visit(browser, plane)
    visit.page.locator(".row").first.click()
    search = visit.page.get_by_label("Search in the JSON below")
    search.fill("X-7")
    expect(visit.page.locator(".json-tools [role=status]")).to_contain_text(": properties.deep.er.n")
    expect(visit.page.locator(".tree .hit").first).to_be_visible()
    assert visit.wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_delivered_events_that_lost_values_are_marked(browser: Browser, plane: DataPlane, scheme: str) -> None:
    """In the rows that are there and in those that arrive; the timeline has a card for each value."""
    workspace = plane.workspace
    workspace.destination("mp", "MP", config={"token": "t", "strictMode": True}, simulate="simulated")
    workspace.source("phones", destinations=["mp"])
    left = {"type": "track", "event": "Left", "userId": "u", "properties": {"note": "n" * 300}}
    plane.send(left, source="phones")
    plane.drain()
    visit = Visit(browser, plane, width=390, scheme=scheme)
    marks = visit.page.locator(".row .pill.lossy")
    expect(marks).to_have_text(["⚠ 1 lost values"])
    plane.send([{**left, "messageId": "m2"}, {**left, "properties": {}}], source="phones")
    expect(marks).to_have_count(2)
    expect(visit.page.locator(".row")).to_have_count(3)
    marks.last.click()
    expect(visit.page.locator("#detail .stop[data-destination=mp] .warning").first).to_be_visible()
    assert visit.accessible() == []
    assert visit.wrong == []


def test_sources_lead_to_their_events(browser: Browser, plane: DataPlane) -> None:
    plane.workspace.source("phones", destinations=["crm"], name="Telephones", enabled=False)
    plane.send(tracks(2), source="web")
    page = Visit(browser, plane).page
    page.get_by_role("link", name="Sources").click()
    cards = page.locator("#sources .cards li")
    expect(cards).to_have_count(4)
    expect(cards.filter(has_text="Telephones")).to_contain_text("disabled")
    expect(cards.filter(has_text="quiet")).to_contain_text("to no destination")
    web = cards.filter(has_text="write key web-key")
    expect(web).to_contain_text("to crm, mail")
    web.get_by_role("link", name="Events").click()
    expect(page.locator(".row")).to_have_count(2)
    assert "source=web" in page.url


def test_an_event_of_a_shared_request_has_its_own_payload(browser: Browser, plane: DataPlane) -> None:
    """What the mapping makes of it is compared with this event; the request shows what else it carries."""
    plane.workspace.destination("mp", "MP", config={"token": "t", "dataResidency": "us", "strictMode": False})
    plane.workspace.source("phones", destinations=["mp"])
    plane.workspace.delivery.batch = Calls(jobs=5, wait=60)
    events = [track("Paid", user_id=f"u{n}", properties={"note": f"note-{n}"}) for n in range(5)]
    plane.send(events, source="phones")
    plane.drain()
    page = Visit(browser, plane).page
    page.locator(".row").nth(1).click()
    stop = page.locator("[data-destination=mp]")
    expect(stop).to_contain_text("with 4 other events")
    payload = stop.locator("details").filter(has=page.locator("summary", has_text="payload"))
    expect(payload.first).to_contain_text("note-3")
    for other in ("note-0", "note-4"):
        expect(payload.first).not_to_contain_text(other)


def test_a_breach_names_its_origin(browser: Browser, plane: DataPlane) -> None:
    """Also with the keyboard: the focus stays on the latest event of its group when more breaches come."""
    plane.workspace.policies = [{"no_personal": {"destinations": ["mail"]}}]
    query = {"type": "track", "event": "Search", "userId": "u", "properties": {"q": "ada@mail.example"}}
    plane.send(query, source="web")
    visit = Visit(browser, plane, "?view=policies")
    origins = visit.page.locator("#policies .origin")
    expect(origins).to_have_text(["from properties.q"])
    visit.page.get_by_role("link", name="Search (1)").focus()
    plane.send([query, query], source="web")
    expect(origins).to_have_text(["from properties.q in event 1"])
    expect(visit.page.locator("#policies .breaches li")).to_contain_text("and 2 more, first 1")
    expect(visit.page.get_by_role("link", name="Search (3)")).to_be_focused()
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("#detail h2")).to_have_text("track Search")
    assert visit.wrong == []


@pytest.mark.parametrize(("width", "scheme"), [(1360, "dark"), (360, "light")])
def test_the_page_is_accessible(browser: Browser, plane: DataPlane, width: int, scheme: str) -> None:
    """axe finds nothing in any view, and nothing is wider than the window."""
    plane.workspace.destination("mp", "MP", config={"token": "t"}, simulate="simulated")
    plane.workspace.source("phones", destinations=["mp"])
    plane.workspace.policies = [{"hosts": ["crm.example"], "owner": "data"}, {"required": {"at": {"crm": ["nobody"]}}}]
    for event in ({"type": "track", "event": "Viewed"}, {"type": "identify", "userId": "ada", "traits": {"tier": "a"}}):
        plane.send({**event, "anonymousId": "phone"}, source="phones", run="a")
        plane.drain()
    plane.send([*tracks(3, 12), {"type": "page", "name": "<b>Home</b>", "userId": "u"}], source="web", run="a")
    plane.send({"type": "track"}, source="web")
    visit = Visit(browser, plane, width=width, scheme=scheme)
    page, found = visit.page, dict[str, Any]()
    expect(page.locator(".row")).to_have_count(7)
    page.locator(".row").nth(2).click()
    expect(page.locator("#detail .svc").first).to_be_visible()
    page.locator("#detail details").evaluate_all("items => items.forEach(item => { item.open = true; })")
    found["event"] = visit.accessible()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    found["help"] = visit.accessible()
    page.keyboard.press("Escape")
    for view in ("Sources", "Destinations", "Transformations", "Policies"):
        page.get_by_role("link", name=view).click()
        expect(page.locator(f"#{view.lower()} .cards li").first).to_be_visible()
        if view == "Destinations":
            page.get_by_text("Latency by stage").click()
            expect(page.get_by_role("img", name="Latency by stage")).to_be_visible()
        if view == "Policies":
            expect(page.locator("#policies .origin").first).to_contain_text("from setting webhookUrl")
            expect(page.locator("#policies .breaches li").first).to_contain_text("and 3 more, first ")
            page.set_viewport_size({"width": width, "height": 300})
            page.locator("#policies .breaches li").last.scroll_into_view_if_needed()
            expect(page.locator("#policies .breaches li").last).to_be_in_viewport()
            page.set_viewport_size({"width": width, "height": 860})
        found[view] = visit.accessible()
        found[f"{view} wide"] = [1] * page.evaluate("Number(document.documentElement.scrollWidth > innerWidth)")

    page.goto(f"{plane.url}/?view=held&run=a")
    page.get_by_role("searchbox", name="Person").fill("phone")
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="Merged into distinct_id ada")).to_be_visible()
    page.locator("#holds details").evaluate_all("items => items.forEach(item => { item.open = true; })")
    found["held"] = visit.accessible()
    found["held wide"] = [1] * page.evaluate("Number(document.documentElement.scrollWidth > innerWidth)")

    assert {name: problems for name, problems in found.items() if problems} == {}
    assert visit.wrong == []


def test_the_files_of_the_page_are_in_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them, an installed `svctoolkit serve` would have no page."""
    from hatchling.builders.wheel import WheelBuilder

    monkeypatch.setenv("SVCTOOLKIT_EDITOR", "textarea")  # npm would take too long
    root = Path(__file__).parents[2]
    wheel = next(WheelBuilder(str(root)).build(directory=str(tmp_path), versions=["standard"]))
    folder = "svctoolkit/server/console/static"
    own = {f"{folder}/{file.name}" for file in (root / folder).iterdir()}

    assert own <= set(ZipFile(wheel).namelist())
