"""What comes from events and code is data wherever it is shown, and ambiguous requests are refused."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Pipeline, Workspace
from svctoolkit.errors import TransformationError
from svctoolkit.events import track
from svctoolkit.transformations import FetchResponse, Limits, load
from svctoolkit.transformations._frames import Answer, decode, event
from svctoolkit.warehouse import Warehouse
from svctoolkit.warehouse.dbt import export

EVIL = "a\x1b[31mred\x07\x9b1m\r::error::x"


@pytest.fixture(scope="module")
def plane() -> Iterator[DataPlane]:
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    workspace.source("web", destinations=["hook"])
    with DataPlane(workspace) as running:
        yield running


def _exchange(plane: DataPlane, request: bytes) -> bytes:
    """The bytes that a server answers to a request until it closes the connection."""
    with socket.create_connection(("127.0.0.1", plane.port), timeout=60) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_printing_a_result_does_not_control_the_terminal() -> None:
    """Errors of code and values of events are printed with escapes: no ESC, BEL, C1 or carriage return."""
    code = f"export function transformEvent(event) {{ throw new Error({json.dumps(EVIL)}); }}"
    hook = {"type": "WEBHOOK", "config": {"webhookUrl": "https://hook.example"}, "transformation": "bad"}
    transformation = {"language": "javascript", "code": code}
    file = {"transformations": {"bad": transformation}, "destinations": {"hook": hook}}
    workspace = Workspace.loads(json.dumps(file))
    result = Pipeline(workspace).test_destination("hook", track("Order", user_id="u"))

    for text in (repr(result), str(result), repr(result.failures()), result.failures().display_text()):
        assert "red" in text
        assert all(character.isprintable() or character == "\n" for character in text), repr(text)
        assert not any(line.lstrip().startswith("::") for line in text.splitlines())


@pytest.mark.parametrize("target", ["CONNECT host:22", "OPTIONS *", "GET host"])
def test_a_target_without_a_path_is_a_bad_request(plane: DataPlane, target: str) -> None:
    """A request that is not for a path gets 400, is counted, and closes the connection."""
    answer = _exchange(plane, f"{target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"must be a path" in answer
    assert b'path="other",status="400"' in httpx.get(f"{plane.url}/metrics", timeout=60).content


def test_an_ambiguous_length_is_a_bad_request(plane: DataPlane) -> None:
    """`Content-Length` with `Transfer-Encoding` gets 400 and nothing after it on the connection is answered."""
    answer = _exchange(
        plane,
        b"POST /v1/track HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"both Content-Length and Transfer-Encoding" in answer


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/inspect", "/metrics", "/nowhere"])
def test_answers_are_not_sniffed_or_loaded_by_other_pages(plane: DataPlane, path: str) -> None:
    """Every answer has `nosniff` and `Cross-Origin-Resource-Policy`; pages may not be framed."""
    headers = httpx.get(plane.url + path, headers={"Accept": "text/html"}, timeout=60).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    if headers.get("content-type", "").startswith("text/html"):
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_the_pixel_may_be_loaded_by_every_page(plane: DataPlane) -> None:
    """The routes of client SDKs stay open to other sites."""
    answer = httpx.get(f"{plane.url}/pixel/v1/track?writeKey={plane.write_key('web')}&event=x&userId=u", timeout=60)

    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 401),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 401),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({}, 200),
    ],
)
def test_other_pages_cannot_inspect(plane: DataPlane, headers: dict[str, str], status: int) -> None:
    """Without credentials, `/inspect` is refused to what the browser marks as another page's request."""
    assert httpx.get(f"{plane.url}/inspect/arrivals", headers=headers, timeout=60).status_code == status

    with_token = {**headers, "Authorization": f"Bearer {plane.token}"}
    assert httpx.get(f"{plane.url}/inspect/arrivals", headers=with_token, timeout=60).status_code == 200


def test_a_number_that_is_too_large_stays_an_error() -> None:
    """A worker's frame with 1e400 is unreadable, also next to half a character; so is a negative count of lines."""
    limits = Limits()

    for frame in (b'{"results":[{"events":[],"dropped":-5}]}', b'{"hits":[[1e400]],"x":"\\ud800"}'):
        with pytest.raises(TransformationError, match="an unreadable answer"):
            decode(frame, Answer, limits)
    answer = decode(b'{"results":[{"events":[{"a":1e400}]}]}', Answer, limits)
    assert answer.results
    assert answer.results[0].events
    with pytest.raises(TransformationError, match="an unreadable answer"):
        event(answer.results[0].events[0], limits)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"Host": "internal"}, "the header Host cannot be set"),
        ({"X-Name": "Жанна"}, "the header X-Name contains U+0416 at position 0, which HTTP forbids"),
        ({"X-Name": "a\r\nHost: b"}, "the header X-Name contains U+000D at position 1"),
        ({"a b": "x"}, "'a b' is not a valid header name"),
    ],
)
def test_code_cannot_write_requests_of_its_own(headers: dict[str, str], message: str) -> None:
    """`fetchV2` refuses headers that would lead elsewhere or that HTTP cannot carry, and says which."""
    assert message in str(_fetch(headers)["error"])


def test_lengths_of_requests_are_computed() -> None:
    """`Content-Length` and `Transfer-Encoding` of user code are dropped: the body decides."""
    sent = _fetch({"Content-Length": "3", "transfer-encoding": "chunked", "X-Name": "é"})["headers"]

    assert sent == {"X-Name": "é"}


def _fetch(headers: dict[str, str]) -> dict[str, Any]:
    """What `fetchV2` with these headers ends in: the headers that were sent, or the error."""
    seen: dict[str, Any] = {}

    def answer(request: Any) -> FetchResponse:
        seen["headers"] = dict(request.headers)
        return FetchResponse(200, {}, b"{}")

    code = f"""export async function transformEvent(event) {{
        const headers = {json.dumps(headers)};
        await fetchV2("https://api.example/x", {{method: "POST", body: "abc", headers}});
        return event;
    }}"""
    (output,) = load(code, "javascript", fetch=answer).run([{"type": "track"}], [{}])
    return {"error": output.error, **seen}


def test_dbt_files_hold_no_templates(tmp_path: Path) -> None:
    """Names of an event's fields cannot run Jinja in the files of `warehouse export`: they render to themselves."""
    jinja2 = pytest.importorskip("jinja2")
    yaml = pytest.importorskip("yaml")
    name = '{{ env_var("HOME") }}{% raw %}{# x #}{{{'
    warehouse = Warehouse("POSTGRES")
    warehouse.load([{**track("Order", user_id="u", properties={name: "x"}), "messageId": "m1"}])
    export({"wh": warehouse}, tmp_path)

    sources = yaml.safe_load((tmp_path / "models" / "sources.yml").read_text())
    texts = [c.get("description", "") for s in sources["sources"] for t in s["tables"] for c in t["columns"]]
    (description,) = [text for text in texts if "env_var" in text]
    assert jinja2.Environment().from_string(description).render() == f"from properties.{name}"
