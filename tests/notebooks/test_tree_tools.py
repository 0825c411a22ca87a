"""Trees of JSON in a browser are searched, opened and copied by keyboard; without scripts there is a switch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from svctoolkit import display
from tests.data_plane import packages

pytestmark = pytest.mark.slow

EVENT = {
    "type": "track",
    "event": "Order Completed",
    "a.b": {"one": 1, "two": None, "three": True, "four": [], "five": {}},
    "properties": {"total": 12.5, "products": [{"sku": "x", "note": 'a "quoted"\nline'}, {"sku": "y"}]},
}
TOOLS = Path(display.__file__).parent / "tree_tools.js"
CLIPBOARD = """() => {
  window.kept = [];
  window.ready = false;
  const clipboard = { writeText: async (text) => window.kept.push(text) };
  Object.defineProperty(navigator, "clipboard", { value: clipboard, configurable: true });
}"""
START = "\nconst root = document.getElementById('root'); attach(root); window.ready = true;"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page with a tree and its tools; script errors fail the test."""
    context = browser.new_context()
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    equip(page, display.page(display.tree(EVENT, "event", open_depth=1)))
    yield page
    context.close()
    assert errors == []


def equip(page: Page, html: str) -> None:
    """Show the page with the tools; copied text is kept in the page, which has no clipboard."""
    page.set_content(f'<html lang="en"><title>trees</title><main id="root">{html}</main></html>')
    page.evaluate(CLIPBOARD)
    page.add_script_tag(type="module", content=TOOLS.read_text("utf-8") + START)
    page.wait_for_function("() => window.ready")


def kept(page: Page) -> Any:
    """The text that was copied last."""
    page.wait_for_function("() => window.kept.length > 0")
    return page.evaluate("() => window.kept.pop()")


def test_a_value_can_be_searched_and_copied_by_keyboard(page: Page) -> None:
    """Enter goes to the next match and opens its parents; a path finds one node; path and value are copied."""
    search, said = page.get_by_label("Search in the JSON below"), page.get_by_role("status")
    search.focus()
    page.keyboard.type("SKU")
    expect(said).to_have_text("1 of 2: properties.products.0.sku")
    expect(page.locator(".current")).to_be_visible()
    page.keyboard.press("Enter")
    expect(said).to_have_text("2 of 2: properties.products.1.sku")
    page.keyboard.press("Shift+Enter")
    expect(said).to_have_text("1 of 2: properties.products.0.sku")
    search.fill("products.0.note")
    expect(said).to_have_text("1 of 1: properties.products.0.note")
    page.get_by_role("button", name="Copy path").press("Enter")
    assert kept(page) == "properties.products.0.note"
    page.get_by_role("button", name="Copy value").press("Enter")
    assert kept(page) == 'a "quoted"\nline'
    search.fill("nowhere")
    expect(said).to_have_text("not found")


def test_arrow_keys_walk_the_tree(page: Page) -> None:
    """Down, right and left as in every tree; Ctrl+C copies the value of a line, whole objects as JSON."""
    page.locator(".tree summary").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+c")
    assert json.loads(kept(page)) == EVENT["a.b"]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+c")
    assert kept(page) == "1"
    page.get_by_role("button", name="Copy path").click()
    assert kept(page) == "a\\.b.one"
    page.locator(".tree .current").press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("four")).to_be_hidden()
    page.locator(".tree summary").first.focus()
    page.keyboard.press("Control+c")
    assert json.loads(kept(page)) == EVENT


def test_the_whole_tree_can_be_opened_and_closed(page: Page) -> None:
    """The state is kept when the page is drawn again, as explorers do after each change."""
    sku, search = page.get_by_text("sku").first, page.get_by_label("Search in the JSON below")
    expect(sku).to_be_hidden()
    page.get_by_role("button", name="Expand all").click()
    expect(sku).to_be_visible()
    page.get_by_role("button", name="Collapse all").click()
    expect(sku).to_be_hidden()
    expect(page.get_by_text("Order Completed")).to_be_visible()
    search.focus()
    page.keyboard.type("tot")
    page.evaluate("html => { document.getElementById('root').innerHTML = html; }", display.page(display.tree(EVENT)))
    expect(page.get_by_role("status")).to_have_text("1 of 1: properties.total")
    page.keyboard.type("x")
    expect(search).to_have_value("totx")


def test_a_copy_of_a_cut_tree_says_so(page: Page) -> None:
    """A tree of 5,000 members shows only some: a copy says that it has no more."""
    equip(page, display.page(display.tree({"many": list(range(5_000))}, "large")))
    page.locator(".tree summary").nth(1).click()
    page.get_by_role("button", name="Copy value").click()
    expect(page.get_by_role("status")).to_have_text("value copied, without what is not shown: many")
    assert json.loads(kept(page)) == list(range(len(page.locator(".tree li li:not(.dim)").all())))


def test_an_output_contains_its_tools(browser: Browser) -> None:
    """Shown twice or redrawn in a page, each output has its own tools, which work without a network.

    Where scripts are removed the same page has the switch, and small outputs have no script at all.
    """
    small = display.bundle(display.page(display.tree({"ok": True})), "")["text/html"]
    output = display.bundle(display.page(display.tree(EVENT, "event", open_depth=1)), "")["text/html"]
    context = browser.new_context(offline=True)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    outputs = "".join(f"<div class='output'>{html}</div>" for html in (output, small, output))
    page.set_content(f"<html lang='en'><title>saved</title><main>{outputs}</main></html>")
    searches = page.get_by_label("Search in the JSON below")
    expect(searches).to_have_count(2)
    searches.nth(1).fill("sku")
    expect(page.get_by_role("status").nth(1)).to_have_text("1 of 2: properties.products.0.sku")
    expect(page.get_by_role("status").nth(0)).to_be_empty()
    expect(page.locator(".output").nth(0).get_by_text("sku").first).to_be_hidden()
    page.get_by_role("button", name="Expand all").nth(0).click()
    expect(page.locator(".output").nth(0).get_by_text("sku").first).to_be_visible()
    context.close()

    assert errors == []
    assert "<script" not in small
    assert output.startswith(display.page(display.tree(EVENT, "event", open_depth=1)))


def test_short_trees_have_no_tools(page: Page) -> None:
    """An answer of a line or two does not need them."""
    equip(page, display.page(display.tree({"ok": True}, "answer")))

    expect(page.get_by_label("Search in the JSON below")).to_have_count(0)


def test_without_scripts_a_switch_opens_the_tree(browser: Browser) -> None:
    """Saved outputs, where no script runs, open completely, by keyboard, too."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_content(display.page(display.tree(EVENT, open_depth=1)))
    switch = page.get_by_role("checkbox", name="Expand all")
    expect(page.get_by_text("sku").first).to_be_hidden()
    switch.focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("sku").first).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_text("sku").first).to_be_hidden()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tools", [True, False])
def test_trees_are_accessible(browser: Browser, scheme: Any, tools: bool) -> None:
    """axe finds nothing, with a match and a chosen line in view."""
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    html = display.page(display.Html("<h1>trees</h1>"), display.tree(EVENT, "event"), display.tree(EVENT))
    if tools:
        equip(page, html)
        page.get_by_label("Search in the JSON below").fill("sku")
    else:
        page.set_content(f'<html lang="en"><title>trees</title><main>{html}</main></html>')
    page.add_script_tag(path=packages.node_clients() / "node_modules/axe-core/axe.min.js")
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")["violations"]
    context.close()

    assert [f"{item['id']}: {item['nodes'][0]['html']}" for item in found] == []
