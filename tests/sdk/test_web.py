"""Web applications: an identity per request, and pages recorded by themselves."""

from __future__ import annotations

import asyncio
import threading
from wsgiref.util import setup_testing_defaults

import httpx
import pytest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.middleware import TrackingASGI, TrackingWSGI

from .gateway import Gateway


class Browser:
    """Requests to an ASGI application, with cookies."""

    def __init__(self, application, base_url: str = "http://testserver", cookies: dict[str, str] | None = None) -> None:
        self._application, self._base_url, self._cookies = application, base_url, httpx.Cookies(cookies)

    def get(self, path: str, **settings) -> httpx.Response:
        return asyncio.run(self._send("GET", path, **settings))

    def post(self, path: str) -> httpx.Response:
        return asyncio.run(self._send("POST", path))

    async def _send(self, method: str, path: str, **settings) -> httpx.Response:
        transport = httpx.ASGITransport(self._application)
        async with httpx.AsyncClient(transport=transport, base_url=self._base_url, cookies=self._cookies) as web:
            answer = await web.request(method, path, **settings)
            self._cookies = web.cookies
            return answer


def _application(client: ServiceClient, barrier: threading.Barrier | None = None) -> Starlette:
    async def page(request: Request) -> HTMLResponse:
        return HTMLResponse("<p>")

    async def data(request: Request) -> JSONResponse:
        return JSONResponse({})

    def login(request: Request) -> HTMLResponse:
        user = request.query_params["user"]
        client.identify(user, {"name": user})
        if barrier is not None:
            barrier.wait(10)
        client.track("Logged In", {"user": user})
        return HTMLResponse("<p>")

    async def deep(request: Request) -> JSONResponse:
        await run_in_threadpool(client.track, "in a thread")
        await asyncio.create_task(asyncio.to_thread(client.track, "in a task"))
        return JSONResponse({})

    return Starlette(routes=[Route("/page", page), Route("/data", data), Route("/login", login), Route("/deep", deep)])


def test_asgi_records_pages(make, gateway: Gateway):
    """A GET with an HTML answer is a page with path, url, search and referrer; JSON and errors are none."""
    client = make()
    web = Browser(TrackingASGI(_application(client), client))
    web.get("/page?q=1", headers={"referer": "https://from.example/"})
    web.get("/data")
    web.get("/missing")
    web.post("/page")
    assert client.flush()

    (event,) = gateway.events
    assert (event["type"], event["name"]) == ("page", "/page")
    assert event["properties"] == {
        "path": "/page",
        "referrer": "https://from.example/",
        "search": "?q=1",
        "url": "http://testserver/page?q=1",
    }


def test_asgi_knows_its_visitors(make, gateway: Gateway):
    """A new visitor gets a cookie; that browser's next request has the same anonymous ID, another's not."""
    client = make()
    application = TrackingASGI(_application(client), client, record="screen", user_id=lambda scope: "u-7")
    web = Browser(application, base_url="https://testserver")
    answer = web.get("/page")
    again = web.get("/page")
    Browser(application).get("/page")
    assert client.flush()

    first, second, other = gateway.events
    assert "HttpOnly; SameSite=Lax; Secure" in answer.headers["set-cookie"]
    assert "set-cookie" not in again.headers
    assert first["anonymousId"] == second["anonymousId"] != other["anonymousId"]
    assert (first["type"], first["userId"], first["properties"]["name"]) == ("screen", "u-7", "/page")
    assert "sessionId" not in first["context"]


def test_requests_do_not_see_each_other(make, gateway: Gateway):
    """Four logins at once: every event carries its own user; the installation's identity is untouched."""
    client = make()
    web = TrackingASGI(_application(client, threading.Barrier(4)), client, record="nothing")
    threads = [
        threading.Thread(target=lambda n=n: Browser(web).get(f"/login?user=u{n}"), daemon=True) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.track("outside")
    assert client.flush()

    tracked = [event for event in gateway.events if event.get("event") == "Logged In"]
    assert {event["userId"] for event in tracked} == {"u0", "u1", "u2", "u3"}
    assert all(
        event["userId"] == event["properties"]["user"] == event["context"]["traits"]["name"] for event in tracked
    )
    assert len({event["anonymousId"] for event in gateway.events}) == 5
    assert "userId" not in gateway.events[-1]


def test_identity_follows_into_threads_and_tasks(make, gateway: Gateway):
    """Work that a request hands to threads and tasks is still that visitor's."""
    client = make()
    web = Browser(TrackingASGI(_application(client), client), cookies={"svc_anonymous_id": "visitor-1"})
    web.get("/deep")
    assert client.flush()

    assert {event["anonymousId"] for event in gateway.events} == {"visitor-1"}
    assert sorted(gateway.names) == ["in a task", "in a thread"]


def test_opting_out_in_a_request_is_that_visitors(make, gateway: Gateway):
    """Inside a scope `opt_out`, `reset` and `put_anonymous_id` concern only it."""
    client = make()
    with client.scope(anonymous_id="a", user_id="u"):
        client.track("in")
        client.put_anonymous_id("b")
        client.reset()
        client.track("after reset")
        client.opt_out(True)
        client.track("out")
    client.track("outside")
    assert client.flush()

    assert gateway.names == ["in", "after reset", "outside"]
    assert [(e["anonymousId"], e.get("userId")) for e in gateway.events[:2]] == [("a", "u"), ("b", None)]
    assert gateway.events[2]["anonymousId"] not in ("a", "b")


def test_wsgi_records_pages_and_keeps_identity(make, gateway: Gateway):
    """The same for WSGI, also while the body is streamed; `close` reaches the application's body."""
    client = make()
    closed = []

    class Body:
        def __iter__(self):
            client.track("while streaming")
            yield b"<p>"

        def close(self):
            closed.append(True)

    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
        client.track("in the application")
        return Body()

    environ = {"HTTP_COOKIE": "x=1; svc_anonymous_id=vis%20itor", "PATH_INFO": "/p\u00c3\u00a4", "QUERY_STRING": "a=b"}
    setup_testing_defaults(environ)
    answers = []
    body = TrackingWSGI(application, client)(environ, lambda *a: answers.append(a))
    client.track("outside")
    assert b"".join(body) == b"<p>"
    body.close()
    assert client.flush()

    page, inside, outside, streaming = gateway.events
    assert (page["name"], page["properties"]["url"]) == ("/pä", "http://127.0.0.1/p%C3%A4?a=b")
    assert page["anonymousId"] == inside["anonymousId"] == streaming["anonymousId"] == "vis itor"
    assert outside["anonymousId"] != "vis itor"
    assert closed == [True]
    assert [name for name, _ in answers[0][1]] == ["Content-Type"]


def test_other_asgi_traffic_passes(make):
    """Lifespan and websockets reach the application untouched."""
    seen = []

    async def application(scope, receive, send):
        seen.append(scope)

    scope = {"type": "lifespan"}
    asyncio.run(TrackingASGI(application, make())(scope, None, None))

    assert seen == [scope]


@pytest.mark.parametrize(
    "cookie", ["svc_anonymous_id=", "svc_anonymous_id=%00%ff", "=;=;", "svc_anonymous_id=" + "x" * 9999, "\u00ff\u00fe"]
)
def test_odd_cookies_break_nothing(make, gateway: Gateway, cookie: str):
    """Whatever stands in the cookie, the page is served and recorded."""
    client = make()
    answer = Browser(TrackingASGI(_application(client), client)).get(
        "/page", headers={b"cookie": cookie.encode("latin-1")}
    )
    assert client.flush()

    assert answer.status_code == 200
    assert len(gateway.events) == 1
    assert len(gateway.events[0]["anonymousId"]) <= 200
