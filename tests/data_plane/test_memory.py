"""Memory use stays within the limits of the workspace, whatever destinations and readers do."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.server import Backoff
from svctoolkit.server.collector import rare_collections
from svctoolkit.server.worker import PROFILES
from svctoolkit.workspace import PlaneLimits

EVENT = {"type": "track", "event": "E", "userId": "u1"}
_COMMON = """
import gc, sys
from pathlib import Path
from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.workspace import PlaneLimits

def megabytes():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024

workspace = Workspace("shop")
workspace.destination("crm", "WEBHOOK", config={"webhookUrl": sys.argv[2] if len(sys.argv) > 2 else "https://crm.example"})
workspace.source("web", destinations=["crm"])
event = {"type": "track", "event": "E", "properties": {"text": "x" * 500}}
"""
_LARGE_ANSWERS = """
import http.server, threading

gc.disable()  # memory is given back at once, not when somebody looks for circles

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(30 << 20))
        self.end_headers()
        for _ in range(30):
            self.wfile.write(b"x" * (1 << 20))
    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
workspace.destinations["crm"].config = {"webhookUrl": f"http://127.0.0.1:{server.server_port}/"}
workspace.delivery.mode, workspace.delivery.concurrency = "live", 2
with DataPlane(workspace, listen=False, store=Path(sys.argv[1]) / "plane.db") as plane:
    for rounds in range(2):
        before = megabytes()
        plane.send([{**event, "userId": f"u{n}"} for n in range(20)], source="web")
        plane.drain(60)
    assert len(plane.delivered) == 40
    print(megabytes() - before)  # of the second round: the first has buffers for two answers at a time
server.shutdown()
"""
_DOWN = """
workspace.delivery.profile = "production"
workspace.data_plane.limits = PlaneLimits(waiting=200)
with DataPlane(workspace, listen=False, store=Path(sys.argv[1]) / "plane.db") as plane:
    plane.script("crm", Answer(503))
    plane.send([{**event, "userId": "u"}] * 1000, source="web")
    for quarter in range(3):
        before = megabytes()
        for number in range(4):
            plane.send([{**event, "userId": f"u{quarter}-{number}-{n}"} for n in range(500)], source="web")
        plane.advance(6 * 3600, timeout=120)
    print(megabytes() - before)  # of the last quarter: the first two fill what is bounded
"""


@pytest.mark.slow
@pytest.mark.parametrize(("script", "most"), [(_LARGE_ANSWERS, 120), (_DOWN, 60)], ids=["answers", "down"])
def test_memory_stays_bounded(tmp_path: Path, script: str, most: float) -> None:
    """Of 20 answers of 30 MB only the beginnings are kept; events of an unavailable destination stay in the store."""
    command = [sys.executable, "-c", _COMMON + script, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280)

    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < most


def test_a_server_collects_garbage_rarely_until_it_ends() -> None:
    """Not a data plane in another program: only a process that does nothing but serve."""
    before = gc.get_threshold()
    with rare_collections():
        frozen, rare = gc.get_freeze_count(), gc.get_threshold()

    assert frozen > 0
    assert rare[0] > before[0]
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)


def test_events_beyond_the_limit_wait_in_the_store(workspace: Workspace) -> None:
    """For a failing destination at most `waiting` events are in memory; all are delivered in the end."""
    workspace.data_plane.limits = PlaneLimits(waiting=40)
    workspace.sources["web"].connections.pop()
    with DataPlane(workspace, listen=False, backoff=Backoff(first=3600, jitter=0)) as plane:
        plane.script("crm", *[Answer(503)] * 40, Answer(200))
        for number in range(5):
            plane.send([{**EVENT, "userId": f"u{number}-{n}"} for n in range(100)], source="web")
        plane.wait(lambda: len([fate for fate in plane.fates if fate.attempts]) >= 20)
        plane.wait(lambda: plane._engine._deliveries.is_quiet())
        in_memory = len(plane._engine._deliveries._lanes["crm"]._memory)
        plane.advance(24 * 3600)
        plane.drain()

        assert 20 <= in_memory <= 40
        assert {fate.status for fate in plane.fates} == {"delivered"}
        assert len(plane.fates) == 500


def test_changes_beyond_the_limit_are_counted_as_missed(workspace: Workspace) -> None:
    """The newest `changes` are kept for readers; later readers learn how many were dropped."""
    workspace.data_plane.limits = PlaneLimits(changes=50)
    with DataPlane(workspace, listen=False) as plane:
        for _ in range(30):
            plane.send([EVENT] * 10, source="quiet")
            plane.drain()
        reading = plane._engine.journal.feed.read(0, None, 10_000)

    assert 50 <= len(reading.frames) < 70
    assert reading.missed + len(reading.frames) == reading.number


@pytest.mark.parametrize(
    ("failures", "age", "throttled", "dead"),
    [(2, 180 * 60, False, False), (3, 180 * 60, False, True), (50, 179 * 60, False, False), (999, 7e5, True, False)],
)
def test_production_gives_up_when_rudderstack_does(failures: int, age: float, throttled: bool, dead: bool) -> None:
    """After three hours and three attempts; postponed events after 30 days."""
    assert PROFILES["production"].gives_up(failures, age, throttled=throttled) is dead
    assert [PROFILES["production"].pause(n, None) for n in (1, 2, 5, 6)] == [10, 20, 160, 300]
