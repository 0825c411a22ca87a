"""The documentation site in Chromium: accessible, readable at every width, and usable without scripts and servers."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from svctoolkit.cli import COMMANDS
from svctoolkit.cli._site import names, texts, write
from tests.data_plane import packages
from tests.http_server import HttpServer

pytestmark = pytest.mark.slow
#: one page of each kind: the front page, prose, code, tables, a generated reference
KINDS = ["index", "first-minute", "suites", "comparison", "reference/commands"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    write(folder / "docs" / "latest", texts(COMMANDS))
    return folder


def address(site: Path, page: str) -> str:
    return (site / "docs" / "latest" / f"{page}.html").as_uri()


def too_wide(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


#: all pages, in three tests, each of which takes about as long as another one
THIRDS = [names()[number::3] for number in range(3)]


@pytest.mark.parametrize(
    ("width", "scheme", "pages"),
    [
        *((390, "light", third) for third in THIRDS),
        *((*of, KINDS) for of in [(390, "dark"), (900, "light"), (1400, "dark")]),
    ],
    ids=["390-light-1", "390-light-2", "390-light-3", "390-dark", "900-light", "1400-dark"],
)
def test_pages_are_accessible(browser: Browser, site: Path, width: int, scheme: str, pages: list[str]) -> None:
    """axe finds nothing, and no page is wider than the window: every page on a phone, one of each kind elsewhere.

    Contrast, whose measurement takes most of the time, is the same on all pages of a kind.
    """
    axe = (packages.node_clients() / "node_modules/axe-core/axe.min.js").read_text()
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page, found = context.new_page(), {}
    for name in pages:
        page.goto(address(site, name))
        page.evaluate(axe)
        rules = {"color-contrast": {"enabled": name in KINDS}}
        options = {"resultTypes": ["violations"], "rules": rules}
        violations = page.evaluate("options => axe.run(document, options)", options)["violations"]
        found[name] = [f"{item['id']}: {item['nodes'][0]['html']}" for item in violations]
        assert too_wide(page) <= 0, name
    context.close()

    assert {name: texts for name, texts in found.items() if texts} == {}


def test_a_phone_has_a_menu(browser: Browser, site: Path) -> None:
    """It covers the page, is closed by Escape, and leads to every page; rows of tables become lists."""
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(address(site, "comparison"))
    expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()
    page.get_by_text("Menu").click()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()
    page.get_by_text("Menu").click()
    page.get_by_text("Reference", exact=True).click()
    page.get_by_role("link", name="Matchers").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Matchers")
    page.goto(address(site, "catalogue"))
    expect(page.get_by_role("table").first.get_by_role("cell").nth(1)).to_be_visible()
    context.close()


def test_it_works_without_scripts_and_from_files(browser: Browser, site: Path) -> None:
    """Pages, menu and links need no script; only search and copy buttons are missing."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(address(site, "index"))
    expect(page.get_by_role("search")).to_be_hidden()
    page.get_by_text("Menu").click()
    page.get_by_role("link", name="The first minute").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("The first minute")
    context.close()


@pytest.mark.parametrize("served", [True, False])
def test_the_search_and_the_copy_buttons_work(browser: Browser, site: Path, served: bool) -> None:
    """Below a path of a server, and from files; nothing outside the site is requested."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    handler.func.log_message = lambda *_: None  # type: ignore[attr-defined]
    with HttpServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        start = f"http://127.0.0.1:{server.server_port}/docs/latest/sdk/index.html"
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        page, missing = context.new_page(), list[str]()
        page.on("requestfailed", lambda request: missing.append(request.url))
        page.on("response", lambda response: missing.append(response.url) if response.status >= 400 else None)
        page.goto(start if served else address(site, "sdk/index"))
        page.keyboard.press("/")
        page.keyboard.type("retry after")
        expect(page.locator("#hits a").first).to_be_visible(timeout=60_000)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "sdk/index" not in url)
        page.goto(start if served else address(site, "suites"))
        page.locator(".code").first.hover()
        page.get_by_role("button", name="Copy").first.click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        server.shutdown()
        context.close()

    assert [url for url in missing if not url.endswith("/favicon.ico")] == []


BACKGROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
#: notes the background before the page is painted for the first time, and with each frame
_WATCH = """
  window.seen = [];
  const look = () => {
    if (document.body) seen.push(getComputedStyle(document.body).backgroundColor);
    requestAnimationFrame(look);
  };
  look();
"""


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_theme_can_be_chosen(browser: Browser, site: Path, system: str) -> None:
    """The choice holds on other pages without a flash of the system's theme, for pictures, too, until it is undone."""
    other = {"light": "dark", "dark": "light"}[system]
    context = browser.new_context(color_scheme=system)  # type: ignore[arg-type]
    context.add_init_script(_WATCH)
    page = context.new_page()
    page.goto(address(site, "index"))
    choice = page.get_by_label("Theme")
    picture = page.locator("img[src*=explorer]")
    expect(page.locator("body")).to_have_css("background-color", BACKGROUNDS[system])
    expect(choice).to_have_value("")

    choice.select_option(other)
    expect(page.locator("body")).to_have_css("background-color", BACKGROUNDS[other])
    picture.scroll_into_view_if_needed()
    page.wait_for_function(
        "([picture, name]) => picture.currentSrc.includes(name)", arg=[picture.element_handle(), f"-{other}."]
    )
    page.goto(address(site, "suites"))
    expect(choice).to_have_value(other)
    page.wait_for_function("seen.length > 2")
    assert set(page.evaluate("seen")) == {BACKGROUNDS[other]}

    second = context.new_page()
    second.goto(address(site, "faq"))
    second.get_by_label("Theme").select_option("")
    expect(second.locator("body")).to_have_css("background-color", BACKGROUNDS[system])
    expect(choice).to_have_value("")  # in the first tab, too
    expect(page.locator("body")).to_have_css("background-color", BACKGROUNDS[system])
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_chosen_theme_is_accessible(browser: Browser, site: Path, width: int, theme: str) -> None:
    """axe finds nothing, against the system's theme; the choice is reached with the keyboard and fits a phone."""
    axe = (packages.node_clients() / "node_modules/axe-core/axe.min.js").read_text()
    system = {"light": "dark", "dark": "light"}[theme]
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=system)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address(site, "suites"))
    page.get_by_label("Theme").focus()
    for _ in range(["", "light", "dark"].index(theme)):
        page.keyboard.press("ArrowDown")
    expect(page.locator("body")).to_have_css("background-color", BACKGROUNDS[theme])
    page.evaluate(axe)
    violations = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]

    assert [f"{item['id']}: {item['nodes'][0]['html']}" for item in violations] == []
    assert too_wide(page) <= 0
    context.close()


def test_the_theme_is_the_systems_where_nothing_can_be_kept(browser: Browser, site: Path) -> None:
    """Storage is blocked: the choice is for one page, and nothing fails. On paper, every theme is light."""
    context = browser.new_context(color_scheme="dark")
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('blocked', 'SecurityError'); }})"
    )
    page, errors = context.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address(site, "faq"))
    page.get_by_label("Theme").select_option("light")
    expect(page.locator("body")).to_have_css("background-color", BACKGROUNDS["light"])
    page.get_by_label("Theme").select_option("dark")
    page.emulate_media(media="print")
    expect(page.locator("body")).to_have_css("background-color", BACKGROUNDS["light"])
    page.goto(address(site, "glossary"))
    page.emulate_media(media="screen")
    expect(page.locator("body")).to_have_css("background-color", BACKGROUNDS["dark"])
    context.close()

    assert errors == []
