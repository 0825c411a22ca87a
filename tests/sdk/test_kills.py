"""Random kills: see `kills`, which also runs by hand, with as many kills as wanted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.queue import journal

from .gateway import KEY, Gateway
from .kills import run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs fork and signals")
Make = Callable[..., ServiceClient]
DEAD = """
import os, sys
from svctoolkit.sdk import ServiceClient
client = ServiceClient(data_directory=sys.argv[1], data_plane_url="http://127.0.0.1:9", track_lifecycle_events=False)
client.initialize(sys.argv[2])
for number in range(20):
    client.track(f"{number}", user_id="u-1")
os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_no_acknowledged_event_is_lost_by_kills(tmp_path: Path):
    """Two processes of three threads, a hostile server, a slow disk: nothing is lost, order and messageIds are kept."""
    outcome = run(tmp_path, kills=12, seed=2)

    assert outcome.acknowledged > 100
    assert (outcome.lost, outcome.disordered, outcome.renamed) == ([], [], [])


def test_a_journal_is_locked_before_it_has_its_name(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another process cannot mistake a journal that is being created for that of a dead one, and remove it."""
    lock, unlocked = journal.fcntl.flock, []

    def watch(file: int, operation: int) -> None:
        unlocked.extend(path.name for path in tmp_path.rglob(f"*{journal.SUFFIX}"))
        lock(file, operation)

    monkeypatch.setattr(journal.fcntl, "flock", watch)
    client = make()
    client.track("one")

    assert len(list(tmp_path.rglob(f"*{journal.SUFFIX}"))) == 1
    assert unlocked == []


def test_a_starting_client_waits_for_another_one_that_adopts(
    make: Make, gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its users' earlier events are in the journal of the dead process, and arrive before its own."""
    dead = subprocess.run([sys.executable, "-c", DEAD, str(tmp_path / "data"), KEY])
    assert dead.returncode == -signal.SIGKILL
    waited = threading.Event()
    with ExitStack() as other:
        assert other.enter_context(journal.adoption(str(tmp_path / "data" / "queue-3.db"), 0.0))

        def release(_: float) -> None:
            waited.set()
            other.close()

        monkeypatch.setattr(journal.time, "sleep", release)
        client = make()
    client.track("20", user_id="u-1")
    assert client.flush()

    assert waited.is_set()
    assert gateway.names == [str(number) for number in range(21)]


def test_a_call_does_not_count_the_events_in_memory(make: Make, tmp_path: Path):
    """With thousands of events in memory, because the disk takes nothing, a call does no more than with a few."""
    (tmp_path / "file").write_text("not a directory")
    client = make(data_directory=tmp_path / "file" / "data", data_plane_url="http://127.0.0.1:9")
    steps = [0]

    def count(*_: object) -> None:
        steps[0] += 1

    def steps_of_a_call() -> int:
        client.stats()  # sorts the events in
        steps[0] = 0
        sys.setprofile(count)
        try:
            client.track("event", user_id="u-1")
        finally:
            sys.setprofile(None)
        return steps[0]

    steps_of_a_call()
    few = steps_of_a_call()
    for _ in range(2000):
        client.track("event", user_id="u-1")

    assert client.stats().in_memory >= 2000
    assert steps_of_a_call() < few + 100
