"""Events through `POST /v1/batch` to disk and to the recorder, compared with a bare Starlette route.

Both parse the same body. Each server is a separate process limited to one core; the client is another process with a
few persistent connections. The two take turns, and the median of the rounds counts. The rate is per second of CPU time,
including work after the reply, so that other programs on the machine do not count.
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
from time import monotonic, perf_counter

from svctoolkit import events
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import cpu_of

CONNECTIONS, BATCH, LARGE_BATCH = 8, 50, 100
PATHS = {"hook": "through a mapping, to the recorder", "three": "to three recorders, one after a JavaScript function"}
_CODE = "export function transformEvent(event) { event.context.seen = true; return event; }"
_KEY = base64.b64encode(b"web-key:").decode()


def run(options: Options) -> Iterator[Figure]:
    requests = options.many(200, 10)
    with served("bare") as (bare, other), served("quiet") as (quiet, process):
        measure(bare, requests), measure(quiet, requests)
        pairs = [
            (rate(quiet, process.pid, requests), rate(bare, other.pid, requests, drains=False))
            for _ in range(options.many(5, 1))
        ]
        disk, theirs = (median(rates) for rates in zip(*pairs, strict=True))
        half = measure(quiet, requests, pace=measure(quiet, requests)["rate"] / 2)
    what = f"to disk, POST /v1/batch ({BATCH} events)"
    yield Figure(what, disk, "events/s", "a bare route that parses the same body", theirs)
    yield Figure("median reply at half of that load", half["p50"], "ms")
    yield Figure("p99 reply at half of that load", half["p99"], "ms", "the median", half["p50"])
    for kind, path in PATHS.items():
        with served("bare") as (bare, other), served(kind) as (port, process):
            rate(port, process.pid, requests, LARGE_BATCH), measure(bare, requests, batch=LARGE_BATCH)
            pairs = [
                (
                    rate(port, process.pid, requests // 2, LARGE_BATCH),
                    rate(bare, other.pid, requests, LARGE_BATCH, drains=False),
                )
                for _ in range(options.many(5, 1))
            ]
        ours, theirs = (median(rates) for rates in zip(*pairs, strict=True))
        what = f"to disk, {path}, to disk ({LARGE_BATCH} events per request)"
        yield Figure(what, ours, "events/s", "a bare route that parses the same body", theirs)
    with served("hook") as (hook, process):
        yield from _through(hook, process.pid, options.large)


def _through(port: int, pid: int, events: int) -> Iterator[Figure]:
    """Send many events to the recorder; compare the peak memory of the process with that after half of them."""
    started, peaks = perf_counter(), []
    for _ in range(10):
        measure(port, max(1, events // 10 // BATCH))
        drain(port)
        peaks.append(_peak_megabytes(pid))
    rate = events / (perf_counter() - started)
    yield Figure("to disk, through a mapping, to the recorder, to disk", rate, "events/s")
    yield Figure("peak memory", peaks[-1], "MB", f"after half of {events:,} events", peaks[4])


def rate(port: int, pid: int, requests: int, batch: int = BATCH, *, drains: bool = True) -> float:
    """Events per second of the server's CPU time, until nothing is left to do. The bare route has nothing to drain."""
    before = cpu_of(pid)
    measure(port, requests, batch=batch)
    if drains:
        drain(port)
    return requests * batch / (cpu_of(pid) - before)


def drain(port: int) -> None:
    import httpx

    while httpx.get(f"http://127.0.0.1:{port}/inspect/wait?timeout=60", timeout=90).status_code != 200:
        pass


def _peak_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@contextmanager
def served(kind: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
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
    from svctoolkit.server.collector import rare_collections

    workspace = Workspace()
    keys = {"hook": ["hook"], "three": ["hook", "other", "code"]}.get(kind, [])
    workspace.transformation("seen", code=_CODE, language="javascript")
    for key in keys:
        code = "seen" if key == "code" else None
        workspace.destination(key, "WEBHOOK", config={"webhookUrl": f"https://{key}.example/in"}, transformation=code)
    workspace.source("web", write_key="web-key", destinations=keys)
    store, retention = Path(folder) / "plane.db", Retention(events=100_000)
    with DataPlane(workspace, store=store, retention=retention) as plane, rare_collections():
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


def measure(port: int, requests: int, *, pace: float = 0, batch: int = BATCH) -> dict[str, float]:
    """Events per second and reply times in ms, as a client in another process sees them."""
    command = [sys.executable, "-m", "tests.benchmarks.ingest", "client", *map(str, (port, pace, requests, batch))]
    found: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return found


async def _client(port: int, pace: float, requests: int, batch: int) -> dict[str, float]:
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {1})
    numbers, times, seed = count(), [], int(monotonic() * 1e6)
    started = perf_counter()

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (number := next(numbers)) < requests:
            if pace:
                await asyncio.sleep(max(0.0, started + number * batch / pace - perf_counter()))
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

    bodies = [_body(n, batch) for n in range(20)]
    started = perf_counter()
    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    spent = perf_counter() - started
    hundredths = quantiles(times, n=100) if len(times) > 1 else times * 99
    return {"rate": requests * batch / spent, "p50": hundredths[49], "p99": hundredths[98]}


def _body(number: int, batch: int) -> bytes:
    sample = events.sample("track")
    made = [{**sample, "userId": f"u{n}", "messageId": f"SEED-{number}-{n}"} for n in range(batch)]
    return json.dumps({"batch": made}).encode()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(*sys.argv[2:])
    else:
        print(
            json.dumps(asyncio.run(_client(int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))))
        )
