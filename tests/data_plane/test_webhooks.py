"""Webhook sources in the data plane: `/v1/webhook`, what is recorded, and what sources remember."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.server import Answer
from tests.data_plane.conftest import basic

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PATH = "/v1/webhook?writeKey=hook-key"
ORDER = b'{"order": 7}'
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PARTS = {"Content-Type": "multipart/form-data; boundary=x"}


def workspace() -> Workspace:
    made = Workspace("shop")
    made.destination("crm", "WEBHOOK", config={"webhookUrl": "https://crm.example/in"})
    made.source("hook", type="webhook", write_key="hook-key", destinations=["crm"])
    made.source("mail", type="Braze", write_key="mail-key", destinations=["crm"])
    made.source("proxy", type="Segment", write_key="proxy-key", destinations=["crm"])
    made.source("off", type="webhook", write_key="off-key", enabled=False, destinations=["crm"])
    made.source("web", write_key="web-key", destinations=["crm"])
    made.source(
        "full", type="webhook", write_key="full-key", config={"putRequestDetailsInContext": True}, destinations=["crm"]
    )
    return made


@pytest.fixture
def plane() -> Iterator[DataPlane]:
    with DataPlane(workspace(), listen=False, clock=lambda: NOW) as made:
        yield made


def part(name: str, text: str, file: str = "") -> str:
    named = f'; filename="{file}"' if file else ""
    return f'--x\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n{text}\r\n'


MULTIPART = (part("a", "1") + part("a", "2") + part("f", "hello", "f.txt") + "--x--\r\n").encode()
BRAZE = {"events": [{"id": f"m{i}", "event_type": f"E{i}", "user": {"external_user_id": "u"}} for i in (1, 2)]}
OK, BAD_ID = "ok", "request neither has anonymousId nor userId\n"

#: what is sent (method, path, headers, body); status and body of the answer, and the properties of the events
EXCHANGES: dict[str, tuple[str, str, dict[str, str], bytes, int, str, list[Any]]] = {
    "a key in the query": ("POST", PATH, JSON, ORDER, 200, OK, [{"order": 7}]),
    "a key in Basic": ("POST", "/v1/webhook", basic("hook-key"), ORDER, 200, OK, [{"order": 7}]),
    "an empty key in the query": ("POST", "/v1/webhook?writeKey=", basic("hook-key"), ORDER, 200, OK, [{"order": 7}]),
    "two keys": ("POST", f"{PATH}&writeKey=nobody", {}, ORDER, 200, OK, [{"order": 7}]),
    "the query's key counts": ("POST", PATH, basic("nobody"), ORDER, 200, OK, [{"order": 7}]),
    "no key": ("POST", "/v1/webhook", {}, ORDER, 401, "failed to read writekey from query params\n", []),
    "an unknown key": ("POST", "/v1/webhook?writeKey=x", {}, ORDER, 401, "invalid write key\n", []),
    "a key for SDKs": ("POST", "/v1/webhook?writeKey=web-key", {}, ORDER, 401, "invalid write key\n", []),
    "disabled": ("POST", "/v1/webhook?writeKey=off-key", {}, ORDER, 404, "source is disabled\n", []),
    "GET of a type without it": ("GET", f"{PATH}&a=1", {}, b"", 200, "", []),
    "another method": ("PUT", PATH, {}, ORDER, 405, "", []),
    "an empty body": ("POST", PATH, JSON, b"", 200, OK, [{}]),
    "compressed": ("POST", PATH, {"Content-Encoding": "gzip"}, gzip.compress(ORDER), 200, OK, [{"order": 7}]),
    "a form": ("POST", PATH, FORM, b"b=2&a=1&a=%C3%A9+x&c=", 200, OK,
               [{"a": ["1", "\u00e9 x"], "b": ["2"], "c": [""]}]),
    "an empty form": ("POST", PATH, FORM, b"", 200, OK, [{}]),
    "a broken form": ("POST", PATH, FORM, b"a=%zz", 400, "error during parsing form\n", []),
    "a multipart form": ("POST", PATH, PARTS, MULTIPART, 200, OK, [
        {"Value": {"a": ["1", "2"]}, "File": {"f": [{"Filename": "f.txt", "Size": 5, "Header": {
            "Content-Disposition": ['form-data; name="f"; filename="f.txt"']}}]}}]),
    "a multipart form without an end": ("POST", PATH, PARTS, MULTIPART[:-6], 400, "error during parsing multiform\n",
                                        []),
    "a multipart form without a boundary": ("POST", PATH, {"Content-Type": "multipart/form-data"}, MULTIPART, 400,
                                            "error during parsing multiform\n", []),
    "several events": ("POST", "/v1/webhook?writeKey=mail-key", JSON, json.dumps(BRAZE).encode(), 200, OK, [{}, {}]),
    "an event without an id": ("POST", "/v1/webhook?writeKey=proxy-key", JSON, b'[{"userId": "u"}, {"userId": " "}]',
                               400, BAD_ID, []),
    "no events": ("POST", "/v1/webhook?writeKey=proxy-key", JSON, b"[]", 400, "empty batch payload\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", [*EXCHANGES])
@pytest.mark.parametrize("direct", [True, False], ids=["in process", "through the application"])
def test_the_gateway_answers_like_rudderstack(plane: DataPlane, name: str, direct: bool) -> None:
    """Status, text and content type are RudderStack's, and the events are those of the source."""
    method, path, headers, body, status, text, properties = EXCHANGES[name]
    headers = headers if direct else {**headers, "Origin": "https://vendor.example"}

    answer = plane.ingest(method, path, headers=headers, body=body)

    assert (answer.status, answer.body.decode()) == (status, text)
    if text:
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert [event.event.get("properties", {}) for event in plane.received] == properties
    assert len(plane.rejected) == (status in (400, 401, 404, 413))


def test_every_webhook_is_recorded_with_its_answer(plane: DataPlane) -> None:
    """A refused webhook is lost in production; here it can be read, with the reason."""
    plane.send_webhook("hook", {"order": 7}, headers={"X-Trace": "t1"})
    plane.send_webhook("hook", "{")

    taken, refused = plane.webhooks
    assert (taken.source, taken.type, taken.status, taken.answer, taken.count) == ("hook", "webhook", 200, "ok", 1)
    assert taken.request["body"] == '{"order":7}'
    assert taken.request["headers"]["X-Trace"] == ["t1"]
    assert [event["properties"] for event in taken.events] == [{"order": 7}]
    assert (refused.status, refused.refused, refused.events) == (400, True, [])
    assert refused.answer == "Malformed JSON in request body"
    assert [item["answer"] for item in plane.ingest("GET", "/inspect/webhooks").json["items"]] == ["ok", refused.answer]


def test_the_request_is_what_the_source_of_rudderstack_gets(plane: DataPlane) -> None:
    """Header names in Go's spelling, each with a list; without the address of this server and our own headers."""
    plane.ingest("POST", "/v1/webhook?writeKey=full-key&x=1&x=2&y=3", headers={"x-trace": "abc", **JSON}, body=ORDER)

    context = plane.received[0].event["context"]
    assert context["headers"]["X-Trace"] == "abc"
    assert context["query_parameters"] == {"writeKey": "full-key", "x": ["1", "2"], "y": "3"}
    assert (context["method"], context["proto"]) == ("POST", "HTTP/1.1")
    assert not {"Host", "X-Svctoolkit-Run"} & context["headers"].keys()


def test_events_of_webhooks_go_to_destinations(plane: DataPlane) -> None:
    """A webhook's events are delivered like those of SDKs, with ids and times of the gateway."""
    plane.ingest("POST", PATH, headers={"X-Forwarded-For": "192.0.2.30"}, body=ORDER)
    plane.drain()

    payload = plane.delivered[0].payload["body"]["JSON"]
    assert payload["properties"] == {"order": 7}
    assert payload["request_ip"] == "192.0.2.30"
    assert payload["messageId"]
    assert payload["receivedAt"] == "2026-03-01T12:00:00.000Z"


def test_a_run_has_its_own_webhooks(plane: DataPlane) -> None:
    """Records of one test are not mixed with those of another."""
    plane.send_webhook("hook", {"order": 1}, run="a")
    plane.send_webhook("hook", {"order": 2}, run="b")

    assert [webhook.request["body"] for webhook in plane.of_run("b").webhooks] == ['{"order":2}']
    plane.reset("a")
    assert len(plane.webhooks) == 1


def test_webhooks_are_on_disk_before_the_answer(tmp_path: Path) -> None:
    """After the answer, the webhook, its events and what the source remembers survive the end of the process."""
    file = tmp_path / "plane.db"
    with DataPlane(workspace(), store=file) as plane:
        assert plane.send_webhook("hook", {"order": 7}).status == 200
        plane.memory("hook")["cart"] = {"anonymousId": "a1"}
    with DataPlane(workspace(), store=file, listen=False) as plane:
        plane.send_webhook("hook", {"order": 8})
        plane.drain()

        assert [webhook.events[0]["properties"] for webhook in plane.webhooks] == [{"order": 7}, {"order": 8}]
        assert len(plane.delivered) == 2
        assert dict(plane.memory("hook")) == {"cart": {"anonymousId": "a1"}}


def test_a_memory_expires_on_the_clock_of_the_data_plane() -> None:
    """Tests set what is remembered, read it, and let it expire."""
    with DataPlane(workspace(), listen=False) as plane:
        memory = plane.memory("hook")
        memory.remember("cart", {"anonymousId": "a1"}, timedelta(hours=1))
        memory["visitor"] = {"userId": "u1"}
        plane.advance(3599)
        assert memory["cart"] == {"anonymousId": "a1"}
        plane.advance(1)
        assert dict(memory) == {"visitor": {"userId": "u1"}}
        memory["visitor"]["userId"] = "another"
        assert memory["visitor"] == {"userId": "u1"}, "reading returns a copy"

        del memory["visitor"]
        plane.memory("hook", run="r1")["x"] = {"y": "z"}
        assert len(memory) == 0
        plane.reset("r1")
        assert len(plane.memory("hook", run="r1")) == 0


HOSTILE: dict[str, bytes] = {
    "not JSON": b"<xml/>",
    "a byte that is not UTF-8": b'{"a": \xff}',
    "the escape of a NUL": rb'{"a": "x\u0000y"}',
    "nested deeply": b'{"a":' + b"[" * 200_000,
    "nested deeply and closed": b"[" * 5_000 + b"]" * 5_000,
    "many digits": b'{"a": ' + b"9" * 100_000 + b"}",
    "too large": b'{"a": "' + b"x" * 4_200_000 + b'"}',
}


@pytest.mark.parametrize("name", [*HOSTILE])
def test_bad_bodies_are_refused_and_recorded(plane: DataPlane, name: str) -> None:
    """A clear answer, never a 500, and the beginning of the body is kept."""
    answer = plane.ingest("POST", PATH, body=HOSTILE[name])

    assert answer.status in (400, 413), answer.body
    assert len(plane.received) == 0
    assert plane.webhooks[0].answer == answer.body.decode().strip()
    assert str(plane.webhooks[0].request["body"])[:2] == HOSTILE[name][:2].decode("utf-8", "replace")


@pytest.mark.parametrize("body", [b'{"a": "x\x00y"}', b'{"a": "\xff"}', b'{"a": "\\ud800"}', b'{"a": 1e999}'])
def test_odd_bodies_become_events(plane: DataPlane, body: bytes) -> None:
    """NUL characters are removed and other encodings replaced, as by the gateway."""
    assert plane.ingest("POST", PATH, body=body).status == 200
    plane.drain()

    assert [fate.status for fate in plane.fates] == ["delivered"]


def test_a_compressed_bomb_is_refused(plane: DataPlane) -> None:
    """The body is not decompressed beyond the limit."""
    bomb = gzip.compress(b'{"a": "' + b" " * 50_000_000 + b'"}')

    answer: Answer = plane.ingest("POST", PATH, headers={"Content-Encoding": "gzip"}, body=bomb)

    assert (answer.status, answer.body) == (413, b"request size exceeds max limit\n")


def test_openapi_documents_webhooks(plane: DataPlane) -> None:
    """Both methods, with the parameters of the query."""
    path = plane.ingest("GET", "/openapi.json").json["paths"]["/v1/webhook"]

    assert path.keys() == {"post", "get"}
    assert [parameter["name"] for parameter in path["post"]["parameters"]] == ["writeKey", "topic"]


def test_the_display_of_webhooks(plane: DataPlane) -> None:
    """A table of all, and a page of one with its events."""
    plane.send_webhook("hook", {"order": 7})
    plane.send_webhook("hook", "{")

    assert "Malformed JSON" in plane.webhooks._repr_mimebundle_()["text/html"]
    assert "webhook_source_event" in plane.webhooks[0]._repr_mimebundle_()["text/html"]
    assert [*plane.webhooks.frame()["status"]] == [200, 400]


def test_the_page_shows_webhooks_with_their_lineage(plane: DataPlane) -> None:
    """Request and events, and on demand which member of the raw webhook each field of a payload comes from."""
    plane.send_webhook("mail", BRAZE)
    plane.send_webhook("hook", "{")
    plane.drain()
    taken, refused = plane.webhooks
    headers = {"Authorization": f"Bearer {plane.token}"}

    def page(path: str) -> str:
        answer = plane.ingest("GET", f"/console/webhooks/{path}", headers=headers)
        assert answer.status == 200, answer.body
        return answer.body.decode()

    assert f'data-lineage="console/webhooks/{taken.seq}/lineage/crm"' in page(str(taken.seq))
    assert "body.events.1.user.external_user_id" in page(f"{taken.seq}/lineage/crm")
    assert "Malformed JSON" in page(str(refused.seq))
    assert plane.ingest("GET", "/console/webhooks/999", headers=headers).status == 404
    assert "Sources</a>" in plane.ingest("GET", "/", headers={**headers, "Accept": "text/html"}).body.decode()


def test_carts_of_shopify_have_one_visitor_for_an_hour() -> None:
    """The identity that the storefront sends is remembered for the cart's webhooks, until it expires."""
    shop = Workspace("shop")
    shop.source("shop", type="Shopify", destinations=[])
    seen = {"event": "rudderIdentifier", "anonymousId": "visitor", "cartToken": "cart", "cart": {"line_items": []}}
    checkout = {"id": 1, "cart_token": "cart", "line_items": [{"id": 1}]}
    with DataPlane(shop, listen=False) as plane:
        assert plane.send_webhook("shop", seen).body == b"OK"
        plane.send_webhook("shop", checkout, topic="checkouts_create")
        plane.advance(3601)
        plane.send_webhook("shop", checkout, topic="checkouts_create")

        first, second = [event.event["anonymousId"] for event in plane.received]
        assert first == "visitor"
        assert second not in ("", "visitor")
        assert len(plane.memory("shop")) == 0
