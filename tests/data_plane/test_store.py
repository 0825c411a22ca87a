"""The store survives restarts, kills and full disks, and keeps only a limited number of events."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.errors import ConfigError
from svctoolkit.server import Backoff, Retention
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.database import Store
from svctoolkit.sqlite import Connection
from tests.data_plane.conftest import basic
from tests.http_server import HttpServer

EVENT = {"type": "track", "event": "E", "userId": "u1"}
KILLS = int(os.environ.get("SVCTOOLKIT_KILLS", "3"))


def test_a_store_in_a_file_survives_a_restart(workspace: Workspace, tmp_path: Path) -> None:
    """Events, fates, deliveries and refusals are all there again."""
    file = tmp_path / "sub" / "plane.db"
    with DataPlane(workspace, listen=False, store=file) as plane:
        plane.send([{**EVENT, "messageId": "m1"}], source="web", run="r1")
        plane.send({"type": "track"}, source="web")
        plane.drain()
        before = list(plane.received), list(plane.rejected), [d.request for d in plane.delivered]
    with DataPlane(workspace, listen=False, store=file) as plane:
        after = list(plane.received), list(plane.rejected), [d.request for d in plane.delivered]
        plane.send({**EVENT, "messageId": "m1"}, source="web", run="r1")
        plane.drain()

        assert after == before
        assert [f.status for f in plane.fates] == ["delivered", "delivered", "filtered", "filtered"]


def test_accepted_events_are_synced_to_disk_and_results_are_not(tmp_path: Path) -> None:
    """SQLite syncs a block before it is confirmed, also after results, which are written on the same connection."""
    block = Block(1, 1, "web", "", 0.0, (), "track", "", ("m1",), b"{}")
    statements: list[str] = []
    store = Store(tmp_path / "plane.db")
    store.write(lambda to: to.set_trace_callback(statements.append)).result()
    for _ in range(2):
        store.append(1, lambda first: replace(block, first=first).row(), lambda _: None).result()
        store.write(lambda _: None).result()
    store.close()

    steps = [text.partition(" into")[0] for text in statements[statements.index("pragma synchronous=full") :]]
    once = ["pragma synchronous=full", "insert or replace", "pragma synchronous=normal", "begin immediate", "commit"]
    assert steps == once + once


def test_pending_events_are_delivered_after_a_restart(workspace: Workspace, tmp_path: Path) -> None:
    """The next data plane delivers what a stopped one could not, in order."""
    file = tmp_path / "plane.db"
    with DataPlane(workspace, listen=False, store=file, backoff=Backoff(first=60)) as plane:
        plane.script("crm", Answer(503))
        plane.send([{**EVENT, "messageId": f"m{n}"} for n in range(10)], source="web")
        plane.wait(lambda: len(plane.deliveries) == 11)
    with DataPlane(workspace, listen=False, store=file) as plane:
        plane.drain()

        crm = [(d.message_id, d.attempt) for d in plane.delivered if d.destination == "crm"]
        assert crm == [("m0", 2), *((f"m{n}", 1) for n in range(1, 10))]


@pytest.mark.slow
def test_a_backlog_and_unrouted_requests_survive_a_kill(tmp_path: Path) -> None:
    """Events pending at many destinations and newer unrouted ones all arrive, in order per user."""
    workspace, keys = Workspace("shop"), [f"d{number}" for number in range(12)]
    for key in keys:
        workspace.destination(key, "WEBHOOK", config={"webhookUrl": f"https://{key}.example/in"})
    workspace.source("web", destinations=keys)
    file, ids = tmp_path / "plane.db", [f"m{number:03}" for number in range(120)]
    with DataPlane(workspace, listen=False, store=file, backoff=Backoff(first=600)) as plane:
        for key in keys:
            plane.script(key, Answer(503))
        for start in range(0, 120, 10):
            plane.send([{**EVENT, "messageId": id} for id in ids[start : start + 10]], source="web")
        plane.wait(lambda: len(plane.deliveries) == len(keys))
    with closing(sqlite3.connect(file, isolation_level=None)) as store:
        store.execute("update blocks set routed = 0 where first > 100")
        for table in ("events", "fates", "deliveries"):
            store.execute(f"delete from {table} where seq > 100")
    for copy in (tmp_path / f"copy{number}.db" for number in range(2)):
        copy.write_bytes(file.read_bytes())
        with DataPlane(workspace, listen=False, store=copy) as plane:
            plane.drain(60)

            for key in keys:
                assert [d.message_id for d in plane.delivered if d.destination == key] == ids


@pytest.mark.parametrize("table", ["events", "deliveries"])
def test_a_temporary_failure_of_the_store_loses_nothing(
    workspace: Workspace, tmp_path: Path, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Routes and results that it did not accept are written again: none is lost, repeated or reordered."""
    file = tmp_path / "plane.db"
    with DataPlane(workspace, listen=False, store=file) as plane:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute(f"create trigger broken before insert on {table} begin select raise(abort, 'no'); end")
            for number in range(3):
                plane.send([{**EVENT, "messageId": f"m{number}-{n}"} for n in range(3)], source="web")
            plane.wait(lambda: "retrying" in caplog.text, 60)
            other.execute("drop trigger broken")
        plane.send({**EVENT, "messageId": "m9"}, source="web")
        plane.drain(120)

        ids = [*(f"m{number}-{n}" for number in range(3) for n in range(3)), "m9"]
        assert [d.message_id for d in plane.delivered if d.destination == "crm"] == ids
        assert [r.events[0] for r in plane.recorder.requests if r.destination == "crm"] == ids
        assert [e.message_id for e in plane.received] == ids


def test_secrets_are_not_written_to_the_file(workspace: Workspace, tmp_path: Path) -> None:
    """Stored deliveries have the secrets of the configuration masked."""
    workspace.destinations["crm"].config["headers"] = [{"from": "X-Key", "to": "s3cr3t-value"}]
    with DataPlane(workspace, listen=False, store=tmp_path / "plane.db") as plane:
        plane.send(EVENT, source="web")
        plane.drain()
        sent = [r.request.headers for r in plane.recorder.requests if r.destination == "crm"]

    assert sent[0]["x-key"] == "s3cr3t-value"
    assert b"s3cr3t-value" not in (tmp_path / "plane.db").read_bytes()


def test_one_data_plane_per_file(workspace: Workspace, tmp_path: Path) -> None:
    """A second data plane on the same file would deliver twice: it is refused with the reason."""
    with (
        DataPlane(workspace, listen=False, store=tmp_path / "plane.db"),
        pytest.raises(ConfigError, match="another data plane has it open"),
    ):
        DataPlane(workspace, store=tmp_path / "plane.db")


@pytest.mark.parametrize(
    ("content", "message"), [(b"no database" * 100, "file is not a database"), (None, "version 99")]
)
def test_other_files_are_rejected(workspace: Workspace, tmp_path: Path, content: bytes | None, message: str) -> None:
    """Another file, or one of a later version, is left unchanged and closed."""
    file = tmp_path / "plane.db"
    if content:
        file.write_bytes(content)
    else:
        with sqlite3.connect(file, factory=Connection) as made:
            made.execute("pragma user_version=99")
        made.close()

    with pytest.raises(ConfigError, match=message) as refusal:
        DataPlane(workspace, listen=False, store=file)

    assert refusal.tb is not None  # objects that the refusal still references
    if sys.platform == "linux":
        assert not [path for path in map(os.path.realpath, Path("/proc/self/fd").iterdir()) if str(file) in path]


def test_damaged_pages_are_reported(workspace: Workspace, tmp_path: Path) -> None:
    """A store with corrupt pages is rejected with advice, like other unusable files."""
    file = tmp_path / "plane.db"
    with DataPlane(workspace, listen=False, store=file) as plane:
        for number in range(20):
            plane.send([{**EVENT, "messageId": f"{number}-{n}", "text": "x" * 500} for n in range(50)], source="web")
        plane.drain(120)
    content = bytearray(file.read_bytes())
    for start in range(4 * 16_384, len(content), 5 * 16_384):
        content[start : start + 8_000] = random.Random(1).randbytes(8_000)
    file.write_bytes(content)

    with pytest.raises(ConfigError, match=r"cannot use .*plane\.db as a store: .*malformed.* restore a backup"):
        DataPlane(workspace, listen=False, store=file)


def test_an_unwritable_folder_is_an_error(workspace: Workspace, tmp_path: Path) -> None:
    """The error names the file."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match=r"cannot use .*plane\.db as a store"):
        DataPlane(workspace, listen=False, store=tmp_path / "file" / "plane.db")


def test_a_full_disk_loses_no_event(workspace: Workspace, tmp_path: Path) -> None:
    """An event that cannot be stored is answered with 500, so the client sends it again, and `/ready` says so."""
    resource = pytest.importorskip("resource", reason="files of limited size")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with DataPlane(workspace, listen=False, store=tmp_path / "plane.db") as plane:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
        try:
            full = plane.send({**EVENT, "properties": {"text": random.randbytes(1_000_000).hex()}}, source="web")
            health, ready = (plane.ingest("GET", path) for path in ("/health", "/ready"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        again = [plane.ingest("GET", "/ready"), plane.ingest("GET", "/health")]
        later = plane.send(EVENT, source="web")
        plane.drain()

        assert full.status == 500
        assert (health.json["db"], health.json["acceptingEvents"], health.json["mode"]) == ("DOWN", "FALSE", "DEGRADED")
        assert (ready.status, ready.json["reasons"]) == (503, ["events cannot be stored; they are answered with 500"])
        assert [answer.json.get("ready", answer.json.get("db")) for answer in again] == [True, "UP"]
        assert (later.status, len(plane.received)) == (200, 1)


def test_events_are_refused_while_the_file_is_removed(workspace: Workspace, tmp_path: Path) -> None:
    """What is written to a removed file ends with the process, so it is not confirmed; `/ready` says so at once."""
    file, aside = tmp_path / "plane.db", tmp_path / "aside.db"
    with DataPlane(workspace, listen=False, store=file) as plane:
        assert plane.send(EVENT, source="web").status == 200
        plane.drain()
        file.rename(aside)
        ready = plane.ingest("GET", "/ready")
        refused = plane.send(EVENT, source="web")
        aside.rename(file)
        again, later = plane.ingest("GET", "/ready"), plane.send(EVENT, source="web")
        plane.drain()

        assert (ready.status, ready.json["reasons"]) == (503, ["events cannot be stored; they are answered with 500"])
        assert (refused.status, "the file was removed or replaced" in refused.text) == (500, True)
        assert (again.status, later.status, len(plane.received)) == (200, 200, 2)


def test_the_oldest_events_are_deleted(workspace: Workspace) -> None:
    """At most the given number of settled events is kept; pending ones stay."""
    workspace.source("one", destinations=["crm"])
    with DataPlane(workspace, listen=False, retention=Retention(events=1000), backoff=Backoff(first=600)) as plane:
        plane.script("crm", Answer(503), Answer(200))
        for start in range(0, 4000, 250):
            plane.send([{**EVENT, "userId": f"u{start + n}"} for n in range(250)], source="one")
            plane.wait(lambda: plane.ingest("GET", "/inspect/counts").json["under_way"] == {"crm": 1})

        assert 1000 <= len(plane.received) < 2000
        (pending,) = [f.seq for f in plane.fates if f.status == "pending"]
        assert pending <= 250  # it was in the first batch, whose requests are sent in parallel
        assert len(plane.deliveries) < 2000


def test_old_events_are_deleted(workspace: Workspace) -> None:
    """Events older than the limit are deleted, whatever their number."""
    now = [datetime(2024, 1, 1, tzinfo=UTC)]
    with DataPlane(workspace, listen=False, retention=Retention(seconds=60), clock=lambda: now[0]) as plane:
        plane.send([EVENT] * 10, source="quiet")
        plane.drain()
        now[0] += timedelta(minutes=5)
        plane.send([EVENT] * 600, source="quiet")
        plane.drain()

        assert len(plane.received) == 600


PROGRAM = """
import sys
from pathlib import Path
from svctoolkit import DataPlane, Workspace
from svctoolkit.server import Backoff
workspace = Workspace()
keys = [f"d{n}" for n in range(int(sys.argv[3]))]
together = {"isBatchingEnabled": True, "maxBatchSize": 15, "isDefaultMapping": True}
for key in keys:
    url = f"{sys.argv[2]}/{key}"
    if sys.argv[4] == "HTTP":
        workspace.destination(key, "HTTP", config={"apiUrl": url, **together})
    else:
        workspace.destination(key, "WEBHOOK", config={"webhookUrl": url})
workspace.source("web", write_key="web-key", destinations=keys)
workspace.delivery.mode = "live"
plane = DataPlane(workspace, store=Path(sys.argv[1]), backoff=Backoff(attempts=10_000, scale=0.002))
print(plane.url, flush=True)
sys.stdin.readline()
plane.drain(600)
plane.stop()
print("drained", flush=True)
"""


class Sink:
    """The destinations' servers: how often each event came to each, and the order of first acceptance.

    Those in `failing` answer 503 to two of three requests.
    """

    def __init__(self, failing: set[str]) -> None:
        self.url, self._failing, self._lock, self._chance = "", failing, threading.Lock(), random.Random(5)
        self.taken: Counter[tuple[str, str]] = Counter()
        self.most = 0  # events in one request
        self.order: dict[str, list[str]] = {}

    def take(self, destination: str, message_ids: list[str]) -> int:
        with self._lock:
            if destination in self._failing and self._chance.random() < 2 / 3:
                return 503
            self.most = max(self.most, len(message_ids))
            for message_id in message_ids:
                if not self.taken[destination, message_id]:
                    self.order.setdefault(destination, []).append(message_id)
                self.taken[destination, message_id] += 1
            return 200


@contextmanager
def sink(failing: set[str]) -> Iterator[Sink]:
    events = Sink(failing)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            ids = [event["messageId"] for event in (content if isinstance(content, list) else [content])]
            self.send_response(events.take(self.path.rpartition("/")[2], ids))
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: object) -> None: ...

    class Server(HttpServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A killed sender leaves broken connections, which are not errors here."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        events.url = f"http://127.0.0.1:{server.server_port}/in"
        yield events
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("destinations", "failing", "type"),
    [(1, 0, "WEBHOOK"), (12, 6, "WEBHOOK"), (1, 0, "HTTP"), (6, 3, "HTTP")],
)
def test_kills_lose_no_acknowledged_event(tmp_path: Path, destinations: int, failing: int, type: str) -> None:
    """Killed with SIGKILL repeatedly under load: 0 events lost, stuck or out of order at every destination.

    An event may arrive more than once, but only if its result was not on disk when the process died: at most 128 per
    destination and kill, and in practice far fewer. Destinations of the type HTTP get their events in batches; there
    each event has one fate. `SVCTOOLKIT_KILLS` sets the number of kills.
    """
    chance = random.Random(7)
    keys = [f"d{number}" for number in range(destinations)]
    acknowledged: list[str] = []
    with sink({*keys[:failing]}) as events:
        store = tmp_path / "plane.db"
        command = [str(store), events.url, str(destinations), type]
        for number in range(KILLS):
            with _process(command) as process:
                _load(process, number, acknowledged, kill_after=chance.randrange(5, 40))
        with _process(command) as process:
            out, err = process.communicate("stop\n", timeout=660)

    assert out.endswith("\ndrained\n"), err
    assert len(acknowledged) >= 5 * KILLS
    for key in keys:
        assert [message_id for message_id in acknowledged if not events.taken[key, message_id]] == []
        for user in range(3):
            arrived = [m for m in events.order[key] if m.endswith(f"-u{user}")]
            assert arrived == sorted(arrived), key
    assert (events.most > 1) is (type == "HTTP")
    with closing(sqlite3.connect(store)) as kept:
        repeated = kept.execute("select destination, seq from fates group by 1, 2 having count(*) > 1").fetchall()
        others = "select destination, seq, status, by, reason, attempts from fates where status != 'delivered'"
        assert (repeated, kept.execute(others).fetchall()) == ([], [])
    repeats = sum(count - 1 for count in events.taken.values())
    assert repeats <= 128 * destinations * KILLS
    print(f"{KILLS} kills, {len(acknowledged)} acknowledged, {destinations} destinations, {repeats} repeats")


@contextmanager
def _process(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process


def _load(process: subprocess.Popen[str], number: int, acknowledged: list[str], kill_after: int) -> None:
    """Send batches until the process is dead; it is killed during the `kill_after`-th."""
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    with httpx.Client(base_url=url, headers=basic("web-key"), timeout=60) as client:
        for batch in range(kill_after + 100):
            if batch == kill_after:
                threading.Thread(target=process.kill).start()
            ids = [f"m{number:03}-{batch:05}-{n}-u{n % 3}" for n in range(6)]
            events = [{**EVENT, "userId": i.rpartition("-")[2], "messageId": i} for i in ids]
            try:
                answer = client.post("/v1/batch", json={"batch": events})
            except httpx.TransportError:
                return
            assert answer.text == "ok"
            acknowledged.extend(ids)
