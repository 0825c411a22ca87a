"""The page that `--report html` writes, in a browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from svctoolkit.cli import main

pytestmark = pytest.mark.slow

SUITE = """\
suite: Orders
tags: [orders]
transformations:
  clean:
    language: python
    code: |
      def transformEvent(event, metadata):
          event["properties"]["revenue"] = float(event["properties"]["revenue"])
          return event
destinations:
  hook: {type: WEBHOOK, transformation: clean, config: {webhookUrl: https://hook.example/in}}
sources:
  web: {destinations: [hook]}
scenarios:
  - name: revenue is a number, whatever the software of the shop has made of it before it came here
    destination: hook
    event:
      {type: track, event: Order, userId: u1, properties: {revenue: "22.5", note: a-text-without-any-space-in-it}}
    expect: {user_transform: {properties: {revenue: 22}}, dest_transform: {method: PUT}}
  - {name: it arrives, send: {type: track, event: Order, userId: u1, properties: {revenue: 1}}, expect: {attempts: 1}}
  - {name: later, skip: there is no time yet, destination: hook, event: {type: track}, expect: {status: 200}}
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with a failure and coverage."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "s.suite.yaml").write_text(SUITE, encoding="utf-8")
    assert main(["run", str(folder), "--coverage", "--report", f"html={folder / 'r.html'}"]) == 1
    return folder / "r.html"


def opened(browser: Browser, report: Path, width: int, scheme: str) -> Page:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto(report.as_uri())
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 700, 360])
def test_the_page_is_readable_at_every_width(browser: Browser, report: Path, width: int, scheme: str) -> None:
    """Wide, narrow and on a phone, light and dark: nothing overflows, and the contrast is sufficient."""
    page = opened(browser, report, width, scheme)
    ground, ink = page.evaluate(
        "() => { const s = getComputedStyle(document.querySelector('.scenario')); return [s.backgroundColor, s.color] }"
    )

    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert abs(_light(ground) - _light(ink)) > 150
    assert (_light(ground) < 128) == (scheme == "dark")
    page.context.close()


@pytest.mark.parametrize("width", [1280, 360])
def test_long_words_do_not_widen_pages_of_results(browser: Browser, tmp_path: Path, width: int) -> None:
    """Nor does a dark page have a ground that differs from that of its parts."""
    event = {"type": "track", "event": "E" * 400, "userId": "u1", "properties": {"p" * 400: 1}}
    (tmp_path / "events.ndjson").write_text(json.dumps(event))
    assert main(["profile", str(tmp_path / "events.ndjson"), "--html", str(tmp_path / "profile.html")]) == 0

    page = opened(browser, tmp_path / "profile.html", width, "dark")
    ground = "getComputedStyle(document.querySelector('{}')).backgroundColor"

    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(ground.format("body")) == page.evaluate(ground.format(".svc"))
    page.context.close()


def _light(colour: str) -> float:
    red, green, blue = (float(part) for part in colour[colour.index("(") + 1 :].rstrip(")").split(",")[:3])
    return 0.3 * red + 0.59 * green + 0.11 * blue


def test_failures_are_first_and_expanded(browser: Browser, report: Path) -> None:
    """Differences, the result of each stage, and the changes made by user code are visible."""
    page = opened(browser, report, 1280, "light")
    first = page.locator("details.scenario").first

    assert page.locator("h1").inner_text() == "1 of 3 scenarios failed"
    assert first.get_attribute("open") is not None
    assert first.locator("table.rows tbody tr").count() == 2
    assert first.locator("ol.strip li.error").all_inner_texts()[0].startswith("user_transform")
    assert first.locator("table.diff del").first.is_visible()
    assert page.locator("details.scenario").nth(1).get_attribute("open") is None
    page.context.close()


def test_scenarios_can_be_filtered_and_searched(browser: Browser, report: Path) -> None:
    """By status with one click, by any word in them; suites without matches are hidden."""
    page = opened(browser, report, 1280, "light")
    shown = page.locator("details.scenario:visible")

    page.get_by_role("button", name="1 failed").click()
    assert shown.count() == 2
    page.get_by_role("searchbox").fill("no time yet")
    assert shown.count() == 1
    page.get_by_role("searchbox").fill("nowhere to be found")
    assert page.locator("section.suite:visible").count() == 0
    page.context.close()


def test_each_scenario_has_a_search_for_its_trees(browser: Browser, report: Path) -> None:
    """For failures it is there at once, for others when expanded; each searches its own scenario."""
    page = opened(browser, report, 1280, "light")
    search = page.get_by_label("Search in the JSON below")
    expect(search).to_have_count(1)
    page.locator("details.scenario").nth(1).locator("summary").first.click()
    expect(search).to_have_count(2)
    search.nth(0).fill("revenue")
    expect(page.get_by_role("status").nth(0)).to_contain_text("event.properties.revenue")
    expect(page.get_by_role("status").nth(1)).to_be_empty()
    assert page.locator("details.scenario").nth(1).locator(".hit").count() == 0
    page.context.close()
