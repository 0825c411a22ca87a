"""Where the values of breaches come from, while a data plane is served."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.events import track
from svctoolkit.workspace import Calls
from tests.http_server import HttpServer

WORKSPACE = """
workspace: shop
sources: {web: {destinations: [hook, mixpanel]}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}}
  mixpanel:
    type: MP
    config: {token: t0k3n, dataResidency: us, identityMergeApi: simplified}
    transformation: clean
transformations: {clean: {language: javascript, file: clean.js}}
policies:
- no_personal: {destinations: [mixpanel], kinds: [email], except: [properties.email]}
- required: {event: Paid, at: {mixpanel: [currency, coupon]}}
- hosts: [api.mixpanel.com]
- agree: {values: [hook.properties.revenue, mixpanel.properties.revenue]}
- sql: select event_id, revenue from mixpanel where revenue > 9
- {name: none, sql: select count(*) as n from mixpanel having count(*) > 0}
"""
CLEAN = """\
export function transformEvent(event) {
  event.properties.note = event.context.traits.email;
  delete event.properties.currency;
  event.properties.revenue = event.properties.revenue * 2;
  return event;
}
"""
NOTHING = "export function transformEvent(event) { return event; }\n"


def paid(number: int = 1, **properties: Any) -> dict[str, Any]:
    event = track("Paid", user_id="u", properties={"revenue": 5, "currency": "EUR", **properties})
    return {**event, "messageId": f"m{number}", "context": {"traits": {"email": "jo@mail.example"}}}


def project(folder: Path, code: str = CLEAN, text: str = WORKSPACE) -> Path:
    (folder / "clean.js").write_text(code)
    (folder / "workspace.yaml").write_text(text)
    return folder / "workspace.yaml"


def read(plane: DataPlane, path: str = "inspect/policies") -> Any:
    answer = httpx.get(f"{plane.url}/{path}", headers={"authorization": f"Bearer {plane.token}"}, timeout=120)
    assert answer.status_code == 200
    return answer.json()


def breaches(plane: DataPlane) -> list[dict[str, Any]]:
    """All groups of breaches, the oldest first. A slow machine needs several calls."""
    plane.drain(120)
    while (state := read(plane))["more"]:
        pass
    return [breach for item in state["items"] for breach in reversed(item["groups"])]


def origins(plane: DataPlane) -> dict[tuple[str, str], str | None]:
    """The origins of the breaches by destination, and path or text."""
    return {
        (one["destination"], one["path"] or one["text"]): one["origin"] and one["origin"]["text"]
        for one in breaches(plane)
    }


def test_a_breach_of_each_kind_names_its_origin(tmp_path: Path) -> None:
    """Members of the event, settings, and lines of code: those that write a value, and those that remove one."""
    with DataPlane(project(tmp_path)) as plane:
        plane.send(paid(), source="web")

        assert origins(plane) == {
            ("mixpanel", "body.JSON_ARRAY.batch.*.properties.note"): "context.traits.email (clean.js:2)",
            ("mixpanel", "currency"): "the event, but clean.js:3 removes it",
            ("mixpanel", "coupon"): None,
            ("hook", "endpoint"): "setting webhookUrl",
            ("mixpanel", "body.JSON_ARRAY.batch.*.properties.revenue"): "properties.revenue (clean.js:4)",
            ("mixpanel", "revenue = 10"): "properties.revenue (clean.js:4)",
            ("mixpanel", "n = 2"): None,
        }
        assert {(one["origin"]["workspace"], one["origin"]["note"]) for one in breaches(plane) if one["origin"]} == {
            ("current", "")
        }


def test_the_origin_is_that_of_the_value_which_breaks_the_policy(tmp_path: Path) -> None:
    """Not of another item of the list at the same path."""
    code = """\
export function transformEvent(event) {
  event.properties.products[1].name = event.context.traits.email;
  return event;
}
"""
    with DataPlane(project(tmp_path, code)) as plane:
        plane.send(paid(products=[{"name": "Shoes"}, {"name": "Socks"}]), source="web")

        assert origins(plane)["mixpanel", "body.JSON_ARRAY.batch.*.properties.products.*.name"] == (
            "context.traits.email (clean.js:2)"
        )


def test_the_event_of_a_shared_request_is_the_one_with_the_value(tmp_path: Path) -> None:
    workspace = Workspace.load(project(tmp_path, NOTHING))
    workspace.delivery.batch = Calls(jobs=2, wait=60)
    workspace.policies = [{"no_personal": {"destinations": ["mixpanel"], "except": ["properties.email"]}}]
    with DataPlane(workspace) as plane:
        plane.send([paid(1, q="shoes"), paid(2, q="jo@mail.example")], source="web")
        plane.drain(120)
        assert [len(one.events) for one in plane.deliveries if one.destination == "mixpanel"] == [2, 2]

        assert [(one["seq"], one["origin"]["text"], one["origin"]["seq"]) for one in breaches(plane)] == [
            (2, "properties.q", 2)
        ]


def with_function(function: Any) -> Workspace:
    workspace = Workspace("shop")
    workspace.transformation("copy", function)
    config = {"webhookUrl": "https://hook.example/in"}
    workspace.destination("hook", "WEBHOOK", config=config, transformation="copy")
    workspace.source("web", destinations=["hook"])
    workspace.policies = [{"no_personal": {"except": ["traits.email"]}}]
    return workspace


def test_an_origin_is_measured_when_it_is_read_and_once_for_each_group() -> None:
    """Accepting events runs the code once for each; breaches that are alike share an origin."""
    calls = list[str]()

    def copy(event: dict[str, Any]) -> dict[str, Any]:
        calls.append(event["messageId"])
        event["properties"]["note"] = event["properties"]["mail"]
        return event

    with DataPlane(with_function(copy)) as plane:
        plane.send([paid(number, mail="jo@mail.example") for number in range(3)], source="web")
        plane.drain(120)
        assert calls == ["m0", "m1", "m2"]
        first = breaches(plane)
        measured = len(calls)
        plane.send(paid(3, mail="al@mail.example"), source="web")
        second = breaches(plane)

    assert measured > 3
    assert len(calls) == measured + 1
    assert [(one["path"].rpartition(".")[2], one["count"]) for one in first] == [("mail", 3), ("note", 3)]
    assert [(one["count"], one["first"], one["seq"], one["value"]) for one in second] == [
        (4, 1, 4, "al@mail.example")
    ] * 2
    assert [one["origin"] for one in second] == [one["origin"] for one in first]


def test_others_are_answered_while_an_origin_is_measured() -> None:
    """The event loop goes on, and further readers get the breaches without waiting for the user's code."""
    reached, go_on, is_measuring = threading.Event(), threading.Event(), threading.Event()

    def slow(event: dict[str, Any]) -> dict[str, Any]:
        if is_measuring.is_set():
            reached.set()
            assert go_on.wait(300)
        return event

    with DataPlane(with_function(slow)) as plane:
        plane.send(paid(q="jo@mail.example"), source="web")
        plane.drain(120)
        is_measuring.set()
        reader = threading.Thread(target=read, args=[plane])
        reader.start()
        try:
            assert reached.wait(120)
            assert read(plane, "health")
            state = read(plane)
        finally:
            go_on.set()
            reader.join()
        (breach,) = breaches(plane)

    assert state["more"]
    assert [one["origin"] for item in state["items"] for one in item["groups"]] == [None]
    assert breach["origin"]["text"] == "properties.q"


def test_code_that_never_ends_is_given_up_when_an_origin_is_measured() -> None:
    """The breach has no origin, the next call measures others, and events are still sent."""
    is_measuring = threading.Event()

    def endless(event: dict[str, Any]) -> dict[str, Any]:
        while is_measuring.is_set() and "q" in event["properties"]:
            pass
        return event

    workspace = with_function(endless)
    settings = workspace.data_plane
    workspace.data_plane = replace(settings, limits=replace(settings.limits, mapping=0.2))
    with DataPlane(workspace) as plane:
        plane.send(paid(1, q="jo@mail.example"), source="web")
        plane.drain(120)
        is_measuring.set()
        (breach,) = breaches(plane)
        plane.send(paid(2, mail="al@mail.example"), source="web")
        plane.drain(120)
        _, other = sorted(breaches(plane), key=lambda one: one["seq"])
        is_measuring.clear()

        assert breach["origin"] is None
        assert other["origin"]["text"] == "properties.mail"
        assert [fate.status for fate in plane.fates] == ["delivered"] * 2


def test_an_event_is_measured_with_the_workspace_that_sent_it(tmp_path: Path) -> None:
    """After the file was reloaded, its breach still names the line of the code that let it through, and says so."""
    file = project(tmp_path)
    with DataPlane(file) as plane:
        plane.send(paid(1), source="web")
        plane.drain(120)
        (tmp_path / "clean.js").write_text("\n\n\n" + CLEAN)
        file.write_text(WORKSPACE + "\n")
        plane.wait(lambda: read(plane, "inspect/workspace")["reload"]["at"], 120)
        earlier = breaches(plane)
        plane.send(paid(2), source="web")
        found = breaches(plane)

    notes = [(one["seq"], one["origin"]) for one in (*earlier, *found) if one["path"].endswith("note")]
    assert [(seq, origin["text"], origin["workspace"]) for seq, origin in notes] == [
        (1, "context.traits.email (clean.js:2)", "earlier"),
        (2, "context.traits.email (clean.js:5)", "current"),
    ]
    assert notes[0][1]["note"].startswith("the workspace has changed since; this is how it was until 2")
    hosts = [one["origin"] for one in found if one["destination"] == "hook"]
    assert {(origin["workspace"], origin["note"]) for origin in hosts} == {("current", "")}  # nothing of it has changed


def test_events_of_an_earlier_data_plane_are_measured_with_the_current_workspace(tmp_path: Path) -> None:
    file = project(tmp_path)
    with DataPlane(file, store=tmp_path / "events.db") as plane:
        plane.send(paid(1), source="web")
        plane.drain(120)
    with DataPlane(file, store=tmp_path / "events.db") as plane:
        origin = next(one["origin"] for one in breaches(plane) if one["path"].endswith("note"))

    assert (origin["text"], origin["workspace"]) == ("context.traits.email (clean.js:2)", "unknown")
    assert "the workspace that sent the event is unknown" in origin["note"]


def test_a_value_that_is_another_now_is_marked(tmp_path: Path) -> None:
    """Code that was changed in memory leaves no revision."""
    workspace = Workspace.load(project(tmp_path))
    with DataPlane(workspace) as plane:
        plane.send(paid(1), source="web")
        plane.drain(120)
        workspace.transformation("clean").code = CLEAN.replace("* 2", "* 3").replace(
            "  delete event.properties.currency;\n", ""
        )
        found = {one["path"]: one["origin"] for one in breaches(plane)}

    revenue = found["body.JSON_ARRAY.batch.*.properties.revenue"]
    assert revenue["text"] == "properties.revenue (clean.js:3)"
    assert revenue["note"] == "measured again, the value is another: code, settings or look-ups have changed since"
    assert found["currency"]["note"] == revenue["note"]
    assert found["body.JSON_ARRAY.batch.*.properties.note"]["note"] == ""


@pytest.fixture
def service() -> Iterator[tuple[str, Sequence[str]]]:
    """A server on this machine, and the paths of its requests."""
    paths = list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = HttpServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", paths
    server.shutdown()
    thread.join()
    server.server_close()


def test_nothing_is_sent_when_an_origin_is_measured(tmp_path: Path, service: tuple[str, Sequence[str]]) -> None:
    """Neither payloads nor look-ups of the user's code, also with live delivery."""
    address, paths = service
    code = f"""\
export async function transformEvent(event) {{
  await fetch("{address}/look-up");
  event.properties.note = event.context.traits.email;
  return event;
}}
"""
    text = f"""
workspace: shop
delivery: {{mode: live, allow: [127.0.0.1]}}
sources: {{web: {{destinations: [hook]}}}}
destinations: {{hook: {{type: WEBHOOK, config: {{webhookUrl: "{address}/in"}}, transformation: clean}}}}
transformations: {{clean: {{language: javascript, file: clean.js}}}}
policies: [{{no_personal: {{kinds: [email], except: [traits.email]}}}}]
"""
    with DataPlane(project(tmp_path, code, text)) as plane:
        plane.send(paid(), source="web")
        plane.drain(120)
        assert sorted(paths) == ["/in", "/look-up"]

        assert origins(plane) == {("hook", "body.JSON.properties.note"): "context.traits.email (clean.js:3)"}
    assert sorted(paths) == ["/in", "/look-up"]


def test_an_origin_shows_no_secret(tmp_path: Path) -> None:
    """Members of events may be called like a secret of the workspace."""
    workspace = Workspace.load(project(tmp_path, NOTHING))
    headers = [{"from": "Authorization", "to": "s3cret-0f-sh0p"}]
    workspace.destination("hook").config = {"webhookUrl": "https://hook.example/in", "headers": headers}
    workspace.policies = [{"no_personal": {"destinations": ["hook"], "except": ["traits.email"]}}]
    with DataPlane(workspace) as plane:
        plane.send(paid(**{"s3cret-0f-sh0p": "jo@mail.example"}), source="web")
        found: Sequence[Mapping[str, Any]] = breaches(plane)

    assert [one["origin"]["text"].startswith("properties.") for one in found] == [True]
    assert "s3cret" not in json.dumps(found)
