"""Web applications and privacy: consent, signals of the browser, and where the cookie may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from svctoolkit.errors import ConfigError
from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.middleware import TrackingWSGI
from svctoolkit.sdk.web.cookie import is_cacheable

from .gateway import Gateway

HTML = ("Content-Type", "text/html; charset=utf-8")
Headers = list[tuple[str, str]]


class Site:
    """A WSGI application with a middleware: one response for every request, and one event in it."""

    def __init__(self, client: ServiceClient, response: Headers | None = None, status: str = "200 OK", **settings: Any):
        self._client, self._response, self._status = client, response or [HTML], status
        self._app = TrackingWSGI(self._answer, client, **settings)

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        self._client.track("In The View")
        start_response(self._status, list(self._response))
        return [b"<p>"]

    def get(self, **headers: str) -> str:
        """Return the `Set-Cookie` header of the response, or an empty string."""
        environ: dict[str, Any] = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
        setup_testing_defaults(environ)
        answers: list[Headers] = []
        body = self._app(environ, lambda status, listed, *_: answers.append(listed))
        assert b"".join(body) == b"<p>"
        return dict(answers[0]).get("Set-Cookie", "")


@pytest.mark.parametrize(
    ("response", "status"),
    [
        ([("Content-Type", "image/png"), ("Cache-Control", "public, max-age=31536000")], "200 OK"),
        ([("Content-Type", "application/json")], "200 OK"),
        ([HTML, ("Cache-Control", "public, max-age=60")], "200 OK"),
        ([HTML, ("Cache-Control", "max-age=60")], "200 OK"),
        ([HTML, ("Cache-Control", "private"), ("CDN-Cache-Control", "max-age=60")], "200 OK"),
        ([HTML, ("Expires", "Wed, 01 Jan 2225 00:00:00 GMT")], "200 OK"),
        ([HTML], "404 Not Found"),
        ([HTML], "302 Found"),
        ([], "200 OK"),
    ],
    ids=["image", "JSON", "public", "max-age", "CDN", "Expires", "error", "redirect", "no type"],
)
def test_no_cookie_where_a_cache_or_no_person_would_get_it(make, response: Headers, status: str) -> None:
    """Neither with what a shared cache may store, nor with anything but a page."""
    site = Site(make(), response or [("X-Nothing", "")], status)

    assert site.get() == ""


@pytest.mark.parametrize("control", ["", "private, max-age=60", "no-store", "no-cache", "max-age=0"])
def test_a_page_that_is_not_shared_sets_the_cookie(make, control: str) -> None:
    """Once: the browser's next request has it."""
    site = Site(make(), [HTML, ("Cache-Control", control)] if control else [HTML])
    cookie = site.get()

    assert cookie.startswith("svc_anonymous_id=")
    assert site.get(cookie=cookie.partition(";")[0]) == ""


@pytest.mark.parametrize(
    ("headers", "cacheable"),
    [
        ([("cache-control", "private"), ("Cache-Control", "public")], True),
        ([("Cache-Control", "s-maxage=0, private")], True),
        ([("Surrogate-Control", "max-age=600")], True),
        ([("Cloudflare-CDN-Cache-Control", "max-age=600")], True),
        ([("CDN-Cache-Control", "max-age=0")], False),
        ([("Cache-Control", "immutable")], True),
        ([("Cache-Control", "MAX-AGE = 00060")], True),
        ([("Expires", "0")], False),
        ([("Expires", "nonsense"), ("Cache-Control", "max-age=nonsense")], False),
        ([("Expires", "Thu, 01 Jan 1970 00:00:00 GMT")], False),
        ([("Expires", "Wed, 01 Jan 2225 00:00:00 GMT"), ("Cache-Control", "max-age=0")], False),
        ([], False),
    ],
)
def test_the_headers_of_caches(headers: Headers, cacheable: bool) -> None:
    """In doubt, a response counts as cacheable."""
    assert is_cacheable(headers) is cacheable


@pytest.mark.parametrize("signal", ["sec_gpc", "dnt"])
def test_a_signal_of_the_browser_denies_events_and_cookie(make, gateway: Gateway, signal: str) -> None:
    """By default. Events of the view count as dropped, also those that name a user; other visitors are recorded."""
    client = make()
    site = Site(client)
    assert site.get(**{signal: "1"}) == ""
    assert site.get(**{signal: "1", "cookie": "svc_anonymous_id=known"}) == ""
    assert site.get(**{signal: "0", "cookie": "svc_anonymous_id=v-2"}) == ""
    assert client.flush()

    assert {event["anonymousId"] for event in gateway.events} == {"v-2"}
    assert client.stats().dropped == {"no consent": 4}


def test_an_event_with_another_user_id_is_denied_too(make, gateway: Gateway) -> None:
    """`user_id=` inside a request is not a way around its visitor's choice."""
    client = make()

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        assert client.may_record("track") is False
        client.track("Order Completed", user_id="u-1")
        start_response("200 OK", [HTML])
        return []

    environ: dict[str, Any] = {"HTTP_SEC_GPC": "1"}
    setup_testing_defaults(environ)
    list(TrackingWSGI(application, client)(environ, lambda *_: None))
    assert client.may_record("track") is True
    assert client.flush()

    assert gateway.events == []


def test_a_signal_may_be_only_a_mark(make, gateway: Gateway) -> None:
    """In `context`, by the names of the browser's properties; or be ignored."""
    client = make()
    assert Site(client, gpc="mark", dnt="mark", record="nothing").get(sec_gpc="1", dnt="1")
    assert Site(client, gpc="mark", dnt="ignore", record="nothing").get(sec_gpc="1", dnt="1")
    assert client.flush()

    both, one = (event["context"] for event in gateway.events)
    assert both["globalPrivacyControl"] is both["doNotTrack"] is one["globalPrivacyControl"] is True
    assert "doNotTrack" not in one


def test_consent_is_asked_about_each_request(make, gateway: Gateway) -> None:
    """No cookie and no event before it, and not with a failing function either."""
    client = make()
    site = Site(client, consent=lambda environ: "agreed=1" in environ.get("HTTP_COOKIE", ""))
    assert site.get() == ""
    assert site.get(cookie="agreed=1").startswith("svc_anonymous_id=")
    assert Site(client, consent=lambda environ: environ["missing"]).get() == ""
    assert client.flush()

    assert [event["type"] for event in gateway.events] == ["track", "page"]
    assert client.stats().dropped == {"no consent": 4}


def test_the_clients_consent_holds_for_the_cookie_too(make, gateway: Gateway) -> None:
    """Also while the client is opted out or switched off: an ID that is never used needs no cookie."""
    client = make(consent=lambda query: query.type != "page")
    assert Site(client).get() == ""
    assert Site(make(enabled=False)).get() == ""
    other = make(data_directory=":memory:")
    other.opt_out(True)
    assert Site(other).get() == ""
    assert client.flush()

    assert [event["type"] for event in gateway.events] == ["track"]


def test_the_attributes_of_the_cookie_are_settings(make) -> None:
    """Name, domain, `Secure`, `SameSite`, age. `SameSite=None` and the prefixes imply `Secure`."""
    client = make()
    own = Site(
        client,
        cookie="visitor",
        cookie_domain="shop.example",
        cookie_secure=True,
        cookie_same_site="Strict",
        cookie_max_age=3600,
    ).get()
    assert own.partition("; ")[2] == "Path=/; Max-Age=3600; Domain=shop.example; HttpOnly; SameSite=Strict; Secure"
    assert own.startswith("visitor=")
    assert Site(client, cookie_same_site="None").get().endswith("SameSite=None; Secure")
    assert Site(client, cookie="__Host-visitor").get().endswith("; Secure")
    assert "Secure" not in Site(client).get()


def test_secure_follows_the_trusted_proxy(make) -> None:
    """Behind a proxy that speaks HTTPS, the application itself gets HTTP."""
    client = make()
    assert Site(client, trusted_proxies=["unix"]).get(x_forwarded_proto="https").endswith("; Secure")
    assert "Secure" not in Site(client).get(x_forwarded_proto="https")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"cookie": "a b"}, "cookie: 'a b' is not a valid name; use letters, digits, - and _"),
        ({"cookie": "x; Domain=evil"}, "is not a valid name"),
        ({"cookie_domain": "shop.example; Path=/"}, "is not a domain such as shop.example"),
        ({"cookie_same_site": "lax"}, 'cookie_same_site must be "Lax", "Strict" or "None"; got \'lax\''),
        ({"cookie_max_age": 0}, "cookie_max_age must be a whole number of seconds above 0; got 0"),
        ({"cookie_same_site": "None", "cookie_secure": False}, "cookie_secure must not be False"),
        ({"cookie": "__Host-v", "cookie_domain": "shop.example"}, "remove cookie_domain or the prefix"),
        ({"gpc": "block"}, 'gpc must be "deny", "mark" or "ignore"; got \'block\''),
        ({"record": "pages"}, 'record must be "page", "screen" or "nothing"; got \'pages\''),
    ],
)
def test_settings_that_browsers_would_ignore_are_rejected(make, settings: dict[str, Any], problem: str) -> None:
    """When the application starts."""
    with pytest.raises(ConfigError) as error:
        Site(make(), **settings)

    assert problem in str(error.value)


def test_a_user_who_logs_in_within_the_request_is_seen(make, gateway: Gateway) -> None:
    """`user_id` is asked when an event is recorded, not before the application. `identify` overrides it."""
    client = make()

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        client.track("Before")
        environ["shop.user"] = 7
        client.track("After")
        start_response("200 OK", [HTML])
        client.identify("u-8")
        client.track("Last")
        return []

    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    list(TrackingWSGI(application, client, user_id=lambda e: e.get("shop.user"))(environ, lambda *_: None))
    assert client.flush()

    users = {event.get("event") or event["type"]: event.get("userId") for event in gateway.events}
    assert users == {"Before": None, "After": "7", "page": "7", "identify": "u-8", "Last": "u-8"}
    traits = {event.get("event"): event["context"]["traits"].get("userId") for event in gateway.events}
    assert (traits["Before"], traits["After"], traits["Last"]) == (None, "7", "u-8")
