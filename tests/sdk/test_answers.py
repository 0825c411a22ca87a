"""How the client reacts to each answer of the data plane."""

from __future__ import annotations

import base64
import gzip
import json
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import DataPlane, Workspace
from svctoolkit.errors import ToolkitError
from svctoolkit.sdk import Request, Response, ServiceClient
from svctoolkit.sdk.base.settings import backoff
from svctoolkit.sdk.sending.answers import retry_after

from .gateway import KEY, Gateway, until


class Plane:
    """An embedded data plane."""

    embedded = True

    def __init__(self) -> None:
        self.events: list[str] = []
        self.requests: list[Request] = []

    def send(self, request: Request) -> Response:
        if request.method == "GET":
            return Response(404)
        self.requests.append(request)
        body = gzip.decompress(request.body) if "Content-Encoding" in request.headers else request.body
        self.events += [event["event"] for event in json.loads(body)["batch"]]
        return Response(200, {}, b"ok")


def test_requests_have_the_form_of_the_mobile_sdks(make, gateway: Gateway):
    """A batch goes to /v1/batch with Basic key, AnonymousId, and `sentAt` on the envelope and on every event."""
    client = make()
    client.put_anonymous_id("anon-1")
    client.track("one")
    client.track("two")
    assert client.flush()

    path, headers, _ = gateway.requests[-1]
    (batch,) = gateway.batches
    assert path == "/v1/batch"
    assert headers["authorization"] == "Basic " + base64.b64encode(f"{KEY}:".encode()).decode()
    assert base64.b64decode(headers["anonymousid"]) == b"anon-1"
    assert headers["content-type"] == "application/json"
    assert [event["event"] for event in batch] == ["one", "two"]
    assert all(event["sentAt"] >= event["originalTimestamp"] for event in batch)


@pytest.mark.parametrize(
    ("url", "on", "compressed"),
    [
        ("https://plane.example", True, True),
        ("https://plane.example", False, False),
        ("http://127.0.0.1:8080", True, False),
        ("http://localhost", True, False),
        ("http://localhost.example", True, True),
    ],
)
def test_requests_are_compressed_when_it_helps(make, url: str, on: bool, compressed: bool):
    """Requests are gzipped, but not with `gzip: False`, and not to this machine."""
    plane = Plane()
    client = make(transport=plane, data_plane_url=url, gzip=on)
    client.track("one")

    assert plane.events == ["one"]
    assert (plane.requests[-1].headers.get("Content-Encoding") == "gzip") is compressed


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_2xx_counts_as_delivered(make, gateway: Gateway, status: int):
    """Nothing is sent again."""
    gateway.answers = [(status, {}, b"")]
    client = make()
    client.track("one")
    assert client.flush()

    assert len(gateway.batches) == 1
    assert client.stats().delivered == 1


@pytest.mark.parametrize(
    "answer",
    [
        (500, {}, b"x"),
        (503, {}, b"x"),
        (504, {}, b"x"),
        (429, {}, b"x"),
        (302, {}, b""),
        (418, {}, b'{"a": 1}'),
        "close",
    ],
)
def test_a_temporary_failure_is_retried(make, gateway: Gateway, answer):
    """After 5xx, 429, an odd status, JSON without a code or a lost connection, the same events are delivered once."""
    gateway.answers = [answer, answer]
    client = make()
    client.track("one")
    assert client.flush()

    assert gateway.names == ["one"]
    assert len({e["messageId"] for batch in gateway.batches for e in batch}) == 1
    assert client.stats().delivered == 1
    assert client.stats().retried >= 1


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("bad", [{"5"}, {"0", "1", "19"}, set(map(str, range(20)))])
def test_one_bad_event_does_not_block_the_others(make, gateway: Gateway, status: int, bad: set[str]):
    """A refused batch is halved until the refused events are alone; they are parked, and the others arrive."""
    gateway.rule = lambda events: (status, {}, b"no good") if bad & {e["event"] for e in events} else None
    client = make()
    for number in range(20):
        client.track(str(number))
    assert client.flush()

    frame = client.frame()
    assert gateway.names == [str(n) for n in range(20) if str(n) not in bad]
    assert set(frame["event"]) == bad
    assert set(frame["state"]) == {"parked"}
    assert set(frame["status"]) == {status}
    assert "no good" in frame["reason"][0]
    assert (client.stats().parked, client.stats().waiting) == (len(bad), 0)


def _backlog(make) -> ServiceClient:
    """A client with the events 0 to 27 waiting, which it sends in batches of five."""
    offline = make(data_plane_url="http://127.0.0.1:9")
    for number in range(28):
        offline.track(str(number))
    offline.shutdown(0.1)
    return make(flush_queue_size=5)


@pytest.mark.parametrize("failure", [(503, {}, b"x"), "close", (429, {"Retry-After": "0"}, b"")])
@pytest.mark.parametrize("place", range(6))
def test_a_failure_among_several_batches_keeps_the_order(make, gateway: Gateway, failure, place: int):
    """Whichever of several full batches fails, all events arrive once, in the order of their calls."""
    bodies: list[bytes] = []

    def rule(events):
        bodies.append(json.dumps(events).encode())
        return failure if len(bodies) == place + 1 else None

    gateway.rule = rule
    client = _backlog(make)
    assert client.flush()

    assert gateway.names == [str(n) for n in range(28)]
    assert len(bodies) == 7
    assert (client.stats().delivered, client.stats().waiting) == (28, 0)


@pytest.mark.parametrize("place", range(28))
def test_a_refused_event_among_several_batches_is_parked_alone(make, gateway: Gateway, place: int):
    """Wherever the refused event is, the others arrive once and in order."""
    gateway.rule = lambda events: (400, {}, b"no") if str(place) in {e["event"] for e in events} else None
    client = _backlog(make)
    assert client.flush()

    assert gateway.names == [str(n) for n in range(28) if n != place]
    assert list(client.frame()["event"]) == [str(place)]


def test_a_wrong_key_releases_all_claimed_events(make, gateway: Gateway):
    """When the key is refused in the middle, another process can send the rest at once."""
    gateway.rule = lambda events: (401, {}, b"invalid write key") if events[0]["event"] == "10" else None
    client = _backlog(make)
    assert not client.flush()
    assert client.stats().waiting == 18
    gateway.rule = None
    assert make(flush_queue_size=5).flush()

    assert gateway.names == [str(n) for n in range(28)]


def test_a_data_plane_that_refuses_everything_gets_few_requests(make, gateway: Gateway):
    """The first 64 events are isolated; then requests are parked whole, with one warning, until one is accepted."""
    errors: list[ToolkitError] = []
    gateway.rule = lambda events: (400, {}, b"bad deployment")
    client = make(on_error=errors.append, flush_queue_size=10)
    for number in range(1000):
        client.track(f"e{number}")
    assert client.flush()

    assert client.stats().parked == 1000
    assert len(gateway.batches) < 2 * 80 + 100
    assert [error.code for error in errors] == ["EREFUSED"]

    gateway.rule = lambda events: (400, {}, b"bad") if any(event["event"] == "bad" for event in events) else None
    client.track("good")
    assert client.flush()
    for name in ["bad", *"abcdefg"]:
        client.track(name)
    assert client.flush()
    assert gateway.names == ["good", *"abcdefg"]


def test_parked_events_can_be_sent_again(make, gateway: Gateway):
    """`retry_parked` puts them back into the queue, and they are delivered when the data plane accepts them."""
    gateway.rule = lambda events: (400, {}, b"no")
    client = make()
    client.track("one")
    client.flush()
    gateway.rule = None

    assert client.retry_parked() == 1
    assert client.flush()
    assert gateway.names == ["one"]


def test_an_unreachable_data_plane_is_reported_without_credentials(make):
    """The error has scheme, host and port of the data plane, but not the login in its address."""
    errors: list[Exception] = []
    client = make(data_plane_url="http://user:pa55@127.0.0.1:9", on_error=errors.append)
    client.track("one")
    assert not client.flush(0.2)

    assert "no answer from http://127.0.0.1:9: " in str(errors[0])
    assert not any("pa55" in str(error) for error in errors)


def test_a_wrong_key_pauses_sending(make, gateway: Gateway):
    """401: one request, the events are kept, and nothing more is sent; the right key delivers them."""
    gateway.config = (404, {}, b"")
    errors = []
    client = make("WRONG", on_error=errors.append)
    client.track("one")

    assert not client.flush()
    assert not client.flush()
    assert len(gateway.batches) == 1
    assert "write key was refused" in client.stats().paused
    assert any("write key was refused" in str(error) for error in errors)
    assert all("WRONG" not in str(error) for error in errors)
    client.initialize(KEY)
    assert client.flush()
    assert gateway.names == ["one"]


def test_a_source_disabled_at_the_data_plane_keeps_its_events(make, gateway: Gateway):
    """404: sending stops; `flush` tries again, and delivers once the source is enabled."""
    gateway.answers = [(404, {}, b"source is disabled\n")]
    gateway.config = (500, {}, b"")
    client = make()
    client.track("one")

    assert not client.flush()
    assert client.stats().paused == "the source is disabled"
    assert client.stats().waiting == 1
    assert client.flush()
    assert gateway.names == ["one"]


def test_retry_after_is_respected(make, gateway: Gateway):
    """After 429 with Retry-After, nothing is sent until the time has passed, then everything."""
    gateway.answers = [(429, {"Retry-After": "1"}, b"")]
    client = make()
    client.track("one")
    began = time.monotonic()

    assert client.flush(60)
    assert time.monotonic() - began >= 1.0
    assert len(gateway.batches) == 2


def test_a_flush_does_not_outlast_its_timeout(make, gateway: Gateway):
    """While the server asks to wait for an hour, `flush(0.2)` returns False, not after the hour."""
    gateway.answers = [(503, {"Retry-After": "3600"}, b"")]
    client = make()
    client.track("one")

    began = time.monotonic()
    assert not client.flush(0.2)
    assert time.monotonic() - began < 60


@given(st.text(max_size=20))
def test_an_odd_retry_after_does_no_harm(text: str):
    """Any header gives a number of seconds up to a day, or nothing."""
    found = retry_after({"retry-after": text}, 1000.0)

    assert found is None or 0 <= found <= 86_400


def test_retry_after_may_be_a_date():
    """An HTTP date is understood; one in the past means now."""
    assert retry_after({"retry-after": formatdate(1060, usegmt=True)}, 1000.0) == 60.0
    assert retry_after({"retry-after": formatdate(10, usegmt=True)}, 1000.0) == 0.0


@given(st.integers(1, 100_000))
def test_back_off_grows_with_jitter_up_to_a_limit(failures: int):
    """3 s, doubled each time, multiplied by up to 2 at random, never over 300 s, even after days offline."""
    base = min(3.0 * 2 ** min(failures - 1, 20), 300.0)

    assert base <= backoff(failures) <= min(2 * base, 300.0)


def test_a_full_batch_is_sent_automatically(make, gateway: Gateway):
    """With `flushQueueSize` events waiting, no flush is needed; fewer events wait."""
    client = make(flush_queue_size=5)
    for number in range(6):
        client.track(str(number))
    until(lambda: client.stats().delivered == 5)

    assert gateway.names == ["0", "1", "2", "3", "4"]
    assert client.stats().waiting == 1


def test_an_incomplete_batch_is_sent_after_the_sleep_timeout(make, gateway: Gateway):
    """After `sleepTimeout` seconds, even a single event is sent."""
    client = make(sleep_timeout=1)
    client.track("one")
    until(lambda: client.stats().delivered == 1)

    assert gateway.names == ["one"]


def test_a_batch_is_at_most_500_kb(make, gateway: Gateway):
    """Large events are sent in several requests, none above 500 KB."""
    client = make(flush_queue_size=100)
    for _ in range(40):
        client.track("large", {"text": "x" * 30_000})
    assert client.flush()

    bodies = [body for path, _, body in gateway.requests if path == "/v1/batch"]
    assert len(bodies) == 3
    assert max(map(len, bodies)) <= 500 * 1024
    assert len(gateway.names) == 40


def test_an_exception_of_a_transport_is_a_failed_attempt(make):
    """The event waits, and the worker survives."""

    class Broken:
        def send(self, request: Request) -> Response:
            raise KeyError("surprise")

    client = make(transport=Broken())
    client.track("one")

    assert not client.flush(0.1)
    assert client.stats().waiting == 1
    assert "surprise" in client.stats().last_error


def test_an_embedded_transport_delivers_within_the_call(tmp_path):
    """With a transport in the same process every event is delivered when its call returns, and no file is created."""

    plane = Plane()
    client = ServiceClient(transport=plane, track_lifecycle_events=False)
    assert client.initialize(KEY).wait(0)
    client.track("one")

    assert plane.events == ["one"]
    assert client.stats().delivered == 1
    client.shutdown()


def test_a_data_plane_can_be_the_transport():
    """A data plane without a socket gets each event at its call, with the source's own fate; a wrong key is refused."""
    workspace = Workspace()
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    workspace.source("web", destinations=["hook"])
    with DataPlane(workspace, listen=False) as plane:
        with ServiceClient(transport=plane, track_lifecycle_events=False) as client:
            client.initialize(plane.write_key("web"))
            client.track("one")
            assert [received.name for received in plane.received] == ["one"]
        with ServiceClient(transport=plane, track_lifecycle_events=False) as stranger:
            stranger.initialize("nobody's key")
            stranger.track("two")
            assert stranger.stats().waiting == 1
        plane.drain()

        assert [(fate.destination, fate.status) for fate in plane.fates] == [("hook", "delivered")]


def test_callbacks_may_call_the_client(make, gateway: Gateway):
    """An `on_error` that raises, tracks and flushes in the worker thread neither ends nor blocks it."""
    holder: list[ServiceClient] = []

    def on_error(error: Exception) -> None:
        if len(gateway.batches) < 3:
            holder[0].track("from the callback")
        holder[0].flush(0.01)
        raise RuntimeError("host bug")

    gateway.answers = [(500, {}, b"")]
    client = make(on_error=on_error)
    holder.append(client)
    client.track("one")
    until(lambda: client.flush() and set(gateway.names) == {"one", "from the callback"})

    # The gateway has the event before the client has the answer.
    until(lambda: client.stats().waiting == 0)
