"""What child processes record arrives, however they are started and however they end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from svctoolkit.sdk import ServiceClient
from tests.examples import some_by_default

from . import servers
from .gateway import KEY, Gateway, until

Make = Callable[..., ServiceClient]


@pytest.mark.parametrize(
    ("way", "method", "end", "jobs"),
    some_by_default(
        [
            ("process", "fork", "shutdown", 4),
            ("unjoined", "fork", "exit", 4),
            ("killed", "fork", "exit", 4),
            ("pool", "fork", "shutdown", 12),
            ("executor", "spawn", "exit", 3),
            ("pool", "forkserver", "shutdown", 3),
        ],
        4,
    ),
)
def test_children_of_multiprocessing(gateway: Gateway, tmp_path: Path, way: str, method: str, end: str, jobs: int):
    """All events arrive until the parent ends, also if `multiprocessing` ends the children with a signal."""
    arrived = servers.multiprocessing(way, method, end, jobs, gateway, str(tmp_path))

    assert arrived == {f"job {number}" for number in range(jobs)}


@pytest.mark.parametrize(
    "command",
    [servers.gunicorn("gevent", 2), servers.uvicorn(2)],
    ids=lambda command: command[0],
)
def test_servers_with_several_processes(command: list[str]):
    """With the client at module level, loaded before the fork: every request's event arrives until the server ends.

    `python -m tests.sdk.servers` runs more of them.
    """
    for module in [word for word in command if word in ("gunicorn", "gevent")]:
        pytest.importorskip(module)
    run = servers.served(command, number=24)

    assert (run.recorded, run.arrived) == (24, 24)


def test_a_worker_of_gevent_does_not_stop_other_greenlets(tmp_path: Path):
    """gevent replaces locks and threads after the fork: while the client waits for events, other greenlets run."""
    pytest.importorskip("gevent")
    program = f"""
import os, threading
from svctoolkit.sdk import ServiceClient
looks = []
def clock():
    looks.append(threading.current_thread().name)
    return 1e9
client = ServiceClient(data_directory={str(tmp_path)!r}, data_plane_url="http://127.0.0.1:9", clock=clock)
client.initialize("KEY")
if (child := os.fork()) == 0:
    from gevent import monkey
    monkey.patch_all()
    import gevent
    client.track("e")
    turns, rounds = 0, 0
    while rounds < 3:
        looks.clear()
        while "svctoolkit-sdk" not in looks:  # each second
            gevent.sleep(0.005)
            turns += 1
        rounds += 1
    os._exit(turns < 20)
assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=600)

    assert done.returncode == 0, done.stderr


def test_shutdown_is_not_true_while_another_process_has_not_moved_its_events(make: Make, gateway: Gateway, tmp_path):
    """The other process hangs with an event in its journal: False within `exit_timeout`. After its end: True."""
    program = f"""
import os, signal
from svctoolkit.sdk import ServiceClient
c = ServiceClient(data_directory={str(tmp_path / "data")!r}, data_plane_url={gateway.url!r}, sleep_timeout=3600,
                  track_lifecycle_events=False)
c.initialize({KEY!r}).wait()
c._runtime.engine.database.gate.enter()  # its worker moves nothing any more
c.track("of the other process")
os.write(1, b"x")
signal.pause()
"""
    client = make(exit_timeout=0.2)
    other = subprocess.Popen([sys.executable, "-W", "ignore", "-c", program], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        assert other.stdout.read(1) == b"x"
        begin = time.monotonic()
        assert client.flush()
        assert not client.shutdown(200)
        assert time.monotonic() - begin < 150
    finally:
        other.kill()
        other.communicate()

    assert client.shutdown(60)
    assert gateway.names == ["of the other process"]


MEMORY = """
import multiprocessing, os, sys
from svctoolkit.sdk import ServiceClient
client = ServiceClient(profile="server", data_plane_url=os.environ["SHOP_DATA_PLANE"], data_directory=":memory:",
                       exit_timeout=60, durable=os.environ["DURABLE"])
def job():
    client.track("job")
    client.track("job")
if __name__ == "__main__":
    method = sys.argv[1]
    if method == "fork":
        client.initialize(os.environ["SHOP_KEY"])
    child = multiprocessing.get_context(method).Process(target=job)
    child.start()
    child.join()
    sys.exit(child.exitcode)
else:
    client.initialize(os.environ["SHOP_KEY"])
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_with_a_queue_in_memory_warns_once_and_sends_at_its_end(gateway: Gateway, tmp_path: Path, method: str):
    """What it records would be lost if it was killed. With `durable="required"` it does not even start."""
    script = tmp_path / "program.py"
    script.write_text(MEMORY)

    def run(durable: str) -> subprocess.CompletedProcess[str]:
        environment = servers.environment(gateway, str(tmp_path)) | {"DURABLE": durable}
        command = [sys.executable, "-W", "ignore", str(script), method]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)

    done = run("preferred")
    assert (done.returncode, done.stderr.count("events are kept in memory")) == (0, 1), done.stderr
    assert gateway.names == ["job", "job"]

    if method == "spawn":
        done = run("required")
        assert done.returncode != 0
        assert 'durable is "required"' in done.stderr


def test_files_of_processes_killed_while_they_created_a_journal_are_removed(make: Make, tmp_path: Path):
    """Only old ones that no process has locked: a new one may just get its lock."""
    folder = tmp_path / "data"
    folder.mkdir()
    stray, fresh = folder / "queue-3.7-aaaaaaaa.journal.new", folder / "queue-3.8-bbbbbbbb.journal.new"
    stray.touch()
    fresh.touch()
    os.utime(stray, (time.time() - 3600,) * 2)
    client = make()
    until(lambda: client.stats().waiting == 0)

    assert (stray.exists(), fresh.exists()) == (False, True)
