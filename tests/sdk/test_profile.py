"""`profile="server"`: many users, many processes, containers that come and go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from svctoolkit.sdk.base.settings import server_backoff, settings

from .gateway import KEY, Gateway, until

EXIT = """
import sys
from svctoolkit.sdk import ServiceClient
client = ServiceClient(data_plane_url=sys.argv[1], data_directory=sys.argv[2], SETTINGS)
client.initialize(sys.argv[3])
client.track("Order Completed", user_id="u-1")
"""


class Clock:
    """Virtual time."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_server_records_no_lifecycle_events_and_no_users(make, gateway: Gateway, tmp_path: Path):
    """Three containers, each with an empty disk: their events without a user all have one anonymous ID."""
    for number in range(3):
        client = make(profile="server", data_directory=tmp_path / str(number))
        client.track("Job Done")
        client.identify("u-1", {"plan": "plus"})
        client.track("Order Completed", user_id="u-2")
        client.track("Job Done")
        assert client.flush()

    assert len({event["anonymousId"] for event in gateway.events if event["event"] == "Job Done"}) == 1
    others = [event for event in gateway.events if event["event"] != "Job Done"]
    assert [(event["userId"], "anonymousId" in event) for event in others] == [("u-1", False), ("u-2", False)] * 3
    assert all("device" not in event["context"] and "userId" not in event for event in gateway.events[::4])


def test_the_profile_sets_defaults_that_settings_override():
    """Phones keep the specified defaults; what the application sets holds in both profiles."""
    phone, server = settings({}), settings({"profile": "server"})

    assert (phone.track_lifecycle_events, phone.exit_timeout) == (True, 5.0)
    assert (server.track_lifecycle_events, server.exit_timeout) == (False, 2.0)
    own = settings({"profile": "server", "trackLifecycleEvents": True, "exitTimeout": 8})
    assert (own.track_lifecycle_events, own.exit_timeout) == (True, 8.0)


def test_the_back_off_of_a_server_is_at_most_15_seconds():
    """It grows from below 1 s, and differs from process to process."""
    waits = [server_backoff(n) for n in (1, 2, 3, 4, 5, 6, 1000) for _ in range(50)]

    assert max(waits) <= 15
    assert max(waits[:50]) <= 1
    assert min(waits[-50:]) >= 7.5
    assert len(set(waits)) > 100


def test_after_an_outage_of_35_seconds_events_go_out_within_20_seconds(make, gateway: Gateway):
    """In virtual time: all 500 events arrive, in order."""
    clock = Clock()
    began = clock.now
    gateway.rule = lambda _: (503, {}, b"down") if clock.now < began + 35 else None
    client = make(profile="server", clock=clock, backoff=server_backoff, sleep_timeout=10)
    for number in range(500):
        client.track(f"event {number}", user_id="u-1")
    last = client.track("last", user_id="u-1")
    attempts = []
    while gateway.names[-1:] != ["last"] and clock.now < began + 55:
        clock.now += 1
        client._engine.worker.wake()  # it looks each second anyway
        # Either it has failed again, or it has sent everything.
        until(lambda: client._engine.dispatcher.wait() or client.stats().waiting == 0)
        attempts.append(len(gateway.batches))

    assert gateway.names == [*(f"event {number}" for number in range(500)), "last"]
    assert gateway.events[-1]["messageId"] == last
    assert attempts[33] >= 4  # there was an outage


@pytest.mark.parametrize(("seconds", "names"), [(0, []), (30, ["Order Completed"])], ids=["no time", "time"])
def test_the_time_at_exit_is_a_setting(gateway: Gateway, tmp_path: Path, seconds: int, names: list[str]):
    """Without time, the program ends at once; its events are sent at the next start."""
    settings = f"profile='server', exit_timeout={seconds}"
    program = [sys.executable, "-c", EXIT.replace("SETTINGS", settings), gateway.url, str(tmp_path), KEY]
    subprocess.run(program, check=True, timeout=120)
    assert gateway.names == names

    program[2] = program[2].replace("client.track", "assert client.flush(60); #")
    subprocess.run(program, check=True, timeout=120)
    assert gateway.names == ["Order Completed"]
