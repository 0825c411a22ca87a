"""Events through `POST /v1/batch` to disk and to the recorder, beside a bare Starlette route that parses the same body.

Each server is a process of its own that may use one core; the client is another process with a few connections that it
keeps. The two take turns, and the median of the rounds counts. The rate is that of a second of processor time, work
after the reply included, so that other programs on the machine do not count. `SVCTOOLKIT_EVENTS` sets how many events
pass while the memory is watched (1,000,000 by default).
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from time import monotonic, perf_counter, sleep

from svctoolkit import events

CONNECTIONS, BATCH, REQUESTS, ROUNDS = 8, 50, 200, 5
EVENTS = int(os.environ.get("SVCTOOLKIT_EVENTS", "1000000"))
_KEY = base64.b64encode(b"web-key:").decode()


def run() -> Iterator[str]:
    size = len(_body(0))
    with _served("bare") as (bare, other), _served("quiet") as (quiet, process):
        _measured(bare), _measured(quiet)
        rounds = [(_rate(quiet, process.pid), _rate(bare, other.pid)) for _ in range(ROUNDS)]
        disk, theirs = (median(rates) for rates in zip(*rounds, strict=True))
        half = _measured(quiet, rate=_measured(quiet)["rate"] / 2)
    yield f"{disk:10,.0f} events/s  to disk, POST /v1/batch ({BATCH} events, {size:,} bytes)"
    yield f"{theirs:10,.0f} events/s  a bare route that parses the same body"
    yield f"{disk / theirs:10.2f} of the bare route"
    yield f"{half['p50']:10.1f} ms        median reply at half of that load"
    yield f"{half['p99']:10.1f} ms        p99 reply at half of that load"
    with _served("hook") as (hook, process):
        yield from _through(hook, process.pid)


def _through(port: int, pid: int) -> Iterator[str]:
    """Many events to the recorder, and the memory of the process meanwhile."""
    started, memory = perf_counter(), []
    for done in range(0, EVENTS, EVENTS // 10 or 1):
        _measured(port, requests=max(1, EVENTS // 10 // BATCH))
        _drained(port)
        memory.append(_megabytes(pid))
        if done == 0:
            first = memory[0]
    rate = EVENTS / (perf_counter() - started)
    yield f"{rate:10,.0f} events/s  to disk, through a webhook's mapping, to the recorder, to disk"
    yield f"{first:10.0f} MB        memory after {EVENTS // 10:,} events"
    yield f"{max(memory):10.0f} MB        at most, while {EVENTS:,} events passed"


def _rate(port: int, pid: int) -> float:
    """Events in a second of the server's processor time."""
    before = _seconds(pid)
    _measured(port)
    sleep(0.3)  # the server still works on what it has taken
    return REQUESTS * BATCH / (_seconds(pid) - before)


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _drained(port: int) -> None:
    import httpx

    while httpx.get(f"http://127.0.0.1:{port}/inspect/wait?timeout=60", timeout=90).status_code != 200:
        pass


def _megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@contextmanager
def _served(kind: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.benchmarks.ingest", "serve", kind, folder]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout is not None
        yield int(process.stdout.readline()), process
        process.communicate(b"stop")


def _serve(kind: str, folder: str) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {0})
    if kind == "bare":
        _serve_bare()
        return
    from svctoolkit import DataPlane, Workspace
    from svctoolkit.server import Retention

    workspace = Workspace()
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    workspace.source("web", write_key="web-key", destinations=["hook"] if kind == "hook" else [])
    with DataPlane(workspace, store=Path(folder) / "plane.db", retention=Retention(events=100_000)) as plane:
        print(plane.port, flush=True)
        sys.stdin.read()


def _serve_bare() -> None:
    import socket
    from threading import Thread

    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def parse(request: Request) -> PlainTextResponse:
        await request.json()
        return PlainTextResponse("ok")

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    app = Starlette(routes=[Route("/v1/batch", parse, methods=["POST"])])
    config = uvicorn.Config(app, http="h11", log_config=None, log_level="error", access_log=False, lifespan="off")
    Thread(target=uvicorn.Server(config).run, args=([listening],), daemon=True).start()
    print(listening.getsockname()[1], flush=True)
    sys.stdin.read()


def _measured(port: int, *, rate: float = 0, requests: int = REQUESTS) -> dict[str, float]:
    """Events a second and reply times in ms, as a client in another process sees them."""
    command = [sys.executable, "-m", "tests.benchmarks.ingest", "client", str(port), str(rate), str(requests)]
    found: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return found


async def _client(port: int, rate: float, requests: int) -> dict[str, float]:
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {1})
    numbers, times, seed = count(), [], int(monotonic() * 1e6)
    started = perf_counter()

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (number := next(numbers)) < requests:
            if rate:
                await asyncio.sleep(max(0.0, started + number * BATCH / rate - perf_counter()))
            body = bodies[number % len(bodies)].replace(b"SEED", f"{seed}-{number}".encode())
            head = f"POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {_KEY}\r\n"
            head += f"Content-Length: {len(body)}\r\n\r\n"
            sent = perf_counter()
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer
            await reader.readexactly(2)
            times.append((perf_counter() - sent) * 1000)
        writer.close()

    bodies = [_body(n) for n in range(20)]
    started = perf_counter()
    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    spent = perf_counter() - started
    hundredths = quantiles(times, n=100) if len(times) > 1 else times * 99
    return {"rate": requests * BATCH / spent, "p50": hundredths[49], "p99": hundredths[98]}


def _body(number: int) -> bytes:
    sample = events.sample("track")
    batch = [{**sample, "userId": f"u{n}", "messageId": f"SEED-{number}-{n}"} for n in range(BATCH)]
    return json.dumps({"batch": batch}).encode()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(*sys.argv[2:])
    else:
        print(json.dumps(asyncio.run(_client(int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))))
