"""Fault profiles: at destinations, at the ingestion of sources, in workspaces, in suites and over HTTP."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery.faults import Down, Errors, Faults, FaultSettings, Latency, Lognormal, Normal
from svctoolkit.errors import DeliveryError, InvalidWorkspace, ToolkitError, UnknownName, UsageError
from svctoolkit.server import Backoff
from tests.data_plane.conftest import basic
from tests.data_plane.test_control import admin
from tests.test_runner_send import outcomes

EVENT = {"type": "track", "event": "E", "userId": "u1"}
FLAKY = Faults(errors=Errors(share=0.5, statuses=(500, 429), retry_after=7), seed=3)


class Clock:
    """A clock that only moves when a data plane lets time pass."""

    def __init__(self) -> None:
        self.at = self.start = datetime(2026, 1, 1, tzinfo=UTC)

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    @property
    def seconds(self) -> float:
        return (self.at - self.start).total_seconds()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def virtual(workspace: Workspace, clock: Clock) -> Iterator[DataPlane]:
    """A data plane whose time is virtual."""
    with DataPlane(
        workspace, listen=False, backoff=Backoff(jitter=0.0), clock=lambda: clock.at, advance_clock=clock.advance
    ) as made:
        yield made


def statuses(plane: DataPlane, run: str = "", number: int = 20) -> list[int]:
    """Send events of as many users, one after the other; return the statuses of the first attempts at `crm`."""
    for n in range(number):
        plane.send({**EVENT, "userId": f"u{n}"}, source="web", run=run)
        plane.drain()
    found = [d for d in plane.of_run(run).deliveries if d.destination == "crm" and d.attempt == 1]
    return [d.status for d in sorted(found, key=lambda d: d.seq)]


def test_the_same_seed_gives_the_same_faults(virtual: DataPlane) -> None:
    """In every run, which counts its own requests; another seed gives others."""
    virtual.set_faults(FLAKY, destination="crm")
    first, second = statuses(virtual, "a"), statuses(virtual, "b")
    virtual.set_faults(Faults(errors=FLAKY.errors, seed=4), destination="crm")
    other = statuses(virtual, "c")

    assert first == second != other
    assert set(first) == {200, 429, 500}
    assert {d.headers.get("retry-after") for d in virtual.deliveries if d.status == 429} == {"7"}


def test_latency_passes_without_waiting(virtual: DataPlane, clock: Clock) -> None:
    """On the virtual clock. What takes longer than the timeout is an attempt without an answer."""
    began = time.monotonic()
    virtual.set_faults(Faults(latency=50), destination="crm")
    virtual.send(EVENT, source="web", run="a")
    virtual.drain()
    passed = clock.seconds
    virtual.set_faults(Faults(latency=Latency(uniform=(61, 70))), destination="crm")
    virtual.send({**EVENT, "userId": "u2"}, source="web", run="b")
    virtual.advance(61)
    (late, *_) = [d for d in virtual.of_run("b").deliveries if d.destination == "crm"]

    assert passed == 50
    assert "did not respond within 60 s" in str(late.error)
    assert time.monotonic() - began < 100  # and not 111


def test_bandwidth_counts_bodies(virtual: DataPlane, clock: Clock) -> None:
    """Those of request and answer."""
    virtual.set_faults(Faults(bandwidth=1000), destination="crm")
    virtual.send({**EVENT, "properties": {"text": "x" * 5000}}, source="web")
    virtual.drain()

    assert 5 < clock.seconds < 7


def test_a_destination_that_is_down_for_a_while(virtual: DataPlane, clock: Clock) -> None:
    """Events arrive late, but arrive. The period counts from the moment when the profile was switched on."""
    virtual.set_faults(Faults(down=(Down(until=30),)), destination="crm")
    virtual.send(EVENT, source="web")
    virtual.drain()
    tries = [d for d in virtual.deliveries if d.destination == "crm"]

    assert [d.status for d in tries] == [500] * (len(tries) - 1) + [200]
    assert "closed the connection" in str(tries[0].error)
    assert clock.seconds >= 30
    (state,) = virtual.faults
    assert (state.requests, state.closed, state.is_down) == (len(tries), len(tries) - 1, False)


def test_a_lost_answer_is_retried_and_held_once(clock: Clock) -> None:
    """With `close_after`, a simulated destination has taken the request."""
    workspace = Workspace("shop")
    workspace.delivery.simulate = "simulated"
    workspace.destination("kl", "KLAVIYO", config={"publicApiKey": "p", "privateApiKey": "k", "apiVersion": "v2"})
    workspace.source("web", destinations=["kl"])
    person = {"type": "identify", "userId": "u1", "traits": {"email": "a@b.example"}}
    with DataPlane(workspace, listen=False, clock=lambda: clock.at, advance_clock=clock.advance) as plane:
        plane.set_faults(Faults(close_after=1), destination="kl")
        plane.send(person, source="web")
        plane.advance(1)
        held = plane.simulation("kl").state()["tables"]["profiles"]
        plane.set_faults(None, destination="kl")
        plane.drain()

        assert len(held) == 1
        assert [fate.status for fate in plane.fates] == ["delivered"]


def test_a_script_wins_over_a_profile(plane: DataPlane) -> None:
    """And the profile counts nothing meanwhile."""
    from svctoolkit.delivery import Answer

    plane.set_faults(Faults(close=1), destination="crm")
    plane.script("crm", Answer(202))
    plane.send(EVENT, source="web")
    plane.drain()

    assert [d.status for d in plane.deliveries if d.destination == "crm"] == [202]
    assert [state.requests for state in plane.faults] == [0]


@pytest.mark.parametrize(
    ("latency", "median", "most"),
    [
        (Latency(uniform=(1, 3)), 2, 3),
        (Latency(normal=Normal(mean=2, deviation=0.1)), 2, 3),
        (Latency(lognormal=Lognormal(median=2, p95=8)), 2, 3600),
        (Latency(percentiles={"p50": 2, "p90": 4, "p99": 10}), 2, 10),
    ],
)
def test_distributions(latency: Latency, median: float, most: float) -> None:
    """Of 4,000 values, the median is near the given one, and a seed fixes them all."""
    random, again = Random(1), Random(1)
    values = [latency.draw(random) for _ in range(4000)]

    assert statistics.median(values) == pytest.approx(median, rel=0.1)
    assert max(values) <= most
    assert min(values) >= 0
    assert [latency.draw(again) for _ in range(4000)] == values


def test_the_95th_percentile_of_a_lognormal_distribution() -> None:
    """Is what the profile says."""
    values = [Latency(lognormal=Lognormal(median=1, p95=5)).draw(Random(n)) for n in range(4000)]

    assert statistics.quantiles(values, n=100)[94] == pytest.approx(5, rel=0.15)


def test_faults_of_the_ingestion(virtual: DataPlane, clock: Clock) -> None:
    """Clients of a source meet them; other sources, health and inspection do not."""
    down = Faults(latency=2, errors=Errors(share=1, statuses=(503,), retry_after=9))
    virtual.set_faults(down, source="web")
    refused = virtual.send(EVENT, source="web")
    other = virtual.send(EVENT, source="quiet")
    config = virtual.ingest("GET", "/sourceConfig", headers=basic("web-key"))
    health = virtual.ingest("GET", "/health")
    counts = virtual.ingest("GET", "/inspect/counts")

    assert (refused.status, refused.headers["retry-after"]) == (503, "9")
    assert (other.status, config.status, health.status, counts.status) == (200, 503, 200, 200)
    assert clock.seconds == 4
    assert len(virtual.received) == 1


def test_a_lost_answer_at_ingestion(plane: DataPlane) -> None:
    """The event is accepted, and the client sees a closed connection."""
    plane.set_faults(Faults(close_after=1), source="web")
    with pytest.raises(DeliveryError, match="closed the connection"):
        plane.send(EVENT, source="web")
    plane.set_faults(Faults(close=1), source="web")
    with pytest.raises(DeliveryError, match="ECONNRESET"):
        plane.send(EVENT, source="web")
    plane.drain()

    assert len(plane.received) == 1


def test_connections_are_really_closed(workspace: Workspace, caplog: pytest.LogCaptureFixture) -> None:
    """Over a socket, without an answer and without a line in the log; inspection goes on."""
    workspace.faults = FaultSettings({"gone": Faults(close=1)}, sources={"web": "gone"})
    with DataPlane(workspace) as plane, httpx.Client(base_url=plane.url, timeout=60) as client:
        for path in ("/v1/track", "/v1/batch"):
            with pytest.raises(httpx.TransportError):
                client.post(path, json=EVENT, headers=basic("web-key"))
        listed = client.get("/inspect/faults").json()

    assert [(item["key"], item["name"], item["closed"]) for item in listed["items"]] == [("web", "gone", 2)]
    assert not caplog.records


def test_ingestion_waits_on_the_clock_of_the_plane(workspace: Workspace) -> None:
    """With a real clock, a request waits; `advance` lets its latency pass."""
    import threading

    with DataPlane(workspace, listen=False) as plane:
        plane.set_faults(Faults(latency=3600), source="web")
        answers: list[int] = []
        client = threading.Thread(target=lambda: answers.append(plane.send(EVENT, source="web").status))
        client.start()
        plane.wait(lambda: plane.faults[0].requests == 1, timeout=60)
        while client.is_alive():
            plane.advance(3600)
            client.join(0.05)

    assert answers == [200]


def test_profiles_of_a_workspace(tmp_path: Path) -> None:
    """They apply when a data plane starts, can be switched off, and `reset` switches them on again."""
    file = tmp_path / "workspace.yaml"
    file.write_text(WORKSPACE)
    with DataPlane(file, listen=False, backoff=Backoff(scale=0)) as plane:
        plane.send(EVENT, source="web", run="a")
        plane.drain()
        plane.set_faults(None, destination="crm")
        plane.send(EVENT, source="web", run="b")
        plane.drain()
        fates = [{fate.status for fate in plane.of_run(run).fates} for run in "ab"]
        off = [state.key for state in plane.faults]
        plane.reset()
        again = [(state.kind, state.key, state.name) for state in plane.faults]

        assert fates == [{"dead"}, {"delivered"}]
        assert (off, again) == ([], [("destination", "crm", "gone")])
        assert Workspace.loads(plane.workspace.dumps()).faults == plane.workspace.faults


WORKSPACE = """\
destinations:
  crm: {type: WEBHOOK, config: {webhookUrl: https://crm.example/in}}
sources:
  web: {destinations: [crm]}
faults:
  profiles:
    gone: {down: [{until: 100000, status: 502}]}
  destinations: {crm: gone}
"""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("profiles: {a: {latency: {uniform: [1, 2], normal: {mean: 1, deviation: 1}}}}", "7:18: must have exactly one"),
        ("profiles: {a: {latncy: 1}}", "7:18: unknown key 'latncy'. Did you mean 'latency'?"),
        ("profiles: {a: {errors: {share: 2}}}", "7:34: "),
        ("profiles: {a: {close: 0.7, closeAfter: 0.7}}", "7:14: the shares of"),
        ("profiles: {a: {down: [{since: 5, until: 4}]}}", "7:36: must be greater than `since`"),
        ("destinations: {crm: nowhere}", "7:23: unknown fault profile 'nowhere'"),
        ("sources: {wbe: a}", "7:13: unknown source 'wbe'. Did you mean 'web'?"),
    ],
)
def test_mistakes_have_their_place(tmp_path: Path, text: str, problem: str) -> None:
    """File, line and column."""
    file = tmp_path / "workspace.yaml"
    file.write_text(WORKSPACE.partition("faults:")[0] + f"# comment\nfaults:\n  {text}\n")
    with pytest.raises(InvalidWorkspace) as error:
        Workspace.load(file)

    assert f"workspace.yaml:{problem}" in str(error.value)


def test_faults_over_http(plane: DataPlane) -> None:
    """Switched on and off, listed, reset; mistakes are refused with their reason."""

    def listed() -> list[Any]:
        return [
            (i["kind"], i["key"], i["run"]) for i in json.loads(plane.ingest("GET", "/inspect/faults").body)["items"]
        ]

    on = admin(plane, "faults", {"destination": "crm", "profile": {"latency": 0, "errors": {"share": 1}}, "run": "a"})
    plane.send(EVENT, source="web", run="a")
    plane.send(EVENT, source="web", run="b")
    plane.wait(lambda: any(d.status == 503 for d in plane.deliveries), timeout=60)
    shown = listed()
    wrong = [
        admin(plane, "faults", body)
        for body in (
            {"destination": "crm", "source": "web", "profile": None},
            {"destination": "crm", "profile": {"latency": {}}},
            {"destination": "crm", "profile": "nothing"},
            {"source": "nowhere", "profile": None},
            {"source": "web", "profile": {"close": 2}},
        )
    ]
    plane.ingest("DELETE", "/admin/faults?run=a", headers={"Authorization": f"Bearer {plane.token}"})
    plane.drain()

    assert (on.status, shown, listed()) == (200, [("destination", "crm", "a")], [])
    assert [answer.status for answer in wrong] == [400, 409, 404, 404, 400]
    assert all(json.loads(answer.body)["message"] for answer in wrong)
    assert {f.status for f in plane.of_run("b").fates} == {"delivered"}


def test_bad_profiles_in_python(plane: DataPlane) -> None:
    """The error names the member, the place, or the profiles."""
    with pytest.raises(UsageError, match=r"profile\.latency: must have exactly one of uniform"):
        plane.set_faults(Faults(latency=Latency()), destination="crm")
    with pytest.raises(UsageError, match="either a destination or a source"):
        plane.set_faults(None)
    with pytest.raises(UnknownName, match="unknown fault profile 'gone'"):
        plane.set_faults("gone", source="web")


SUITE = """\
workspace: workspace.yaml
scenarios:
  - name: it survives an outage
    faults: {destinations: {crm: gone}}
    source: web
    send: {type: track, event: E, userId: u1}
    expect: {delivered: [{}], attempts: {$length: {$gt: 1}}}
  - name: without faults
    source: web
    send: {type: track, event: E, userId: u1}
    expect: {delivered: [{}], attempts: 1}
  - name: the client gives up
    faults: {sources: {web: {closeAfter: 1}}}
    source: web
    send: {type: track, event: E, userId: u1}
    expect: {delivered: [{}]}
  - name: the ingestion refuses
    faults: {sources: {web: {errors: {share: 1, retryAfter: 3}}}}
    source: web
    send: {type: track, event: E, userId: u1}
    expect: {response: {status: 503, headers: {retry-after: "3"}}, delivered: []}
  - name: a profile of its own
    faults: {destinations: {crm: {errors: {share: 1, statuses: [404]}}}}
    source: web
    send: {type: track, event: E, userId: u1}
    expect: {failed: [{status: 404, error: {$contains: injected by a fault profile}}]}
"""


def test_scenarios_name_profiles(tmp_path: Path) -> None:
    """Only their own requests meet them, on the virtual clock; the workspace's assignments do not apply."""
    (tmp_path / "workspace.yaml").write_text(WORKSPACE.replace("100000", "30"))
    path = tmp_path / "s.suite.yaml"
    path.write_text(SUITE)
    outage, without, client, refusing, own = outcomes(path)
    path.write_text(SUITE.replace("crm: gone", "crm: gnoe"))
    with pytest.raises(ToolkitError) as error:
        outcomes(path)

    for outcome in (outage, without, refusing, own):
        assert (outcome.status, outcome.reason, [str(d) for d in outcome.differences]) == ("passed", "", [])
    assert client.status == "error"
    assert "closed the connection without a response" in str(client.reason)
    assert "s.suite.yaml:4:29: unknown fault profile 'gnoe'. Did you mean 'gone'?" in str(error.value)
