"""All routes, held to the document that they are served with."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from svctoolkit import DataPlane, Workspace
from svctoolkit.runner.over_http import operations
from svctoolkit.workspace import Person
from tests.data_plane.conftest import basic

_SETTINGS = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def _workspace() -> Workspace:
    made = Workspace()
    made.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    made.source("web", write_key="web-key", destinations=["hook"])
    return made


PLANE = DataPlane(_workspace(), listen=False, additions=[operations])
schema = schemathesis.openapi.from_asgi("/openapi.json", PLANE.asgi)


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    PLANE.stop()


@schema.include(path_regex="^/(v1|beacon|pixel|sourceConfig|health)").parametrize()
@_SETTINGS
def test_the_routes_of_clients(case: schemathesis.Case) -> None:
    """Whatever a client sends, the answer is one of those documented, and never an accident.

    Left out: that a request which does not fit the document is refused. The gateway takes members that nobody knows,
    and decides by the content whatever the content type says.
    """
    case.call_and_validate(
        headers=basic("web-key"), excluded_checks=[positive_data_acceptance, negative_data_rejection]
    )


@schema.include(path_regex="^/(inspect|admin)").exclude(path="/inspect/stream").parametrize()
@_SETTINGS
def test_inspection_and_administration(case: schemathesis.Case) -> None:
    """The same for inspection and administration, with the data plane's token."""
    query: dict[str, Any] = dict(case.query or {})
    if case.path == "/inspect/wait":
        case.query = {**query, "timeout": 0}
    if case.path == "/inspect/expect" and isinstance(case.body, dict):
        seconds = case.body.get("timeout", 0)
        case.body["timeout"] = min(seconds, 0) if isinstance(seconds, float | int) else "no"
    case.call_and_validate(
        headers={"Authorization": f"Bearer {PLANE.token}"}, excluded_checks=[positive_data_acceptance]
    )


def test_every_route_is_documented() -> None:
    """What the application serves stands in the document; left out are the documentation itself, and aliases."""
    document = PLANE.ingest("GET", "/openapi.json").json["paths"]
    served = {re.sub(r":[a-z]+}", "}", route.path) for route in PLANE.asgi.app.app.routes}

    own = {path for path in served - set(document) if not path.startswith("/console/")}
    assert own == {"/docs", "/openapi.json", "/", "/sourceConfig/", "/robots.txt"}


def test_people_are_sent_to_a_page() -> None:
    """A browser gets pages where people look first: the console, the documentation; a program gets JSON."""
    page, docs = (PLANE.ingest("GET", path, headers={"Accept": "text/html,*/*"}) for path in ("/", "/inspect"))
    data = [PLANE.ingest("GET", path) for path in ("/", "/inspect")]

    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert (docs.status, docs.headers["location"]) == (302, "/docs#inspectCounts")
    assert [(answer.status, type(answer.json)) for answer in data] == [(200, dict)] * 2


@pytest.mark.slow
def test_the_page_in_a_browser() -> None:
    """`/docs` of a data plane lists every route, and the example of each, sent from the page, is answered with 2xx."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert chromium, "this test needs a browser: install chromium"
    workspace = _workspace()
    workspace.people.append(Person.with_token("a@b.example", "t0ken-t0ken"))
    answers = {}
    with DataPlane(workspace) as plane, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{plane.url}/docs")
        for name, value in (("email", "a@b.example"), ("token", "t0ken-t0ken"), ("key", "web-key")):
            page.fill(f"#login [name={name}]", value)
        for section in page.locator("main section").all():
            section.locator("details.try summary").click()
            section.locator("details.try button").click()
            title = str(section.get_attribute("id"))
            answers[title] = section.locator("output strong").inner_text()
        listed = page.locator("nav a code").all_inner_texts()
        document = plane.ingest("GET", "/openapi.json").json["paths"]
        browser.close()

    assert problems == []
    assert sorted(listed) == sorted(path for path, methods in document.items() for _ in methods)
    assert {name: line for name, line in answers.items() if not line.startswith("2")} == {}
    assert len(answers) == len(listed)
