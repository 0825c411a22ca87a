"""Frameworks that know the user: events in a request have the user who is logged in when they are recorded."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, BaseUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from svctoolkit.errors import ConfigError
from svctoolkit.sdk.middleware import TrackingASGI

from .gateway import KEY, Gateway, until

ROOT = Path(__file__).parents[2]
APPS = Path(__file__).parent / "apps"


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]), **more}


def test_django(gateway: Gateway, tmp_path: Path) -> None:
    """Sync and async views, streams, a login within a request; a second visitor is not mixed up with the first.

    A public page neither sets the cookie nor becomes uncacheable because of the question who is logged in.
    """
    pytest.importorskip("django")
    program = [sys.executable, "-W", "ignore", str(APPS / "django_shop.py"), gateway.url, str(tmp_path), KEY]
    result = subprocess.run(program, env=_environment(), capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr

    events = [(event.get("event") or event["name"], event.get("userId")) for event in gateway.events]
    assert events == [
        ("/public", None),
        ("Sync View", None),
        ("/shop", None),
        ("Login Begun", None),
        ("Logged In", "1"),
        ("/login", "1"),
        ("Sync View", "1"),
        ("/shop", "1"),
        ("Async View", "1"),
        ("/later", "1"),
        ("/stream", "1"),
        ("Sync Stream", "1"),
        ("Async View", "1"),
        ("/later", "1"),
        ("Sync View", "1"),
        ("/shop", "1"),
        ("/stream-later", "1"),
        ("Async Stream", "1"),
        ("Sync View", None),
        ("/shop", None),
        ("Outside", None),
    ]
    first = {event["anonymousId"] for event in gateway.events[1:-3]}
    others = {event["anonymousId"] for event in [gateway.events[0], *gateway.events[-3:]]}
    assert (len(first), len(others), first & others) == (1, 3, set())


def test_django_says_what_is_missing() -> None:
    """A missing client and a misspelt setting are reported at the start."""
    pytest.importorskip("django")
    program = """
import sys
from django.conf import settings
settings.configure(SVCTOOLKIT=eval(sys.argv[1]))
from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.frameworks.django import TrackingMiddleware
client = ServiceClient(enabled=False)
TrackingMiddleware(lambda request: None)
"""
    for given, problem in {
        "None": "settings.SVCTOOLKIT must name the client",
        "{'client': 'sys.path'}": 'SVCTOOLKIT["client"] must be a ServiceClient or its path, got list',
        "{'client': '__main__.client', 'coookie': 'v'}": "no setting 'coookie'. Did you mean 'cookie'",
    }.items():
        result = subprocess.run(
            [sys.executable, "-c", program, given], env=_environment(), capture_output=True, text=True, timeout=600
        )
        assert problem in result.stderr


def test_flask(make, gateway: Gateway) -> None:
    """With Flask-Login; also after Flask's request has ended. Consent is asked with Flask's request."""
    pytest.importorskip("flask_login")
    from .apps.flask_shop import create_app

    client = make(profile="server")
    browser = create_app(client).test_client()
    for path in ("/shop", "/login/u-1", "/shop", "/stream", "/shop?no=1", "/stream?no=1"):
        assert browser.get(path).data == b"<p>"
    assert client.flush()

    events = [(event.get("event") or event["name"], event.get("userId")) for event in gateway.events]
    assert events == [
        ("View", None),
        ("/shop", None),
        ("Login Begun", None),
        ("Logged In", "u-1"),
        ("/login/u-1", "u-1"),
        ("View", "u-1"),
        ("/shop", "u-1"),
        ("/stream", "u-1"),
        ("Stream", "u-1"),
    ]
    assert len({event["anonymousId"] for event in gateway.events}) == 1
    assert client.stats().dropped == {"no consent": 4}


def test_flask_needs_a_client() -> None:
    from svctoolkit.sdk.frameworks.flask import FlaskTracking

    with pytest.raises(ConfigError, match="FlaskTracking needs a client"):
        FlaskTracking()


def _get(app: object, path: str, **headers: str) -> httpx.Response:
    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://shop.example", timeout=60) as browser:
            return await browser.get(path, headers=headers)

    return asyncio.run(get())


def test_fastapi(make, gateway: Gateway) -> None:
    """The user that a dependency finds; in async and sync views, background tasks and pages."""
    pytest.importorskip("fastapi")
    from .apps.fastapi_shop import create_app

    client = make(profile="server")
    app = create_app(client)
    for path in ("/shop", "/sync"):
        assert _get(app, path, authorization="Bearer u-1").status_code == 200
    assert _get(app, "/shop", **{"sec-gpc": "1"}).status_code == 200
    assert client.flush()

    events = [(event.get("event") or event["name"], event.get("userId")) for event in gateway.events]
    assert events == [
        ("Async View", "u-1"),
        ("/shop", "u-1"),
        ("Background Task", "u-1"),
        ("Sync View", "u-1"),
        ("/sync", "u-1"),
        ("Async View", None),
        ("/shop", None),
        ("Background Task", None),
    ]
    marked = [event["context"].get("globalPrivacyControl", False) for event in gateway.events]
    assert marked == [False] * 5 + [True] * 3


class _User(BaseUser):
    is_authenticated = True
    identity = "u-7"


class _Person(BaseUser):
    is_authenticated = True
    display_name = "Ada"


class _Backend(AuthenticationBackend):
    async def authenticate(self, conn) -> tuple[AuthCredentials, BaseUser] | None:
        name = conn.headers.get("authorization")
        return (AuthCredentials(), _User() if name == "id" else _Person()) if name else None


def test_starlette(make, gateway: Gateway) -> None:
    """The user of `AuthenticationMiddleware`, although it runs within the tracking. A display name is not an ID."""
    client = make(profile="server")

    async def shop(request: Request) -> HTMLResponse:
        client.track("View")
        return HTMLResponse("<p>")

    middleware = [Middleware(TrackingASGI, client=client), Middleware(AuthenticationMiddleware, backend=_Backend())]
    app = Starlette(routes=[Route("/shop", shop)], middleware=middleware)
    for name in ("id", "name", ""):
        _get(app, "/shop", authorization=name)
    assert client.flush()

    assert [event.get("userId") for event in gateway.events] == ["u-7", "u-7", None, None, None, None]


def test_celery_tasks_in_the_callers_process(gateway: Gateway, tmp_path: Path) -> None:
    """`task_always_eager`, as in the tests of applications: tasks run in the scope of their caller."""
    pytest.importorskip("celery")
    program = """
from tests.sdk.apps.celery_shop import app, archive, client, send_receipt
app.conf.task_always_eager = True
with client.scope(user_id="u-1", anonymous_id="a-1"):
    send_receipt.delay("o-1")
    client.track("Still Here")
archive.delay("o-2")
assert client.flush(60)
"""
    environment = _environment(SHOP_FOLDER=str(tmp_path), SHOP_DATA_PLANE=gateway.url, SHOP_KEY=KEY)
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env=environment, capture_output=True, text=True, timeout=600
    )
    assert result.returncode == 0, result.stderr

    events = [(event["event"], event.get("userId")) for event in gateway.events]
    assert events == [
        ("Receipt Sent", "u-1"),
        ("Order Archived", "u-1"),
        ("Still Here", "u-1"),
        ("Order Archived", None),
    ]


PUBLISHER = """
from tests.sdk.apps.celery_shop import archive, client, send_receipt
for number in range(20):
    with client.scope(user_id=f"u-{number}", anonymous_id=f"a-{number}", context={"ip": "203.0.113.9"}):
        send_receipt.delay(f"o-{number}")
archive.delay("of nobody")
with client.scope(user_id="objects"):
    client.opt_out(True)
    send_receipt.delay("denied")
"""


@pytest.mark.slow
def test_celery_worker_processes(gateway: Gateway, tmp_path: Path) -> None:
    """Two real prefork children: each task has the user of the request that started it, also tasks of tasks."""
    pytest.importorskip("celery")
    environment = _environment(SHOP_FOLDER=str(tmp_path), SHOP_DATA_PLANE=gateway.url, SHOP_KEY=KEY)
    subprocess.run([sys.executable, "-W", "ignore", "-c", PUBLISHER], env=environment, check=True, timeout=600)
    worker = [sys.executable, "-W", "ignore", "-m", "celery", "-A", "tests.sdk.apps.celery_shop", "worker"]
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(
            [*worker, "--pool", "prefork", "--concurrency", "2", "--without-mingle", "--without-gossip"],
            env=environment,
            cwd=ROOT,
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            until(lambda: len(gateway.events) >= 41, 300)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)

    by_order = {(event["event"], event["properties"]["order"]): event for event in gateway.events}
    for number in range(20):
        for name in ("Receipt Sent", "Order Archived"):
            event = by_order.pop((name, f"o-{number}"))
            assert (event["userId"], event["anonymousId"]) == (f"u-{number}", f"a-{number}")
            assert event["context"]["ip"] == "203.0.113.9"
    (rest,) = by_order.values()
    assert rest["properties"]["order"] == "of nobody"
    assert "userId" not in rest
    assert len({event["properties"]["process"] for event in gateway.events}) <= 2
