"""`svctoolkit-client queue DIR` and metrics: what operators see and do, also beside running applications."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from svctoolkit.sdk import ServiceClient, Stats
from svctoolkit.sdk.middleware import MetricsASGI, MetricsWSGI
from svctoolkit.sdk.operate import main
from svctoolkit.sqlite import Connection

from .gateway import KEY, Gateway

Make = Callable[..., ServiceClient]
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on the clients' directory; return its output."""

    def command(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(["queue", str(tmp_path / "data"), *arguments]) == code
        return capsys.readouterr().out

    return command


def _is_balanced(stats: Stats) -> bool:
    gone = stats.delivered + stats.waiting + stats.parked + sum(stats.dropped.values())
    return stats.recorded + stats.carried == gone


def test_events_in_the_journal_of_a_running_process_are_shown(make: Make, run: Run):
    """Events that are not in the database yet are counted, listed and exported once, like all others."""
    client = make()
    client.track("stored", user_id="u-1")
    client.stats()  # moves it into the database
    client.track("in the journal", {"a": "\x1b[31m"}, user_id="u-2")

    (numbers,) = json.loads(run("stats", "--format", "json"))["sources"]
    assert (numbers["waiting"], numbers["in_journals"], numbers["parked"]) == (2, 1, 0)
    assert "svctoolkit_queue_waiting{source=" in run("stats", "--format", "prometheus")
    assert re.search(r"^\w{16} +2 +0 +0 +0 ", run("stats"), re.MULTILINE)
    assert [line.split()[-1] for line in run("ls").splitlines()] == ["u-1", "u-2"]
    assert [json.loads(line)["event"] for line in run("ls", "--json").splitlines()] == ["stored", "in the journal"]
    exported = [json.loads(line) for line in run("export").splitlines()]
    assert [event["event"] for event in exported] == ["stored", "in the journal"]
    client.stats()
    assert len(run("ls", "--limit", "0").splitlines()) == 2


def test_parked_events_go_out_after_retry(make: Make, gateway: Gateway, run: Run, tmp_path: Path):
    """A gateway that answers 400 to everything costs one warning; `retry` brings back one event, then all."""
    errors: list[Exception] = []
    gateway.rule = lambda events: (400, {}, b"bad deployment")
    client = make(on_error=errors.append, flush_queue_size=5)
    for number in range(12):
        client.track(f"event {number}")
    client.flush()
    assert client.stats().parked == 12
    (warning,) = [str(error) for error in errors]
    assert f"svctoolkit-client queue {tmp_path / 'data'} retry" in warning

    gateway.rule = None
    assert run("retry", "--limit", "1").startswith("1 event(s)")
    assert client.flush()
    assert gateway.names == ["event 0"]
    assert run("retry").startswith("11 event(s)")
    assert client.flush()
    assert gateway.names == [f"event {number}" for number in range(12)]
    assert _is_balanced(client.stats())


def test_purge_deletes_what_is_asked_but_not_what_is_being_sent(make: Make, gateway: Gateway, run: Run):
    """The claimed events of a running client stay, so that no new event can get their place."""
    gateway.rule = lambda events: (400, {}, b"no")
    client = make(flush_queue_size=10)  # the others are not enough for a request
    client.track("bad")
    assert client.flush()
    for number in range(4):
        client.track(f"event {number}")
    client.frame()  # stores them
    with sqlite3.connect(client._engine.database.path, factory=Connection) as other:
        (first,) = other.execute("SELECT min(id) FROM events").fetchone()
        (source,) = other.execute("SELECT source FROM events").fetchone()
        owner = f"{os.uname().nodename}|{os.getppid()}|x"
        claim = ("token", "cloud", source, first, first + 1, owner, client._settings.clock() + 60)
        other.execute("INSERT INTO claims VALUES(?,?,?,?,?,?,?)", claim)
    other.close()

    assert run("purge", "--state", "parked", "--older-than", "1d", "--yes") == "deleted: 0 parked\n"
    assert "deleted: 2 waiting, 1 parked\nkept: 2 event(s)" in run(
        "purge", "--state", "waiting", "--state", "parked", "--yes"
    )
    stats = client.stats()
    assert (stats.waiting, stats.parked, _is_balanced(stats)) == (2, 0, True)


def test_purge_asks_before_it_deletes(make: Make, run: Run, capsys: pytest.CaptureFixture[str]):
    """Without a terminal and without --yes nothing is deleted."""
    client = make()
    client.track("one")
    run("purge", "--state", "waiting", code=2)
    assert client.stats().waiting == 1


DEAD = """
import os, sys
from svctoolkit.sdk import ServiceClient
client = ServiceClient(data_directory=sys.argv[1], data_plane_url="http://127.0.0.1:9", application_version="1.0",
    sleep_timeout=3600)
client.initialize(sys.argv[2])
for number in range(50):
    client.track(f"event {number}", user_id=f"u-{number % 3}")
os.kill(os.getpid(), 9)
"""


def test_drain_sends_the_events_of_a_dead_process(gateway: Gateway, tmp_path: Path, monkeypatch, run: Run):
    """Also those in its journal, in order, without a trace in the application's identity or version."""
    dead = subprocess.run([sys.executable, "-c", DEAD, str(tmp_path / "data"), KEY])
    assert dead.returncode == -signal.SIGKILL
    before = _states(tmp_path)
    monkeypatch.setenv("SVCTOOLKIT_WRITE_KEY", KEY)
    run("drain", "--data-plane-url", gateway.url)

    names = [name for name in gateway.names if name.startswith("event")]
    assert names == [f"event {number}" for number in range(50)]
    assert json.loads(run("stats", "--format", "json"))["sources"] == []
    assert _states(tmp_path) == before
    monkeypatch.setenv("SVCTOOLKIT_WRITE_KEY", "another key")
    assert "no event waits for this write key" in run("drain")


def _states(tmp_path: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(tmp_path / "data" / "queue-3.db", factory=Connection) as connection:
        rows = connection.execute("SELECT key, value FROM state ORDER BY key").fetchall()
    connection.close()
    return [(key, value) for key, value in rows if key.split()[1] in ("device_id", "identity", "release", "session")]


def test_drain_says_why_events_remain(make: Make, gateway: Gateway, run: Run, monkeypatch: pytest.MonkeyPatch):
    """The exit code is 1, and the last response is shown."""
    client = make(backoff=lambda failures: 3600.0)
    client.track("one")
    gateway.rule = lambda events: (503, {}, b"closed for today")
    client.stats()  # moves it into the database; what is in a journal, its own process sends
    monkeypatch.setenv("SVCTOOLKIT_WRITE_KEY", KEY)
    output = run("drain", "--data-plane-url", gateway.url, "--timeout", "0.5", code=1)
    assert output.startswith("1 event(s) still wait")
    assert "closed for today" in output


def test_a_directory_without_a_queue_is_an_error(tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]):
    """Nothing is created, and the message says which directory to give."""
    main(["queue", str(tmp_path), "stats"])
    assert "has no queue" in capsys.readouterr().err
    (tmp_path / "queue-3.db").write_text("this is not a database, but long enough to look like one" * 100)
    assert main(["queue", str(tmp_path), "stats"]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["queue-3.db"]


def test_a_million_waiting_events_are_counted_without_reading_them(make: Make):
    """Counts come from an index, so `initialize` does not read the events' content."""
    client = make()
    client.stats()
    with sqlite3.connect(client._engine.database.path, factory=Connection) as connection:
        for query in ("SELECT count(*) FROM events WHERE source='x'", "SELECT count(*) FROM parked WHERE source='x'"):
            (row,) = connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
            assert "USING COVERING INDEX" in row[3]
    connection.close()


def test_a_file_of_an_earlier_version_gets_the_index(make: Make, gateway: Gateway):
    """Its events are still delivered."""
    first = make()
    first.track("old")
    first.shutdown(0)
    with sqlite3.connect(first._engine.database.path, factory=Connection) as connection:
        connection.execute("DROP INDEX events_of_source")
        connection.execute("DROP INDEX parked_of_source")
    connection.close()
    second = make()
    assert second.flush()
    assert gateway.names == ["old"]
    assert second.stats().dropped == {}


FORKS = """
import json, os, sys
from svctoolkit.sdk import ServiceClient
client = ServiceClient(data_directory=sys.argv[1], data_plane_url=sys.argv[2], track_lifecycle_events=False,
    sleep_timeout=3600, flush_queue_size=100)
client.initialize(sys.argv[3])
for number in range(7):
    client.track("of the parent", user_id="u")
client.stats()
for number in range(3):
    client.track("of the parent, in the journal", user_id="u")
def show():
    stats = client.stats()
    gone = stats.delivered + stats.waiting + stats.parked + sum(stats.dropped.values())
    print(json.dumps([stats.recorded, stats.delivered, stats.recorded + stats.carried - gone]), flush=True)
for child in range(2):
    if os.fork() == 0:
        show()
        for number in range(5):
            client.track("of a child", user_id="u")
        show()
        client.shutdown(60)  # also sends what the parent has in its journal
        show()
        os._exit(0)
    os.wait()
client.flush(60)
show()
"""


@pytest.mark.skipif(os.name != "posix", reason="needs fork")
@pytest.mark.parametrize("memory", [True, False])
def test_the_counts_of_several_processes_can_be_added(gateway: Gateway, tmp_path: Path, memory: bool):
    """Each process balances at any time, and together they have recorded and delivered what there was."""
    directory = ":memory:" if memory else str(tmp_path / "data")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, directory, gateway.url, KEY], capture_output=True, text=True
    )
    shown = [json.loads(line) for line in done.stdout.splitlines()]

    assert len(shown) == 7, done.stderr
    assert [difference for _, _, difference in shown] == [0] * 7
    last = [shown[2], shown[5], shown[6]]
    assert sum(recorded for recorded, _, _ in last) == 20
    assert sum(delivered for _, delivered, _ in last) == 20
    assert len(gateway.events) == 20


def test_metrics_are_served_and_written(make: Make, tmp_path: Path):
    """As an ASGI and a WSGI application, and as a file."""
    client = make()
    client.track("one")
    client.opt_out(True)
    client.track("two")
    started: list[object] = []
    body = b"".join(MetricsWSGI(client)({}, lambda *arguments: started.append(arguments)))
    assert started[0][0] == "200 OK"  # type: ignore[index]
    sent: list[dict[str, object]] = []

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    asyncio.run(MetricsASGI(client)({"type": "http"}, None, send))  # type: ignore[arg-type]
    client.write_metrics(tmp_path / "svctoolkit.prom")
    assert sent[1]["body"] == body
    assert (tmp_path / "svctoolkit.prom").read_bytes() == body
    process = f'process="{os.getpid()}"'
    lines = body.decode().splitlines()
    assert f"svctoolkit_client_events_recorded_total{{{process}}} 2" in lines
    assert f'svctoolkit_client_events_dropped_total{{{process},reason="opted out"}} 1' in lines
    assert f"svctoolkit_client_events_waiting{{{process}}} 1" in lines
    assert all(re.fullmatch(r"# (HELP|TYPE) .+|\w+\{[^{}]+\} \d+", line) for line in lines)


def test_the_command_can_be_cut_short(make: Make, tmp_path: Path):
    """`... | head` ends quietly."""
    client = make()
    for number in range(1500):
        client.track(f"event {number}", {"text": "x" * 100})
    program = "import sys; from svctoolkit.sdk.operate import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "queue", str(tmp_path / "data"), "export"]
    export = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert export.stdout is not None
    export.stdout.readline()
    export.stdout.close()
    assert export.wait() == 0
    assert export.stderr is not None
    assert export.stderr.read() == b""
    export.stderr.close()
