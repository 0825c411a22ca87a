"""`svctoolkit import --from rudderstack`: the API is a real server on loopback that answers as RudderStack's does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from svctoolkit.cli import main
from svctoolkit.workspace import Workspace
from tests.http_server import HttpServer
from tests.imports import acme

pytestmark = pytest.mark.filterwarnings("ignore::svctoolkit.errors.UnsetVariables")

WORKSPACE_TOKEN, ACCESS_TOKEN = "2WtWorkspaceToken8k", "2AtAccessToken77q"
EVENTS = [
    {"id": f"ev_{n}", "name": name, "eventType": "track", "identitySection": "", "rules": {
        "type": "object", "properties": {"properties": {"type": "object", "properties": {"total": {"type": "number"}},
                                                        "required": ["total"], "additionalProperties": True}}}}
    for n, name in enumerate(["Order Completed", "Cart Viewed", "Checkout Started"])
]  # fmt: skip


class Api:
    """Answers by path; `answers` overrides some. `paths` lists what was asked for."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str]] = {}
        self.paths: list[str] = []
        self.url = ""

    def answer(self, path: str, authorization: str) -> tuple[int, str]:
        self.paths.append(path)
        if path in self.answers:
            return self.answers[path]
        plain, _, query = path.partition("?")
        wanted = _basic(f"{WORKSPACE_TOKEN}:") if plain == "/workspaceConfig" else _basic(f":{ACCESS_TOKEN}")
        if plain.startswith("/v2/catalog"):
            wanted = f"Bearer {ACCESS_TOKEN}"
        if authorization != wanted:
            return 401, json.dumps({"message": "Unauthorized"})
        body = self._body(plain, query)
        return (404, json.dumps({"message": "Not found"})) if body is None else (200, json.dumps(body))

    def _body(self, path: str, query: str) -> Any:
        latest, *others = acme.CODE["transformations"]
        plan = {"id": "tp_shop", "name": "Shop plan", "version": 3, "events": []}
        pages = {"page=1": EVENTS[:2], "page=2": EVENTS[2:]}
        bodies: dict[str, Any] = {
            "/workspaceConfig": acme.export() if query == "fetchAll=true" else None,
            # the published version of one transformation is newer than the one that the destinations use
            "/transformations": {"transformations": [{**latest, "versionId": "newer", "code": "broken("}, *others]},
            f"/transformations/{latest['id']}/versions/{latest['versionId']}": latest,
            "/libraries": {"libraries": acme.CODE["libraries"]},
            "/v2/catalog/tracking-plans": {"trackingPlans": [plan]},
            "/v2/catalog/tracking-plans/tp_shop/events": {
                "data": [{"id": e["id"], "name": e["name"]} for e in pages.get(query, [])],
                "total": 3, "currentPage": 1, "pageSize": 2,
            },
        }  # fmt: skip
        if query == "format=schema":
            bodies |= {f"/v2/catalog/tracking-plans/tp_shop/events/{e['id']}": e for e in EVENTS}
        return bodies.get(path)


def _basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


@pytest.fixture
def api() -> Iterator[Api]:
    served = Api()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = served.answer(self.path, self.headers.get("Authorization", ""))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", body)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HttpServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    yield served
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUDDERSTACK_WORKSPACE_TOKEN", WORKSPACE_TOKEN)
    monkeypatch.setenv("RUDDERSTACK_ACCESS_TOKEN", ACCESS_TOKEN)


def start(folder: Path, *arguments: str) -> tuple[int, str, str]:
    out, errors = StringIO(), StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(errors):
        code = main(["import", "--from", "rudderstack", "-o", "shop", "--no-suites", *arguments])
    return code, out.getvalue(), errors.getvalue()


def test_a_workspace_its_code_and_its_plans_come_from_the_api(api: Api, tmp_path: Path) -> None:
    """The code is of the version that the destinations use; the plan is linked to the source that the export names."""
    code, out, errors = start(tmp_path, "--api-url", api.url)

    assert (code, errors) == (0, "")
    with pytest.warns(UserWarning, match="sendUserId"):
        shop = Workspace.load(tmp_path / "shop" / "workspace.yaml")
    assert {key: bool(item.code) for key, item in shop.transformations.items()} == dict.fromkeys(
        ["enrich-orders", "mask-pii", "rename-signup-legacy"], True
    )
    assert shop.transformations["enrich-orders"].code == acme.ENRICH_ORDERS
    link = shop.plan_link(shop.source("web-shop"))
    assert link is not None
    assert link.plan is not None
    assert [rule.name for rule in link.plan.rules] == ["Order Completed", "Cart Viewed", "Checkout Started"]
    assert shop.sources["web-shop"].plan_settings == {
        "track": {"allowUnplannedEvents": "true", "anyOtherViolation": "drop"}
    }
    assert "tracking plan shop-plan: 3 events; checks web-shop" in out
    assert "\n  workspaceConfig.json:" in (tmp_path / "shop" / "IMPORT.md").read_text()
    files = [path for path in (tmp_path / "shop").rglob("*") if path.is_file()]
    assert not any(token in path.read_text() for path in files for token in (WORKSPACE_TOKEN, ACCESS_TOKEN))


def test_with_an_export_only_code_and_plans_are_fetched(api: Api, tmp_path: Path) -> None:
    """Hosted workspaces have no workspace token: their configuration is a file."""
    (tmp_path / "export.json").write_text(json.dumps(acme.export()))

    code, _, errors = start(tmp_path, "export.json", "--api-url", api.url)

    assert (code, errors) == (0, "")
    assert not [path for path in api.paths if path.startswith("/workspaceConfig")]
    assert (tmp_path / "shop" / "transformations" / "mask-pii.py").read_text() == acme.MASK_PII


@pytest.mark.parametrize(
    ("path", "answer", "says"),
    [
        ("/workspaceConfig?fetchAll=true", (401, "{}"), "answered 401: the token is not accepted"),
        ("/transformations", (403, "{}"), "answered 403: the token may not read this"),
        ("/libraries", (404, "404 page not found"), "answered 404: there is no such address"),
        ("/v2/catalog/tracking-plans", (500, "oops"), "answered 500: RudderStack has a problem"),
        ("/v2/catalog/tracking-plans", (429, ""), "answered 429: too many requests"),
        ("/transformations", (200, "<html>"), "the answer is not JSON"),
        ("/transformations", (200, "[]"), "the answer is not an object"),
        ("/transformations", (200, '{"items": []}'), "it has no list `transformations`"),
        ("/workspaceConfig?fetchAll=true", (200, '{"a": 1}'), "it has no sources"),
        ("/v2/catalog/tracking-plans/tp_shop/events?page=1", (200, "{}"), "it has no list `data`"),
        ("/libraries", (302, "http://127.0.0.1:1/elsewhere"), "answered 302: not expected"),
    ],
)
def test_an_answer_that_cannot_be_used_is_one_clear_line(
    api: Api, tmp_path: Path, path: str, answer: tuple[int, str], says: str
) -> None:
    """With the address and what to do, exit code 4; no token is shown, and nothing is written."""
    api.answers[path] = answer

    code, out, errors = start(tmp_path, "--api-url", api.url)

    assert (code, out) == (4, "")
    assert errors.startswith(f"svctoolkit: {api.url}{path.partition('?')[0]}: ")
    assert says in errors
    assert not any(token in errors for token in (WORKSPACE_TOKEN, ACCESS_TOKEN, "Traceback"))
    assert list(tmp_path.iterdir()) == []


def test_without_network_or_tokens_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection names the address, a missing token its variable; tokens are only sent encrypted."""
    code, _, errors = start(tmp_path, "--api-url", "http://127.0.0.1:1")
    assert (code, "cannot be reached" in errors, "import an exported file" in errors) == (4, True, True), errors

    code, _, errors = start(tmp_path, "--api-url", "http://api.example")
    assert (code, "must be an https:// address" in errors) == (4, True)

    monkeypatch.delenv("RUDDERSTACK_WORKSPACE_TOKEN")
    code, _, errors = start(tmp_path)
    assert (code, "RUDDERSTACK_WORKSPACE_TOKEN is not set" in errors) == (4, True)
    assert list(tmp_path.iterdir()) == []
