"""`svctoolkit forward`: stored events reach another data plane, once, in order, whatever happens in between."""

from __future__ import annotations

import base64
import errno
import json
import signal
import socket
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.cli import main
from svctoolkit.delivery import HttpRequest, HttpResponse
from svctoolkit.errors import ConfigError
from svctoolkit.server.forwarding.forward import forward
from svctoolkit.server.forwarding.position import Position
from svctoolkit.server.forwarding.reader import Reader
from svctoolkit.server.forwarding.sender import ForwardStopped, Sender
from svctoolkit.server.store.archive import Chosen, archive
from svctoolkit.server.worker.lanes.throttle import Limiter
from svctoolkit.workspace import Throttle
from tests.http_server import HttpServer

KEY = "r3al-wr1te-k3y"
START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def login(key: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{key}:'.encode()).decode()}"}


class Bench:
    """A data plane with a store in a file, and a clock that the test sets."""

    def __init__(self, path: Path) -> None:
        self.path, self.now = path, START
        workspace = Workspace("bench")
        for key in ("web", "app"):
            workspace.source(key, write_key=f"{key}-key", destinations=[])
        self.plane = DataPlane(workspace, listen=False, store=path, clock=lambda: self.now)

    def send(self, *events: dict[str, Any], source: str = "web", run: str = "", path: str = "/v1/batch") -> None:
        body = {"batch": list(events)} if path == "/v1/batch" else events[0]
        headers = {**login(f"{source}-key"), **({"X-Svctoolkit-Run": run} if run else {})}
        assert self.plane.ingest("POST", path, headers=headers, body=json.dumps(body).encode()).status == 200

    def send_many(self, count: int, *, first: int = 0, source: str = "web") -> None:
        """Events of five users, in requests of 50, one second each."""
        for start in range(first, first + count, 50):
            self.now += timedelta(seconds=1)
            self.send(*map(event, range(start, min(start + 50, first + count))), source=source)


def event(number: int) -> dict[str, Any]:
    times = {"originalTimestamp": "2026-11-20T07:59:00.000Z", "sentAt": "2026-11-20T07:59:09.500Z"}
    return {"type": "track", "event": "Seen", "userId": f"u{number % 5}", "messageId": f"m{number}", **times}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Its data plane is running while events are forwarded."""
    made = Bench(tmp_path / "events.db")
    with made.plane:
        yield made


@pytest.fixture
def real() -> Iterator[DataPlane]:
    """The data plane that gets the events, on loopback."""
    workspace = Workspace("real")
    workspace.source("web", write_key=KEY, destinations=[])
    workspace.source("app", write_key="0ther-wr1te-k3y", destinations=[])
    with DataPlane(workspace) as plane:
        yield plane


@pytest.fixture
def run(bench: Bench, real: DataPlane, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the command with the store, the address and the key, and further options."""
    monkeypatch.setenv("SVCTOOLKIT_WRITE_KEY", KEY)
    return lambda *options: main(["forward", str(bench.path), "--to", str(real.url), *options])


def ids(plane: DataPlane) -> list[str]:
    return [received.message_id for received in plane.received]


def position_of(store: Path) -> dict[str, Any]:
    (path,) = store.parent.glob(f"{store.name}.forward-*.position")
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_events_arrive_with_their_ids_times_and_order(bench: Bench, real: DataPlane, run: Callable[..., int]) -> None:
    """Also those whose id, type and address are not in the body, and while the store's data plane is running."""
    bench.send_many(230)
    bench.send({"userId": "u1", "event": "Alone"}, path="/v1/track")
    bench.send({"type": "identify", "anonymousId": "a1", "traits": {"n": 1.50}}, {"type": "page", "userId": "u1"})

    assert run() == 0

    same = ("messageId", "type", "timestamp", "originalTimestamp", "request_ip", "rudderId", "traits", "event")
    theirs, ours = real.received, bench.plane.received
    assert len(ours) == 233
    assert [[of.event.get(name) for name in same] for of in theirs] == [
        [of.event.get(name) for name in same] for of in ours
    ]


def test_a_second_start_sends_only_what_is_new(
    bench: Bench, real: DataPlane, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """It says how much was sent before; nothing new is a success."""
    bench.send_many(120)
    codes = [run()]
    bench.send_many(30, first=120)
    codes += [run(), run()]

    printed = capsys.readouterr().out.splitlines()
    assert codes == [0, 0, 0]
    assert ids(real) == [f"m{number}" for number in range(150)]
    assert printed[0].startswith("sent 120 events in 2 requests")
    assert printed[1].startswith("120 of 150 events were sent before")
    assert printed[2].startswith("sent 30 events in 1 request")
    assert printed[3].startswith("nothing new: all 150 events were sent before")


def test_events_that_arrive_meanwhile(bench: Bench, real: DataPlane, run: Callable[..., int]) -> None:
    """While a data plane writes its store, each start sends what is there; in the end, each event was sent once."""
    bench.send_many(100)

    def write() -> None:
        for first in range(100, 1500, 10):
            bench.send_many(10, first=first)

    writer = Thread(target=write)
    writer.start()
    codes = {run()}
    while writer.is_alive():
        codes.add(run())
    writer.join()
    codes.add(run())

    assert codes == {0}
    assert ids(real) == [f"m{number}" for number in range(1500)]


def test_what_is_left_is_counted_within_requests(bench: Bench) -> None:
    """Whatever the position: at the end, in the middle, or in another source's request."""
    for first, count, source in ((0, 50, "web"), (50, 3, "app"), (53, 1, "web"), (54, 40, "app"), (94, 6, "web")):
        bench.send_many(count, first=first, source=source)
    with archive(bench.path) as store:
        reader = Reader(store, Chosen(), "")
        for seq in range(store.bounds().last + 10):
            after = {"web": seq, "app": max(0, seq - 20)}

            assert reader.left(after) == len(list(reader.events(after)))


def test_a_selection(bench: Bench, real: DataPlane, run: Callable[..., int], tmp_path: Path) -> None:
    """By time of receipt, run, and name or type; each choice has its own position."""
    bench.send({"type": "track", "event": "A", "userId": "u", "messageId": "early"})
    bench.now = START + timedelta(hours=2)
    bench.send({"type": "track", "event": "A", "userId": "u", "messageId": "later"}, run="mine")
    bench.send({"type": "page", "name": "A", "userId": "u", "messageId": "page"})
    bench.now = START + timedelta(days=1)
    bench.send({"type": "track", "event": "B", "userId": "u", "messageId": "last"})

    def sent(name: str, *options: str) -> list[str]:
        before = len(real.received)
        assert run("--position", str(tmp_path / name), *options) == 0
        return [received.message_id for received in real.received[before:]]

    assert sent("a", "--since", "2026-11-20T09:00", "--until", "2026-11-21") == ["later", "page"]
    assert sent("b", "--run", "mine") == ["later"]
    assert sent("c", "--event", "A") == ["early", "later", "page"]
    assert sent("d", "--event", "page") == ["page"]
    assert sent("e", "--until", "2026-11-20T09:00:00+01:00", "--until", "2026-11-20T10:00:00+01:00") == ["early"]
    assert run("--position", str(tmp_path / "f"), "--since", "2h") == 5
    assert run("--position", str(tmp_path / "g"), "--event", "C") == 5


def test_sources_have_their_own_keys(
    bench: Bench, real: DataPlane, run: Callable[..., int], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """With several sources, a choice is required; each source keeps its order."""
    for first in range(0, 400, 100):
        bench.send_many(50, first=first)
        bench.send_many(50, first=first + 50, source="app")
    monkeypatch.setenv("APP_KEY", "0ther-wr1te-k3y")

    unclear, unknown = run(), run("--source", "wep")
    assert run("--source", "web", "--source", "app=$(env:APP_KEY)") == 0

    sent = {key: [of.message_id for of in real.received if of.source == key] for key in ("web", "app")}
    errors = capsys.readouterr().err
    assert (unclear, unknown) == (4, 4)
    assert "web (200), app (200)" in errors
    assert "Did you mean 'web'?" in errors
    assert sent == {
        key: [f"m{number}" for number in range(400) if number // 50 % 2 == odd] for odd, key in enumerate(sent)
    }


def test_a_dry_run_sends_nothing(
    bench: Bench, real: DataPlane, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """It shows events by kind, the requests and the time at the rate; no position is written."""
    bench.send_many(120)
    bench.send(event(3), event(200))
    bench.plane.drain()  # repeats are recognized when events are routed

    assert run("--dry-run", "--rate", "10/s", "--batch", "50") == 0

    printed = capsys.readouterr().out
    assert printed.startswith("would send 121 events in 3 requests (")
    assert "at least 12 s at 10/s" in printed
    assert "web     track  Seen   121" in printed
    assert "1 repeated event left out" in printed
    assert ids(real) == []
    assert [path.name for path in bench.path.parent.glob("*.position")] == []


def test_refused_events_are_isolated_and_listed(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A receiver with a lower limit gets all others, in order; the refused one is in the file with its content."""
    monkeypatch.setenv("SVCTOOLKIT_WRITE_KEY", KEY)
    bench.send_many(40)
    bench.send({**event(40), "properties": {"text": "x" * 3000}})
    bench.send_many(40, first=41)
    text = f"sources: {{web: {{writeKey: {KEY}}}}}\ndataPlane: {{limits: {{body: 3000}}}}"
    with DataPlane(Workspace.loads(text)) as small:
        for _ in range(2):
            code = main(
                ["forward", str(bench.path), "--to", str(small.url), "--refused", str(tmp_path / "refused.ndjson")]
            )

        assert ids(small) == [f"m{number}" for number in range(81) if number != 40]
    row = json.loads((tmp_path / "refused.ndjson").read_text())
    printed = capsys.readouterr().out
    assert code == 0  # the second start has nothing to do
    assert "80 events" in printed
    assert "refused: m40 (web: track Seen): 413 request size exceeds max limit" in printed
    assert (row["messageId"], row["reason"][:3], len(row["content"]["properties"]["text"])) == ("m40", "413", 3000)
    assert "81 events were sent before" in printed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_refused_event_that_cannot_be_written_is_not_passed_over(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The position stays before it, so that the next start reports it again."""
    bench.send_many(10)
    bench.send({**event(10), "properties": {"text": "x" * 3000}})
    text = f"sources: {{web: {{writeKey: {KEY}}}}}\ndataPlane: {{limits: {{body: 3000}}}}"
    with DataPlane(Workspace.loads(text)) as small:
        options = ["forward", str(bench.path), "--to", str(small.url), "--write-key", KEY, "--refused"]
        codes = [main([*options, "/dev/full"]), main([*options, str(tmp_path / "refused")])]

    assert codes == [4, 1]
    assert "/dev/full: cannot be written: No space left on device" in capsys.readouterr().err
    assert json.loads((tmp_path / "refused").read_text())["messageId"] == "m10"


def test_a_wrong_key_stops_at_once(
    bench: Bench, real: DataPlane, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is retried, the message says what to do, and the right key goes on from there."""
    bench.send_many(10)

    code = run("--write-key", "wr0ng-wr1te-k3y")

    errors = capsys.readouterr().err
    assert code == 1
    assert "401 invalid write key: use the write key of the source web there" in errors
    assert "wr0ng-wr1te-k3y" not in errors
    assert len(real.rejected) == 1
    assert (run(), len(real.received)) == (0, 10)


def test_the_write_key_is_shown_nowhere(
    bench: Bench, real: DataPlane, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither in the output nor in the position."""
    bench.send_many(10)
    run("--json")
    run("--dry-run")

    output = capsys.readouterr()
    texts = [output.out, output.err, json.dumps(position_of(bench.path))]
    assert [text for text in texts if KEY in text or base64.b64encode(f"{KEY}:".encode()).decode() in text] == []
    assert json.loads(output.out[: output.out.index("\n}") + 2])["sent"] == len(real.received) == 10


class Plane:
    """A data plane in virtual time, in this process: `answers` come first, and then its own."""

    def __init__(self, *answers: HttpResponse) -> None:
        workspace = Workspace("real")
        workspace.source("web", write_key=KEY, destinations=[])
        self.plane = DataPlane(workspace, listen=False)
        self.answers, self.now, self.slept, self.times = [*answers], START, list[float](), list[float]()

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        self.times.append((self.now - START).total_seconds())
        if self.answers:
            return self.answers.pop(0)
        answer = self.plane.ingest(request.method, "/v1/batch", headers=request.headers, body=request.body)
        return HttpResponse(answer.status, answer.headers, answer.body)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)

    def forward(self, path: Path, position: Path, *, limit: Throttle | None = None, **options: Any) -> None:
        with self.plane, archive(path) as store:
            place = Position(position, "https://plane.example", Chosen(), "", **options)
            limiter = Limiter(limit, lambda: self.now) if limit else None
            sender = Sender(
                "https://plane.example", {"web": KEY}, self, limiter, clock=lambda: self.now, sleep=self.sleep,
                is_stopped=lambda: False, waiting=lambda *_: None,
            )  # fmt: skip
            forward(Reader(store, Chosen(), ""), place, ["web"], 10, sender)


def test_failures_are_retried_in_order(bench: Bench, tmp_path: Path) -> None:
    """503 with the pauses of the back-off, 429 not before its Retry-After; nothing is lost, repeated or reordered."""
    bench.send_many(40)
    plane = Plane(HttpResponse(503), HttpResponse(503), HttpResponse(429, {"retry-after": "120"}), HttpResponse(500))

    plane.forward(bench.path, tmp_path / "p")

    assert ids(plane.plane) == [f"m{number}" for number in range(40)]
    assert [0.5 <= plane.slept[0] <= 1, 1 <= plane.slept[1] <= 2, plane.slept[2]] == [True, True, 120.0]
    assert len(plane.slept) == 4


def test_a_receiver_that_stays_down_ends_the_command(bench: Bench, tmp_path: Path) -> None:
    """After ten minutes, with the position of the last accepted batch."""
    bench.send_many(20)
    plane = Plane(*[HttpResponse(503)] * 100)

    with pytest.raises(ForwardStopped, match=r"has accepted no batch for .* s .503.; run the command again"):
        plane.forward(bench.path, tmp_path / "p")

    assert 600 <= plane.times[-1] < 700
    again = Plane()
    again.forward(bench.path, tmp_path / "p")
    assert len(ids(again.plane)) == 20


def test_the_rate_is_kept(bench: Bench, tmp_path: Path) -> None:
    """Five events per second: a batch of ten each two seconds."""
    bench.send_many(40)
    plane = Plane()

    plane.forward(bench.path, tmp_path / "p", limit=Throttle(10, 2.0))

    assert [round(time, 1) for time in plane.times] == [0.0, 2.0, 4.0, 6.0]


def test_a_full_disk_stops_before_the_next_batch(bench: Bench, tmp_path: Path) -> None:
    """The old position is still whole: at most one batch is sent again."""
    bench.send_many(40)
    writes: list[int] = []

    def sync(file: int) -> None:
        writes.append(file)
        if len(writes) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    first, second = Plane(), Plane()
    with pytest.raises(ConfigError, match="position cannot be saved: No space left on device"):
        first.forward(bench.path, tmp_path / "p", sync=sync)
    second.forward(bench.path, tmp_path / "p")

    assert ids(first.plane) == [f"m{number}" for number in range(30)]
    assert ids(second.plane) == [f"m{number}" for number in range(20, 40)]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("p")] == ["p"]


def test_a_receiver_that_refuses_everything_ends_the_command(bench: Bench, tmp_path: Path) -> None:
    """Twenty refused events say enough; the other ones are not sent one by one."""
    bench.send_many(200)
    plane = Plane(*[HttpResponse(400, {}, b"no")] * 1000)

    with pytest.raises(ForwardStopped, match=r"refused the first 20 events .400 no.: is it a data plane"):
        plane.forward(bench.path, tmp_path / "p")

    assert len(plane.times) < 60


def test_redirects_are_not_followed(bench: Bench, real: DataPlane, capsys: pytest.CaptureFixture[str]) -> None:
    """They could take the write key to another host."""

    class Redirect(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(307)
            self.send_header("location", f"{real.url}/v1/batch")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    bench.send_many(10)
    server = HttpServer(("127.0.0.1", 0), Redirect)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        code = main(["forward", str(bench.path), "--to", url, "--write-key", KEY])
    finally:
        server.shutdown()
        server.server_close()

    assert (code, ids(real)) == (1, [])
    assert "redirects are not followed" in capsys.readouterr().err


def start(bench: Bench, url: str | None, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "svctoolkit", "forward", str(bench.path), "--to", str(url), "--write-key", KEY]
    return subprocess.Popen([*command, "--batch", "10", *options], stderr=subprocess.PIPE)


def wait_for(count: int, plane: DataPlane) -> None:
    plane.wait(lambda: len(plane.received) >= count, timeout=120)


def by_user(plane: DataPlane) -> dict[str, list[int]]:
    """The numbers of each user's events in the order of their first arrival."""
    numbers = defaultdict[str, list[int]](list)
    for received in plane.received:
        if received.repeats is None:
            numbers[received.event["userId"]].append(int(received.message_id[1:]))
    return numbers


def test_a_killed_command_repeats_at_most_one_batch(bench: Bench, real: DataPlane, run: Callable[..., int]) -> None:
    """kill -9 three times in between: nothing is lost, every user's events are in order."""
    bench.send_many(4000)
    for kill in range(1, 4):
        process = start(bench, real.url, "--rate", "100/s")
        wait_for(100 * kill, real)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    assert run() == 0

    received = ids(real)
    assert len(received) - len(set(received)) <= 3 * 10
    assert by_user(real) == {f"u{user}": list(range(user, 4000, 5)) for user in range(5)}


def test_ctrl_c_ends_after_the_batch(bench: Bench, real: DataPlane, run: Callable[..., int]) -> None:
    """With the position saved: nothing is repeated by the next start."""
    bench.send_many(4000)
    process = start(bench, real.url, "--rate", "100/s")
    wait_for(50, real)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    sent = len(real.received)

    assert process.returncode == 2
    assert b"interrupted; run the command again to continue" in errors
    assert sent == position_of(bench.path)["sources"]["web"]["sent"] < 4000
    assert run() == 0
    assert ids(real) == [f"m{number}" for number in range(4000)]


def test_a_second_ctrl_c_does_not_wait(bench: Bench) -> None:
    """The first one waits for the answer, which a receiver that hangs never gives."""
    bench.send_many(10)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        process = start(bench, url)
        connection, _ = server.accept()
        assert connection.recv(100)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert any(b"Ctrl-C again stops at once" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        connection.close()

    assert process.returncode == 2
    assert b"svctoolkit: interrupted\n" in errors
    assert position_of(bench.path)["sources"] == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "plane.example"], "--to plane.example: expected the address of a data plane"),
        (["--to", "ftp://plane.example"], "expected the address of a data plane"),
        (["--to", "http://[::1"], "expected the address of a data plane"),
        (["--to", "http://x:99999999"], "expected the address of a data plane"),
        (["--to", "https://ann:pa55word@x.example"], "without a name, a password or a query"),
        (["--rate", "fast"], "--rate fast: expected a number of events per second"),
        (["--rate", "0/s"], "--rate 0/s: expected"),
        (["--batch", "0"], "--batch 0: expected a number from 1 to 10,000"),
        (["--since", "soon"], "--since soon: expected 2026-11-26"),
        (["--since", "1h", "--until", "2h"], "--since must be before --until"),
        (["--source", "web="], "--source: expected KEY or KEY=WRITE_KEY"),
        (["--write-key", "$(env:NO_SUCH_KEY)"], "NO_SUCH_KEY is not set in the environment"),
        (["--write-key", "$(env:NO SUCH KEY)"], "invalid reference: write $(env:NAME)"),
        (["--position", "no/such/folder"], "no/such/folder: the position cannot be saved: No such file or directory"),
        (["--position", "."], ".: the position cannot be read: Is a directory"),
        (["--refused", "no/such/folder"], "no/such/folder: cannot be written: No such file or directory"),
    ],
)
def test_bad_options(
    bench: Bench, real: DataPlane, run: Callable[..., int], options: list[str], message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Code 4, a message that says what is expected, and nothing is sent."""
    bench.send_many(10)

    assert run(*options) == 4

    errors = capsys.readouterr().err
    assert message in errors
    assert "pa55word" not in errors
    assert ids(real) == []


def test_addresses_that_cannot_be_right(bench: Bench, real: DataPlane, capsys: pytest.CaptureFixture[str]) -> None:
    """A metadata address, and https where http is served: they end the command at once, without retries."""
    bench.send_many(10)
    for url, reason in (
        ("http://169.254.169.254", "a cloud metadata address"),
        (str(real.url).replace("http:", "https:"), "does it speak https?"),
    ):
        assert main(["forward", str(bench.path), "--to", url, "--write-key", KEY]) == 1
        assert reason in capsys.readouterr().err


def test_damaged_requests_are_left_out_and_reported(
    bench: Bench, real: DataPlane, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are sent; the exit code says that something is missing."""
    bench.send_many(150)
    bench.plane.drain()
    with closing(sqlite3.connect(bench.path)) as database:
        database.execute(
            "update blocks set body = 'xx' where first = (select first from blocks order by 1 limit 1 offset 1)"
        )
        database.commit()

    assert run() == 1

    output = capsys.readouterr()
    assert ids(real) == [f"m{number}" for number in range(150) if not 50 <= number < 100]
    assert "sent 100 events in 1 request" in output.out
    assert "50 damaged" in output.out
    assert "cannot be read, skipped: 50 events of the source web" in output.err


def test_a_key_is_required(bench: Bench, real: DataPlane, capsys: pytest.CaptureFixture[str]) -> None:
    bench.send_many(10)

    assert main(["forward", str(bench.path), "--to", str(real.url)]) == 4
    assert "--write-key or SVCTOOLKIT_WRITE_KEY is required" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, b"", b"not a database", b"SQLite format 3\x00" + b"x" * 2000])
def test_files_that_are_not_stores(content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.db"
    if content is not None:
        path.write_bytes(content)

    assert main(["forward", str(path), "--to", "http://127.0.0.1:9", "--write-key", KEY]) == 4
    assert f"svctoolkit: {path}: " in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ([] if content is None else ["x.db"])


def test_an_empty_store_selects_nothing(run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert (run(), run("--since", "2h")) == (5, 5)
    assert "no events in the store match" in capsys.readouterr().err


def test_a_position_belongs_to_one_choice(
    bench: Bench, run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise, events that were never sent would be left out. As long as nothing was sent, any choice may use it."""
    bench.send_many(20)
    assert run("--event", "Seen", "--write-key", "wrong") == 1
    assert run("--since", "2026-11-20T08:00") == 0

    assert [run("--event", "Seen"), run("--run", "mine"), run(), run("--since", "2026-11-19")] == [4, 5, 4, 4]
    assert run("--since", "2026-11-21", "--position", str(tmp_path / "other")) == 5
    errors = capsys.readouterr().err
    assert "this position belongs to all events, without --event" in errors
    assert "earlier events were skipped (--since)" in errors


def test_a_position_belongs_to_one_store(
    bench: Bench, real: DataPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A store that was deleted and begun again has other events under the same numbers."""
    monkeypatch.setenv("SVCTOOLKIT_WRITE_KEY", KEY)
    bench.send_many(20)
    position = str(tmp_path / "p")
    codes = [main(["forward", str(bench.path), "--to", str(real.url), "--position", position])]
    for name, count in (("longer.db", 50), ("shorter.db", 10)):
        other = Bench(tmp_path / name)
        other.now += timedelta(days=1)
        with other.plane:
            other.send_many(count, first=1000)
            codes.append(main(["forward", str(other.path), "--to", str(real.url), "--position", position]))

    assert codes == [0, 4, 4]
    assert "this position belongs to another store" in capsys.readouterr().err
    assert len(real.received) == 20


def test_a_position_that_another_process_uses(bench: Bench, tmp_path: Path) -> None:
    """The second one stops before it sends a further batch."""
    bench.send_many(40)
    path = tmp_path / "p"
    Plane().forward(bench.path, path)
    early = Position(path, "https://plane.example", Chosen(), "")
    path.write_text(path.read_text().replace('"sent": 40', '"sent": 41'))

    with pytest.raises(ConfigError, match="another `svctoolkit forward` uses this position"):
        early.save()


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"version": 2}'])
def test_files_that_are_not_positions(
    bench: Bench, run: Callable[..., int], tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.send_many(10)
    (tmp_path / "p").write_text(content)

    assert run("--position", str(tmp_path / "p")) == 4
    assert f"{tmp_path / 'p'}: not a position that `svctoolkit forward` has written" in capsys.readouterr().err
    assert (tmp_path / "p").read_text() == content
