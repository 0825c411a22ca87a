"""All routes of a data plane agree with its OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.workspace import Person
from tests.data_plane import packages


def workspace_of_hook() -> Workspace:
    made = Workspace()
    made.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    made.source("web", write_key="web-key", destinations=["hook"])
    return made


@pytest.fixture(scope="module")
def plane() -> Iterator[DataPlane]:
    with DataPlane(workspace_of_hook(), listen=False) as plane:
        yield plane


def test_every_route_is_documented(plane: DataPlane) -> None:
    """Every route of the application is in the document, except the documentation itself, aliases, and the endpoints of
    simulated vendors, which those document.
    """
    document = plane.ingest("GET", "/openapi.json").json["paths"]
    served = {re.sub(r":[a-z]+}", "}", route.path) for route in plane.asgi.app.app.routes}

    own = {path for path in served - set(document) if not path.startswith(("/console/", "/simulated/"))}
    assert own == {"/docs", "/openapi.json", "/", "/sourceConfig/", "/robots.txt"}


def test_the_document_says_which_operations_are_open(plane: DataPlane) -> None:
    """Without credentials, an operation answers 401 exactly if its `security` has no alternative without them."""
    document = plane.ingest("GET", "/openapi.json").json["paths"]
    wrong = {}
    for path, operations in document.items():
        for method, operation in operations.items():
            security = operation.get("security", [{"basic": []}])
            if path == "/inspect/stream" or {"writeKey": []} in security:  # does not end; the key may be in the body
                continue
            target = re.sub(r"{\w+}", "hook", path)
            status = plane.ingest(method.upper(), target, headers={"Host": "127.0.0.1"}, body=b"{}").status
            if path.startswith(("/v1/projects/", "/beacon/")):  # the key is in the path or the query
                continue
            if (status == 401) != bool(security and {} not in security):
                wrong[path] = (status, security)

    assert wrong == {}


def test_browsers_are_redirected_to_pages(plane: DataPlane) -> None:
    """A browser gets the console and the documentation at the obvious addresses; a program gets JSON."""
    page, docs = (plane.ingest("GET", path, headers={"Accept": "text/html,*/*"}) for path in ("/", "/inspect"))
    data = [plane.ingest("GET", path) for path in ("/", "/inspect")]

    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert (docs.status, docs.headers["location"]) == (302, "/docs#inspectCounts")
    assert [(answer.status, type(answer.json)) for answer in data] == [(200, dict)] * 2


def test_the_page_shows_every_operation(plane: DataPlane) -> None:
    """Including those without a success response because another operation describes it."""
    document = plane.ingest("GET", "/openapi.json").json["paths"]
    page = plane.ingest("GET", "/docs", headers={"Accept": "text/html"})
    ids = [operation["operationId"] for operations in document.values() for operation in operations.values()]

    assert page.status == 200
    assert [id for id in ids if f'<section id="{id}">' not in page.text] == []
    for path, login in (("/v1/batch", "key"), ("/inspect/counts", "local"), ("/admin/send", "person")):
        assert re.search(f'data-path="{path}" [^>]*data-login="{login}"', page.text)


@pytest.mark.slow
def test_the_documentation_page_works_in_a_browser() -> None:
    """`/docs` lists every route, and the example of each, sent from the page, is answered with 2xx."""
    from playwright.sync_api import sync_playwright

    chromium = packages.chromium()
    workspace = workspace_of_hook()
    workspace.users.append(Person.with_token("a@b.example", "t0ken-t0ken"))
    workspace.destination("mixpanel", "MP", config={"token": "t0ken-of-mp"}).simulate = "simulated"
    workspace.source("shop", type="Shopify", write_key="shop-key", destinations=["hook"])
    answers = {}
    with DataPlane(workspace) as plane, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{plane.url}/docs")
        for name, value in (("email", "a@b.example"), ("token", "t0ken-t0ken"), ("key", "web-key")):
            page.fill(f"#login [name={name}]", value)
        for section in page.locator("main section:has(details.try)").all():
            title = str(section.get_attribute("id"))
            page.fill("#login [name=key]", "shop-key" if title.startswith("webhook") else "web-key")
            section.locator("details.try summary").click()
            if title == "inspectRegulation":
                section.locator("[name=id]").fill(plane.ingest("GET", "/inspect/regulations").json["items"][0]["id"])
            section.locator("details.try button").click()
            answers[title] = section.locator("output strong").inner_text()
        listed = page.locator("nav a code").all_inner_texts()
        document = plane.ingest("GET", "/openapi.json").json["paths"]
        browser.close()

    assert problems == []
    assert sorted(listed) == sorted(path for path, methods in document.items() for _ in methods)
    assert {name: line for name, line in answers.items() if not line.startswith("2")} == {}
    assert len(answers) == sum("200" in operation["responses"] for of in document.values() for operation in of.values())
    assert len(answers) > 50
