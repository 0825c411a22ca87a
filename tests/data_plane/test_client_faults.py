"""Unmodified event SDKs in twelve modes over a faulty line deliver every event once and in order.

Each client sends an identify and twelve tracks through a proxy that records all traffic. Every event that the data
plane answered with `ok` must be there once, and delivered once in the order of arrival. An event that never reached the
data plane, or was never retried, is lost by the client; the known losses of each client are listed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from tests.data_plane.bench import BROWSER, EVENTS, NODE, PYTHON, Bench, Run
from tests.data_plane.faulty_proxy import FAULTS, number_of

#: Connections cut by a fault are garbage-collected at any time: those of the proxy, not of the data plane.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

CLIENTS = [*PYTHON, *NODE, *BROWSER]
#: These send one request at a time. The others send several in parallel and retry failed ones after the others.
ONE_BY_ONE = set(PYTHON)
#: After a 429 with Retry-After, this client moves the batch behind all others.
POSTPONES = {("segment_python", "429"), ("segment_python", "mix")}
#: A beacon is sent once, and its answer is ignored.
ONCE = {("rudder_browser_beacon", fault) for fault in ("503", "cut connection", "429", "mix")}
#: Drops a batch if its answer breaks off, and stops sending the batches that wait after it.
STOPS = {("rudder_node", "truncated answer")}


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.stop()


@pytest.fixture(scope="module")
def runs(bench: Bench, request: pytest.FixtureRequest) -> dict[tuple[str, str], Future[Run]]:
    """All chosen runs in parallel: they wait most of the time."""
    specs = (getattr(item, "callspec", None) for item in request.session.items if item.path == request.path)
    chosen = [spec.params for spec in specs if spec and "fault" in spec.params]
    pairs = [(params["client"], params["fault"]) for params in chosen]
    return {(client, fault): bench.pool.submit(bench.run, client, FAULTS[fault]) for client, fault in pairs}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_event_once_and_in_order(runs: dict[tuple[str, str], Future[Run]], client: str, fault: str) -> None:
    """The data plane has the events answered with `ok`, once and in order, and only known losses are missing."""
    run = runs[client, fault].result(400)

    _check_promises(run)
    received = [number_of(received.event) for received in run.view.received if received.repeats is None]
    happened = {exchange.fault for exchange in run.line.exchanges} - {""}
    assert happened <= set(FAULTS[fault])
    assert bool(happened) == (fault != "none"), (run.line.exchanges, run.errors)
    if (client, fault) in ONCE:
        assert set(run.line.sent()) == set(EVENTS)
        assert set(EVENTS) - run.line.accepted() <= run.line.refused()  # the browser itself may send again after a cut
    elif (client, fault) in STOPS:
        assert run.line.sent() == [-1], "more than the first event was sent"
        assert run.errors
    else:
        assert set(received) == set(EVENTS), run.line.exchanges
    if client in ONE_BY_ONE and (client, fault) not in POSTPONES:
        assert received == list(EVENTS)
    if fault in ("none", "slow"):
        assert run.errors == []


def test_an_open_page_loses_nothing(bench: Bench) -> None:
    """rudder-sdk-js, with 429 for its first ten requests, delivers every event if the page stays open long enough.

    It retries a rejected event after two seconds or more and keeps it in `localStorage` until then: if the page is
    closed earlier and its origin is never opened again, the first events are lost.
    """
    for run in bench.pool.map(lambda _: bench.run("rudder_browser_superseded", FAULTS["429"]), range(10)):
        _check_promises(run)
        assert run.line.accepted() == set(EVENTS)
        refused = [exchange.events for exchange in run.line.exchanges if exchange.fault]
        assert len(refused) == 2


def _check_promises(run: Run) -> None:
    """Every event answered with `ok` is stored and delivered once, in order of arrival and within a request."""
    print(
        run.line.exchanges, run.errors, [(number_of(each.event), each.repeats) for each in run.view.received], sep="\n"
    )
    received = [number_of(received.event) for received in run.view.received if received.repeats is None]
    delivered = [number_of(delivery.payload["body"]["JSON"]) for delivery in run.view.delivered]
    assert sorted(received) == sorted(run.line.accepted())
    assert delivered == received
    assert list(run.view.rejected) == []
    for exchange in run.line.exchanges:
        # Some clients send retries before or after newer events.
        if exchange.status == 200 and all(run.line.sent().count(n) == 1 for n in exchange.events):
            places = [received.index(n) for n in exchange.events]
            assert places == sorted(places)
