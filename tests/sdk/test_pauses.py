"""Pauses end by themselves: whatever a data plane, a proxy or a deploy answers temporarily, every event arrives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from svctoolkit.sdk import Request, Response, ServiceClient
from svctoolkit.sdk.base.settings import probe_after

from .gateway import KEY, Gateway, until

HOUR = 3600.0
PAGE = b"<!DOCTYPE html><html><body>Please log in</body></html>"
WRONG_KEY, DISABLED = (401, {}, b"invalid write key\n"), (404, {}, b"source is disabled\n")
#: Odd answers to single requests, as they may occur within a month.
STRAYS: dict[str, tuple[int, dict[str, str], bytes] | str] = {
    "wrong key": WRONG_KEY,
    "bare 401": (401, {}, b"Unauthorized"),
    "403": (403, {}, b"Forbidden"),
    "403 with the text": (403, {}, b"invalid write key"),
    "404": (404, {}, b"404 page not found"),
    "disabled": DISABLED,
    "410": (410, {}, b""),
    "301": (301, {"Location": "https://example.com/v1/batch"}, b""),
    "307": (307, {"Location": "/login"}, b""),
    "page 200": (200, {"Content-Type": "text/html"}, PAGE),
    "page 400": (400, {"Content-Type": "text/html"}, PAGE),
    "page 502": (502, {"Content-Type": "text/html"}, PAGE),
    "418": (418, {}, b""),
    "close": "close",
    "truncated": (200, {"Content-Length": "500"}, b"o"),
}


class Month:
    """A client and a clock that the test advances; `flush` plays a scheduled job of the application."""

    def __init__(self, make: Callable[..., ServiceClient], **settings: object) -> None:
        self.now = 1_800_000_000.0
        self.client = make(clock=lambda: self.now, flush_queue_size=1, **settings)

    def track(self, name: str) -> None:
        self.client.track(name)
        self.client.flush(5)


@pytest.mark.parametrize("control", [True, False], ids=["with source configuration", "without"])
def test_every_event_of_a_month_arrives(make, gateway: Gateway, control: bool):
    """One of every odd answer, and ten minutes of deploys, hours apart: all events arrive, once, in order."""
    if not control:
        gateway.config = (404, {}, b"404 page not found\n")
    month = Month(make)
    names = []
    for number, (name, answer) in enumerate(STRAYS.items()):
        gateway.answers = [answer]
        for minute in range(3):
            month.now += 10 * HOUR if minute == 0 else 600.0
            names.append(f"{number} {name} {minute}")
            month.track(names[-1])
    gateway.answers = [(503, {}, b"deploying")] * 3
    for minute in range(5):
        month.now += 150.0
        names.append(f"deploy {minute}")
        month.track(names[-1])
    month.now += HOUR
    assert month.client.flush(60)

    assert gateway.names == names
    assert month.client.stats().paused == ""
    assert (month.client.stats().parked, dict(month.client.stats().dropped)) == (0, {})


@pytest.mark.parametrize("answer", [WRONG_KEY, DISABLED], ids=["key", "source"])
@pytest.mark.parametrize("config", [None, (500, {}, b"")], ids=["with source configuration", "without"])
def test_a_pause_ends_by_itself(make, gateway: Gateway, answer, config):
    """A stray refusal stops nothing permanently: after half a minute the client probes, and the worker sends again."""
    if config:
        gateway.config = config
    month = Month(make)
    gateway.answers = [answer]
    month.client.track("one")
    until(lambda: month.client.stats().paused)
    month.now += 31

    until(lambda: gateway.names == ["one"] and month.client.stats().paused == "")


def test_probes_of_a_long_pause_become_rarer(make, gateway: Gateway):
    """After 30 s, 60 s, 120 s, 240 s, then every 5 minutes; a delivery starts the series anew."""
    gateway.config = (500, {}, b"")
    gateway.keys.clear()
    month = Month(make)
    month.track("one")
    attempts = []
    for _ in range(60):
        month.now += 30
        before = len(gateway.batches)
        month.client.flush(5)
        attempts.append(len(gateway.batches) - before)

    moments = [30 * (place + 1) for place, number in enumerate(attempts) if number]
    assert moments == [30, 90, 210, 450, 750, 1050, 1350, 1650]
    assert [probe_after(n) for n in (1, 2, 3, 4, 5, 1000)] == [30, 60, 120, 240, 300, 300]
    gateway.keys.add(KEY)
    month.now += 300
    assert month.client.flush(60)
    gateway.answers = [WRONG_KEY]
    month.track("two")
    month.now += 30
    assert month.client.flush(60)
    assert gateway.names == ["one", "two"]


def test_the_time_between_probes_can_be_set(make, gateway: Gateway):
    """`probe_after` is the length of a pause before the first probe."""
    gateway.answers = [WRONG_KEY]
    client = make(flush_queue_size=1, probe_after=lambda pauses: 0.01)
    client.track("one")

    until(lambda: gateway.names == ["one"])


def test_a_fetched_source_configuration_ends_a_pause(make, gateway: Gateway):
    """A client that can fetch the configuration has a valid key, so the pause ends."""
    month = Month(make, probe_after=lambda pauses: 1e9)
    gateway.answers = [WRONG_KEY]
    month.client.track("one")
    until(lambda: month.client.stats().paused)
    month.now += 2 * HOUR + 1

    until(lambda: gateway.names == ["one"])


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((404, {}, b"404 page not found\n"), "404 404 page not found"),
        ((301, {"Location": "https://new.example.com/"}, b""), "301 to https://new.example.com/"),
        ((200, {}, PAGE), "200 an HTML page"),
        ((403, {}, b"Forbidden"), "403 Forbidden"),
    ],
)
def test_an_answer_from_another_server_names_the_url(make, gateway: Gateway, answer, text: str):
    """An answer that is not from a data plane is reported with its URL and retried."""
    errors: list[Exception] = []
    gateway.answers = [answer]
    client = make(on_error=errors.append)
    client.track("one")
    assert client.flush()

    assert gateway.names == ["one"]
    assert f"{gateway.url} did not accept 1 event(s): {text}; next attempt in" in str(errors[0])


def test_a_pause_is_reported_once_at_the_default_log_level(make, gateway: Gateway, caplog: pytest.LogCaptureFixture):
    """Without a log level, the log still says once why nothing is sent."""
    gateway.config = (500, {}, b"")
    gateway.keys.clear()
    month = Month(make)
    month.track("one")
    month.now += 40
    month.track("two")

    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"the write key was refused, according to {gateway.url} (401 invalid write key)")
    assert KEY not in message


def test_the_error_about_a_parked_event_names_it(make, gateway: Gateway):
    """It has the messageId, and the status once."""
    errors: list[Exception] = []
    gateway.rule = lambda events: (400, {}, b"request neither has anonymousId nor userId")
    client = make(on_error=errors.append)
    client.track("one")
    client.flush()

    (id,) = client.frame()["message_id"]
    assert f"refused event {id} (400 request neither has anonymousId nor userId); it is parked" in str(errors[0])


def test_requests_identify_the_client(make, gateway: Gateway):
    """Every request has a User-Agent with the version."""
    client = make()
    client.track("one")
    assert client.flush()

    assert {headers["user-agent"].partition("/")[0] for _, headers, _ in gateway.requests} == {"svctoolkit"}


def test_an_embedded_transport_recovers_too(make):
    """A data plane in this process that refuses the key once gets everything later."""
    now, answers, bodies = [1_800_000_000.0], [Response(401, {}, b"invalid write key")], []

    class Plane:
        embedded = True

        def send(self, request: Request) -> Response:
            if request.method == "GET":
                return Response(404)
            if answers:
                return answers.pop()
            bodies.append(request.body)
            return Response(200)

    client = make(transport=Plane(), clock=lambda: now[0])
    client.track("one")
    client.track("two")
    assert bodies == []
    now[0] += 31
    client.track("three")

    assert sum(body.count(b'"messageId"') for body in bodies) == 3
