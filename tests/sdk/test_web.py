"""Web applications: a separate identity per request, and automatic page events."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from wsgiref.util import setup_testing_defaults

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route

from svctoolkit.errors import ConfigError
from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.middleware import TrackingASGI, TrackingWSGI
from svctoolkit.sdk.web.request import WebRequest, describe, proxies
from svctoolkit.sdk.web.request import page as page_of

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
        async with httpx.AsyncClient(
            transport=transport, base_url=self._base_url, cookies=self._cookies, timeout=60
        ) as web:
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
            barrier.wait(60)
        client.track("Logged In", {"user": user})
        return HTMLResponse("<p>")

    async def deep(request: Request) -> JSONResponse:
        await run_in_threadpool(client.track, "in a thread")
        await asyncio.create_task(asyncio.to_thread(client.track, "in a task"))
        return JSONResponse({})

    return Starlette(routes=[Route("/page", page), Route("/data", data), Route("/login", login), Route("/deep", deep)])


def test_asgi_records_pages(make, gateway: Gateway):
    """A GET with an HTML answer is a page with path, url, search and referrer; JSON and errors are not recorded."""
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


def test_asgi_recognizes_visitors(make, gateway: Gateway):
    """A new visitor gets a cookie; the browser's next request has the same anonymous ID, another browser's does not."""
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


def test_parallel_requests_are_isolated(make, gateway: Gateway):
    """Four logins in parallel: every event has its own user; the installation's identity is unchanged."""
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


def test_the_identity_is_kept_in_threads_and_tasks(make, gateway: Gateway):
    """Work that a request passes to threads and tasks is attributed to its visitor."""
    client = make()
    web = Browser(TrackingASGI(_application(client), client), cookies={"svc_anonymous_id": "visitor-1"})
    web.get("/deep")
    assert client.flush()

    assert {event["anonymousId"] for event in gateway.events} == {"visitor-1"}
    assert sorted(gateway.names) == ["in a task", "in a thread"]


def test_calls_in_a_request_change_only_its_visitor(make, gateway: Gateway):
    """Inside a scope, `opt_out`, `reset` and `put_anonymous_id` affect no other visitor."""
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


def test_other_asgi_traffic_passes_unchanged(make):
    """Lifespan and websockets reach the application."""
    seen = []

    async def application(scope, receive, send):
        seen.append(scope)

    scope = {"type": "lifespan"}
    asyncio.run(TrackingASGI(application, make())(scope, None, None))

    assert seen == [scope]


@pytest.mark.parametrize(
    "cookie", ["svc_anonymous_id=", "svc_anonymous_id=%00%ff", "=;=;", "svc_anonymous_id=" + "x" * 9999, "\u00ff\u00fe"]
)
def test_odd_cookies_do_no_harm(make, gateway: Gateway, cookie: str):
    """Whatever is in the cookie, the page is served and recorded."""
    client = make()
    answer = Browser(TrackingASGI(_application(client), client)).get(
        "/page", headers={b"cookie": cookie.encode("latin-1")}
    )
    assert client.flush()

    assert answer.status_code == 200
    assert len(gateway.events) == 1
    assert len(gateway.events[0]["anonymousId"]) <= 200


BROWSER = {
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
    "accept-language": "en;q=0.5, de-AT, *;q=0.1",
    "referer": "https://search.example/?q=shop",
    "x-forwarded-for": "6.6.6.6, 203.0.113.9, 10.0.0.2",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "shop.example",
    "host": "internal:8000",
}
QUERY = "utm_source=mail&utm_campaign=spring%20sale&utm_content=b&q=1"


def _wsgi(app, method: str = "GET", path: str = "/", query: str = "", headers: dict[str, str] | None = None):
    """The answer of a WSGI application: status, headers, body."""
    answer: list = []
    environ: dict = {}
    setup_testing_defaults(environ)
    environ |= {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query, "REMOTE_ADDR": "10.0.0.1"}
    environ |= {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in (headers or {}).items()}
    body = app(environ, lambda status, listed, *_: answer.extend([status, dict(listed)]))
    try:
        return *answer, b"".join(body)
    finally:
        if hasattr(body, "close"):
            body.close()


def _asgi_get(app, path: str, headers: dict[str, str]) -> httpx.Response:
    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(app, client=("10.0.0.1", 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver", timeout=60) as browser:
            return await browser.get(path, headers=headers)

    return asyncio.run(get())


def _is_described(event: dict) -> bool:
    context = event["context"]
    assert context["ip"] == "203.0.113.9"
    assert context["userAgent"] == BROWSER["user-agent"]
    assert context["locale"] == "de-AT"
    assert context["page"]["url"] == f"https://shop.example/shop?{QUERY}"
    assert context["page"]["referrer"] == "https://search.example/?q=shop"
    assert context["campaign"] == {"source": "mail", "name": "spring sale", "content": "b"}
    assert not {"device", "os", "timezone"} & context.keys()
    return True


def _fastapi(client: ServiceClient):
    from fastapi import BackgroundTasks, FastAPI
    from fastapi.responses import HTMLResponse

    app = FastAPI()

    async def shop(tasks) -> str:
        client.track("async")
        tasks.add_task(client.track, "background")
        return "<p>"

    shop.__annotations__ = {"tasks": BackgroundTasks}  # FastAPI could not resolve it as a text, as annotations are here
    app.get("/shop", response_class=HTMLResponse)(shop)

    @app.get("/sync", response_class=HTMLResponse)
    def sync() -> str:
        client.track("sync")
        return "<p>"

    app.add_middleware(TrackingASGI, client=client, trusted_proxies=["10.0.0.0/8"], record="nothing")
    return app


def test_fastapi_requests_have_their_visitor(make, gateway: Gateway):
    """In async and sync views and background tasks, every event has the visitor and describes the request."""
    pytest.importorskip("fastapi")
    client = make()
    app = _fastapi(client)
    headers = {**BROWSER, "cookie": "svc_anonymous_id=visitor-1"}
    assert _asgi_get(app, f"/shop?{QUERY}", headers).status_code == 200
    assert _asgi_get(app, "/sync", {"cookie": "svc_anonymous_id=visitor-2"}).status_code == 200
    assert client.flush()

    visitors = {event["event"]: event["anonymousId"] for event in gateway.events}
    assert visitors == {"async": "visitor-1", "background": "visitor-1", "sync": "visitor-2"}
    assert all(_is_described(event) for event in gateway.events[:2])


def test_flask_requests_have_their_visitor(make, gateway: Gateway):
    """Also while an answer is streamed; the page is recorded."""
    pytest.importorskip("flask")
    from flask import Flask, Response, stream_with_context

    client = make()
    app = Flask("shop")

    @app.get("/shop")
    def shop() -> Response:
        client.identify("u-1", {"plan": "pro"})

        def stream():
            client.track("streamed")
            yield "<p>"

        return Response(stream_with_context(stream()), content_type="text/html")

    app.wsgi_app = TrackingWSGI(app.wsgi_app, client, trusted_proxies=["10.0.0.1", "10.0.0.2"])  # type: ignore[method-assign]
    status, headers, body = _wsgi(app, path="/shop", query=QUERY, headers=BROWSER)
    assert client.flush()

    identify, page, streamed = gateway.events
    assert (status, body) == ("200 OK", b"<p>")
    assert "svc_anonymous_id=" in headers["Set-Cookie"]
    assert (identify["type"], page["type"], streamed["event"]) == ("identify", "page", "streamed")
    assert {event["userId"] for event in gateway.events} == {"u-1"}
    assert page["properties"]["url"] == f"https://shop.example/shop?{QUERY}"
    assert all(_is_described(event) for event in gateway.events)


DJANGO = """
import asyncio, json, sys
import django
from django.conf import settings
from django.http import HttpResponse
from django.urls import path
from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.middleware import TrackingASGI, TrackingWSGI
sys.path.insert(0, sys.argv[2])
from tests.sdk.test_web import BROWSER, QUERY, _asgi_get, _wsgi

client = ServiceClient(data_plane_url=sys.argv[1], track_lifecycle_events=False)
client.initialize("2RdemoWriteKey")

def shop(request):
    client.track("sync view")
    return HttpResponse("<p>")

async def later(request):
    client.track("async view")
    return HttpResponse("<p>")

urlpatterns = [path("shop", shop), path("later", later)]
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="x", USE_X_FORWARDED_HOST=True)
django.setup()
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
wsgi = TrackingWSGI(get_wsgi_application(), client, trusted_proxies=["10.0.0.0/8"])
status, headers, body = _wsgi(wsgi, path="/shop", query=QUERY, headers={**BROWSER, "cookie": "svc_anonymous_id=v-1"})
assert status == "200 OK", status
asgi = TrackingASGI(get_asgi_application(), client, trusted_proxies=["10.0.0.0/8"])
for view in ("shop", "later"):
    answer = _asgi_get(asgi, f"/{view}?{QUERY}", {**BROWSER, "cookie": f"svc_anonymous_id=v-{view}"})
    assert answer.status_code == 200, answer.text
client.shutdown()
"""


@pytest.mark.slow
def test_django_requests_have_their_visitor(gateway: Gateway):
    """Under WSGI and ASGI, in sync and async views."""
    pytest.importorskip("django")
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DJANGO, gateway.url, root],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr

    tracked = [(event["event"], event["anonymousId"]) for event in gateway.events if event["type"] == "track"]
    assert tracked == [("sync view", "v-1"), ("sync view", "v-shop"), ("async view", "v-later")]
    pages = [event for event in gateway.events if event["type"] == "page"]
    assert [event["name"] for event in pages] == ["/shop", "/shop", "/later"]
    assert all(
        _is_described(event) for event in gateway.events if event.get("name") != "/later" and "event" not in event
    )


@pytest.mark.parametrize(
    ("forwarded", "peer", "trusted", "address"),
    [
        ("6.6.6.6", "203.0.113.9", (), "203.0.113.9"),
        ("6.6.6.6, 203.0.113.9", "10.0.0.1", ("10.0.0.0/8",), "203.0.113.9"),
        ("6.6.6.6, 203.0.113.9, 10.1.1.1", "10.0.0.1", ("10.0.0.0/8",), "203.0.113.9"),
        ("10.1.1.1", "10.0.0.1", ("10.0.0.0/8",), "10.1.1.1"),
        ("nonsense, [2001:db8::1]:443", "::1", ("::1",), "2001:db8::1"),
        ("203.0.113.9:5555", "127.0.0.1", ("127.0.0.1",), "203.0.113.9"),
        ("nonsense", "127.0.0.1", ("127.0.0.1",), "127.0.0.1"),
        ("", "testclient", ("127.0.0.1",), ""),
        ("203.0.113.9", "::ffff:10.0.0.1", ("10.0.0.0/8",), "203.0.113.9"),
        ("203.0.113.9", "", ("127.0.0.1",), ""),
        ("203.0.113.9", "", ("unix",), "203.0.113.9"),
        ("6.6.6.6, 203.0.113.9, 10.1.1.1", "unix", ("10.0.0.0/8", "unix"), "203.0.113.9"),
        ("203.0.113.9", "198.51.100.1", ("unix",), "198.51.100.1"),
        ("203.0.113.9, unix", "", ("unix",), ""),
        ("", "", ("unix",), ""),
    ],
)
def test_only_trusted_proxies_set_the_address(forwarded: str, peer: str, trusted: tuple, address: str):
    """The visitor's address is the last one that does not belong to a trusted proxy.

    Headers of the visitor do not count.
    """
    request = WebRequest("GET", "http", peer, "/", "", {"x-forwarded-for": forwarded})

    assert describe(request, proxies(trusted)).get("ip", "") == address


@given(st.dictionaries(st.sampled_from([*BROWSER, "x-other"]), st.text(max_size=50)), st.text(max_size=50))
def test_any_header_gives_a_valid_description(headers: dict[str, str], query: str):
    """Whatever a visitor sends, the description is JSON."""
    request = WebRequest("GET", "http", "127.0.0.1", "/ü", query, headers)

    assert json.loads(json.dumps(describe(request, proxies(["127.0.0.1"]))))


def test_a_proxy_on_a_unix_socket_may_set_the_url():
    """Host and scheme that the visitor used, if such proxies are trusted; otherwise those of the request."""
    headers = {"host": "inside", "x-forwarded-host": "shop.example", "x-forwarded-proto": "https"}
    request = WebRequest("GET", "http", "", "/p", "", headers)

    assert page_of(request, proxies(["unix"]))["url"] == "https://shop.example/p"
    assert page_of(request, proxies([]))["url"] == "http://inside/p"


@pytest.mark.parametrize(("user", "id"), [(7, "7"), (None, None), ("  ", None), (0, "0"), (" u-1 ", "u-1")])
def test_a_users_id_may_be_a_number(make, gateway: Gateway, user: object, id: str | None):
    """A database key becomes its text; a blank one means no user."""
    client = make()
    app = TrackingASGI(_application(client), client, user_id=lambda _: user)
    assert _asgi_get(app, "/page", {}).status_code == 200
    assert client.flush()

    assert {event.get("userId") for event in gateway.events} == {id}


def test_a_failing_user_id_breaks_no_request(make, gateway: Gateway):
    """The request is answered, its visitor has no user ID, and `on_error` gets the exception."""
    errors: list[Exception] = []
    client = make(on_error=errors.append)

    def user_id(_: object) -> str:
        raise KeyError("session")

    app = TrackingASGI(_application(client), client, user_id=user_id)
    assert _asgi_get(app, "/page", {}).status_code == 200
    assert client.flush()

    assert {event.get("userId") for event in gateway.events} == {None}
    assert {str(error) for error in errors} == {"user_id failed: KeyError: 'session'"}


def test_an_invalid_proxy_is_rejected(make):
    """When the middleware is created, not at the first request."""
    with pytest.raises(ConfigError, match="trusted_proxies: 'ten' does not appear to be an IPv4 or IPv6 network"):
        TrackingASGI(_application(make()), make(), trusted_proxies=["ten"])


def test_the_end_of_the_lifespan_sends(make, gateway: Gateway):
    """Servers like uvicorn end their processes with a signal: nothing runs at the exit of the process."""
    client = make()

    async def application(scope, receive, send):
        client.track("Last")
        await send({"type": "lifespan.shutdown.complete"})

    seen = []

    async def send(message):
        seen.append((message["type"], gateway.names))

    asyncio.run(TrackingASGI(application, client)({"type": "lifespan"}, None, send))

    assert seen == [("lifespan.shutdown.complete", ["Last"])]
