"""A Django project in one file: log in, a page, a stream, sync and async."""

from __future__ import annotations

import asyncio
import sys
from http.cookies import SimpleCookie

import django
from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path

from svctoolkit.sdk import ServiceClient

client = ServiceClient(profile="server", data_plane_url=sys.argv[1], data_directory=sys.argv[2])

SETTINGS = {
    "ROOT_URLCONF": __name__,
    "SECRET_KEY": "x",
    "ALLOWED_HOSTS": ["*"],
    "USE_TZ": True,
    "PASSWORD_HASHERS": ["django.contrib.auth.hashers.MD5PasswordHasher"],
    "LOGGING_CONFIG": None,
    "DATABASES": {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[2] + "/users.db"}},
    "INSTALLED_APPS": ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    "MIDDLEWARE": [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "svctoolkit.sdk.frameworks.django.TrackingMiddleware",
    ],
    "SVCTOOLKIT": {"client": "__main__.client", "trusted_proxies": ["127.0.0.1"]},
}


def log_in(request):
    from django.contrib.auth import authenticate, login

    client.track("Login Begun")
    login(request, authenticate(request, username="ada", password="pw"))
    client.track("Logged In")
    return HttpResponse("<p>")


def shop(request):
    client.track("Sync View")
    return HttpResponse("<p>")


async def later(request):
    client.track("Async View")  # before anything has asked for the user
    return HttpResponse("<p>")


def stream(request):
    def content():
        client.track("Sync Stream")
        yield "<p>"

    return StreamingHttpResponse(content())


async def stream_later(request):
    async def content():
        client.track("Async Stream")
        yield "<p>"

    return StreamingHttpResponse(content())


def public(request):
    answer = HttpResponse("<p>")
    answer["Cache-Control"] = "public, max-age=600"
    return answer


urlpatterns = [
    path("login", log_in),
    path("shop", shop),
    path("later", later),
    path("stream", stream),
    path("stream-later", stream_later),
    path("public", public),
]


async def visit_async(cookies: SimpleCookie) -> None:
    from django.test import AsyncClient

    browser = AsyncClient()
    browser.cookies = cookies
    for page in ("later", "shop", "stream-later"):
        answer = await browser.get(f"/{page}")
        assert answer.status_code == 200, answer.content
        if answer.streaming:
            assert [part async for part in answer.streaming_content] == [b"<p>"]


def main() -> None:
    settings.configure(**SETTINGS)
    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client

    client.initialize(sys.argv[3])
    call_command("migrate", verbosity=0)
    User.objects.create_user("ada", password="pw")

    visitor = Client()
    answer = visitor.get("/public")
    assert not answer.cookies
    assert "Cookie" not in answer.get("Vary", ""), "the page was cacheable without this middleware"
    visitor.get("/shop")
    assert visitor.cookies["svc_anonymous_id"]["samesite"] == "Lax"
    visitor.get("/login")
    for page in ("shop", "later"):
        assert visitor.get(f"/{page}").status_code == 200
    assert list(visitor.get("/stream").streaming_content) == [b"<p>"]
    asyncio.run(visit_async(visitor.cookies))
    # A second visitor, in the same threads.
    Client().get("/shop")
    client.track("Outside")
    assert client.flush(60)


if __name__ == "__main__":
    main()
