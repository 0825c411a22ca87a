"""Kills processes at random moments while they record and send, and checks that no acknowledged event is lost.

Two processes share a directory on a slow disk. In each, three threads record events of one user each, and write the
number of each event for which the call returned to a file. A server that is hostile half of the time gets the events.
Each killed process is replaced by one with the same users, so order is also checked across the journals of dead
processes.

    python -m tests.sdk.kills --kills 200
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.queue import database
from svctoolkit.sqlite import Connection

KEY = "2RdemoWriteKey"
PROCESSES, THREADS = 2, 3
_PHASE = 30  # requests
_NUMBER = struct.Struct("<I")


class Outcome(NamedTuple):
    """Numbers of kills and events; `lost` were acknowledged, but not received; `repeats` came more than once."""

    kills: int
    acknowledged: int
    received: int
    repeats: int
    lost: list[str]
    disordered: list[str]
    renamed: list[str]


def run(folder: Path, kills: int, seed: int) -> Outcome:
    """Kill `kills` processes, then deliver what is left, and compare."""
    choose = random.Random(seed)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.sdk.kills", "--serve", str(folder), "--seed", str(seed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(server.stdout.readline())}"
    victims = [_start(folder, url, place, 0) for place in range(PROCESSES)]
    try:
        for kill in range(kills):
            # Some are killed while they start.
            time.sleep(choose.uniform(0.0, 0.4))
            place = choose.randrange(PROCESSES)
            os.kill(victims[place], signal.SIGKILL)
            os.waitpid(victims[place], 0)
            victims[place] = _start(folder, url, place, kill + 1)
    finally:
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
    server.stdin.write("behave\n")
    server.stdin.flush()
    client = _client(folder, url)
    delivered = client.flush(600)
    client.shutdown(5)
    server.stdin.write("end\n")
    server.stdin.close()
    server.wait()
    server.stdout.close()
    assert delivered, client.diagnose()
    return _compare(folder, kills + PROCESSES)


def _compare(folder: Path, kills: int) -> Outcome:
    first: dict[str, dict[int, str]] = {}
    disordered, renamed, repeats = [], [], 0
    for line in (folder / "received").read_text().splitlines():
        user, number, id = json.loads(line)
        own = first.setdefault(user, {})
        if number in own:
            repeats += 1
            if own[number] != id:
                renamed.append(f"{user} {number}")
            continue
        if own and number < next(reversed(own)):
            disordered.append(f"{user} {number} after {next(reversed(own))}")
        own[number] = id
    lost, acknowledged = [], 0
    for path in folder.glob("acknowledged-*"):
        user = path.name.removeprefix("acknowledged-")
        numbers = [number for (number,) in _NUMBER.iter_unpack(path.read_bytes())]
        acknowledged += len(numbers)
        lost += [f"{user} {number}" for number in numbers if number not in first.get(user, {})]
    received = sum(map(len, first.values()))
    return Outcome(kills, acknowledged, received, repeats, lost, disordered, renamed)


# The processes that are killed


def _start(folder: Path, url: str, place: int, life: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            _record_forever(folder, url, place, life)
        finally:
            os._exit(1)
    return child


def _record_forever(folder: Path, url: str, place: int, life: int) -> None:
    random.seed(life)
    database.Connection = SlowConnection  # type: ignore[misc]
    client = _client(folder, url)
    for thread in range(THREADS):
        threading.Thread(target=_record, args=(client, folder, f"user-{place}-{thread}", life), daemon=True).start()
    time.sleep(3600)


def _record(client: ServiceClient, folder: Path, user: str, life: int) -> None:
    path = folder / f"acknowledged-{user}"
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    number = life * 100_000  # a new process continues with larger numbers
    while True:
        client.track("event", {"number": number, "text": "x" * random.randrange(900)}, user_id=user)
        os.write(log, _NUMBER.pack(number))
        number += 1
        if random.random() < 0.2:
            time.sleep(random.uniform(0.0, 0.03))


class SlowConnection(Connection):
    """A connection to a slow disk: now and then a commit takes up to 0.2 s."""

    # Any: those of sqlite3
    def execute(self, statement: str, *arguments: object) -> sqlite3.Cursor:  # type: ignore[override]
        if statement == "COMMIT" and random.random() < 0.2:
            time.sleep(random.uniform(0.0, 0.2))
        return super().execute(statement, *arguments)  # type: ignore[arg-type]


def _client(folder: Path, url: str) -> ServiceClient:
    client = ServiceClient(
        data_directory=folder / "data",
        data_plane_url=url,
        db_threshold_count=10_000_000,
        track_lifecycle_events=False,
        sleep_timeout=1,
        backoff=lambda failures: random.uniform(0.0, 0.1),
    )
    client.initialize(KEY)
    return client


# The server


def serve(folder: Path, seed: int) -> None:
    """Answer until standard input ends; write user, number and messageId of every event that was received."""
    import socketserver

    choose, lock, behaves = random.Random(seed), threading.Lock(), threading.Event()
    received, requests = (folder / "received").open("w"), count()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for body in _bodies(self.rfile):
                if not body:
                    self.wfile.write(b"HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\n{}")
                    continue
                # Calm phases, too: events are then sent straight from the journals.
                is_calm = behaves.is_set() or next(requests) // _PHASE % 2 == 0
                act = "take" if is_calm else choose.choice(["take"] * 4 + ["503", "429", "reset", "half", "hang"])
                if act in ("take", "half"):
                    with lock:
                        for event in json.loads(body)["batch"]:
                            entry = [event["userId"], event["properties"]["number"], event["messageId"]]
                            received.write(json.dumps(entry) + "\n")
                if act == "hang":
                    time.sleep(choose.uniform(0.0, 0.5))
                if act in ("reset", "hang"):
                    return
                if act == "half":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{")
                    return
                head = {"take": "200 OK", "503": "503 X", "429": "429 X\r\nRetry-After: 0"}[act]
                self.wfile.write(f"HTTP/1.1 {head}\r\nContent-Length: 2\r\n\r\n{{}}".encode())

        def finish(self) -> None:
            try:
                super().finish()
            except OSError:  # the client was killed
                return

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 100

        def handle_error(self, *_: object) -> None:
            return  # the client was killed

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    for line in sys.stdin:
        if line == "behave\n":
            behaves.set()
        if line == "end\n":
            break
    with lock:
        received.close()


def _bodies(stream: object) -> Iterator[bytes]:
    """Yield the body of each whole request; empty for GET."""
    while line := stream.readline():  # type: ignore[attr-defined]
        length = 0
        while (header := stream.readline()) not in (b"\r\n", b""):  # type: ignore[attr-defined]
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = stream.read(length)  # type: ignore[attr-defined]
        if len(body) < length:
            return
        yield body if line.startswith(b"POST") else b""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--serve", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(Path(options.serve), options.seed)
        return
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(Path(folder), options.kills, options.seed)
    print(f"seed {options.seed}: {outcome._replace(lost=outcome.lost[:20], disordered=outcome.disordered[:20])}")
    sys.exit(bool(outcome.lost or outcome.disordered or outcome.renamed))


if __name__ == "__main__":
    main()
