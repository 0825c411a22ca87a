"""`ServiceClient` compared with `segment-analytics-python` and `rudder-sdk-python`: the same events, server and run.

Every figure comes from a fresh process, each client with its own defaults for servers (100 events in a request).
`track` is timed while the client sends, in wall time and in the calling thread's CPU time, which other programs disturb
less. Our event is in a journal when `track` returns: it survives kill -9; a power cut may lose the last events. Threads
and tasks have random pauses between their calls: after equal ones, all of them wake at once, and the last one waits
until the interpreter has run the calls of the others. `drain` begins when all events are waiting and ends when the
server has them, in wall time and in CPU time of the client's process.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.benchmarks._figures import Figure, Options

ROOT = Path(__file__).parents[2]
MODULES = {"svctoolkit": "svctoolkit.sdk", "segment": "segment.analytics", "rudder": "rudderstack.analytics"}
PACKAGES = {"segment": "segment-analytics-python", "rudder": "rudder-sdk-python"}
PROPERTIES = {"order_id": "o-90017", "revenue": 128.0, "currency": "EUR", "products": [{"id": 7, "price": 79.0}] * 3}
_CALLERS, _PAUSE = 64, 0.05  # s on average
Track = Callable[[], object]


def run(options: Options) -> Iterator[Figure]:
    from tests.benchmarks._figures import Figure  # this file is also a script, which loads nothing but a client
    from tests.benchmarks._processes import peers

    ours = _measured("svctoolkit", {}, options)
    for peer, package in PACKAGES.items():
        environment = peers(MODULES[peer])
        theirs = _measured(peer, environment, options) if environment is not None else {}
        note = "" if theirs else f"not installed: pip install {package}"
        for name, (value, unit) in ours.items():
            yield Figure(name, value, unit, package, theirs.get(name, (None, ""))[0], note=note)


def _measured(name: str, environment: dict[str, str], options: Options) -> dict[str, tuple[float, str]]:
    calls, events = options.many(20_000, 200), options.many(100_000, 500)
    many = f"with {events:,} waiting"
    sizes = {"imported": options.many(7, 1), "tracked": calls, "drained": events}
    sizes |= {"threaded": calls // 10, "looped": calls // 10}
    tasks = {task: _task(task, name, size, environment) for task, size in sizes.items()}
    return {
        "import": (tasks["imported"]["ms"], "ms CPU"),
        "track, median": (tasks["tracked"]["wall"], "us"),
        "track, p99": (tasks["tracked"]["p99"], "us"),
        "track, median of the thread's CPU": (tasks["tracked"]["cpu"], "us"),
        "track, p99 of the thread's CPU": (tasks["tracked"]["cpu99"], "us"),
        f"track, p99, {_CALLERS} threads": (tasks["threaded"]["p99"], "us"),
        f"track, p99, {_CALLERS} tasks of asyncio": (tasks["looped"]["p99"], "us"),
        f"drain {many}": (tasks["drained"]["rate"], "events/s"),
        f"drain {many}, CPU": (tasks["drained"]["cpu"], "us an event"),
        f"memory {many}": (tasks["drained"]["mib"], "MiB"),
    }


# separate processes


def _task(task: str, name: str, size: int, peer: dict[str, str]) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **peer}
    command = [sys.executable, __file__, task, name, str(size)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def imported(name: str, times: int) -> dict[str, float]:
    return {"ms": (_cpu(f"import {MODULES[name]}", times) - _cpu("pass", times)) * 1000}


def _cpu(program: str, times: int) -> float:
    import resource

    best = 9.0
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", program], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def tracked(name: str, calls: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory, _Server() as server:
        server.go()
        track, _ = _client(name, server.url, directory)
        wall, cpu = [], []
        for _ in range(calls):
            began, spent = time.perf_counter(), time.thread_time()
            track()
            cpu.append(time.thread_time() - spent)
            wall.append(time.perf_counter() - began)
        wall.sort()
        cpu.sort()
        middle, last = calls // 2, calls * 99 // 100
        figures = {"wall": wall[middle], "p99": wall[last], "cpu": cpu[middle], "cpu99": cpu[last]}
        return {key: value * 1e6 for key, value in figures.items()}


def threaded(name: str, calls: int) -> dict[str, float]:
    """Calls of many threads, each with a pause after every call, as in a server with many requests."""
    times: list[float] = []

    def work(track: Track) -> None:
        for _ in range(max(1, calls // _CALLERS)):
            time.sleep(random.uniform(0.0, 2 * _PAUSE))
            began = time.perf_counter()
            track()
            times.append(time.perf_counter() - began)

    with tempfile.TemporaryDirectory() as directory, _Server() as server:
        server.go()
        track, _ = _client(name, server.url, directory)
        threads = [threading.Thread(target=work, args=[track]) for _ in range(_CALLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {"p99": sorted(times)[len(times) * 99 // 100] * 1e6}


def looped(name: str, calls: int) -> dict[str, float]:
    """The same with tasks of an event loop."""
    import asyncio

    times: list[float] = []

    async def work(track: Track) -> None:
        for _ in range(max(1, calls // _CALLERS)):
            await asyncio.sleep(random.uniform(0.0, 2 * _PAUSE))
            began = time.perf_counter()
            track()
            times.append(time.perf_counter() - began)

    async def main(track: Track) -> None:
        await asyncio.gather(*(work(track) for _ in range(_CALLERS)))

    with tempfile.TemporaryDirectory() as directory, _Server() as server:
        server.go()
        asyncio.run(main(_client(name, server.url, directory)[0]))
    return {"p99": sorted(times)[len(times) * 99 // 100] * 1e6}


def drained(name: str, events: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory, _Server() as server:
        bare = _resident(0)
        track, flush = _client(name, server.url, directory)
        for _ in range(events):
            track()
        waiting = _resident(os.getpid())
        began, spent = time.perf_counter(), time.process_time()
        server.go()
        flush()
        while server.count() < events:
            time.sleep(0.01)
        cpu = (time.process_time() - spent) / events * 1e6
        return {"rate": events / (time.perf_counter() - began), "cpu": cpu, "mib": waiting - bare}


def _resident(process: int) -> float:
    """MiB of a process; of a bare interpreter for 0."""
    if process:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    program = "import os; print(open('/proc/self/statm').read().split()[1])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    return int(shown) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _client(name: str, url: str, directory: str) -> tuple[Track, Track]:
    if name == "svctoolkit":
        from svctoolkit.sdk import ServiceClient

        client = ServiceClient(
            profile="server", data_plane_url=url, data_directory=directory, db_threshold_count=1_000_000
        )
        client.initialize("key")
        return lambda: client.track("Order Completed", PROPERTIES), lambda: client.flush(600)
    Client: Any
    if name == "segment":
        from segment.analytics.client import Client
    else:
        from rudderstack.analytics.client import Client
    peer = Client("key", host=url, max_queue_size=1_000_000, timeout=600)
    return lambda: peer.track(user_id="u-1", event="Order Completed", properties=PROPERTIES), peer.flush


class _Server:
    """A data plane in a separate process that answers only after `go`, and counts events."""

    def __enter__(self) -> _Server:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "serve", "", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = f"http://127.0.0.1:{int(self._ask(''))}"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def go(self) -> None:
        self._ask("go\n")

    def count(self) -> int:
        return int(self._ask("count\n"))

    def _ask(self, question: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(question)
        self._process.stdin.flush()
        return self._process.stdout.readline()


def serve(_: str, __: int) -> None:
    import gzip
    import socketserver

    ready, counts = threading.Event(), [0]

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while line := self.rfile.readline():
                headers = {}
                while (header := self.rfile.readline()) not in (b"\r\n", b""):
                    key, _, value = header.partition(b":")
                    headers[key.lower()] = value.strip()
                body = self.rfile.read(int(headers.get(b"content-length", b"0")))
                status = b"200"
                if line.startswith(b"POST"):
                    ready.wait()
                    if headers.get(b"content-encoding") == b"gzip":
                        body = gzip.decompress(body)
                    counts[0] += body.count(b'"messageId"')
                else:
                    status = b"404"
                self.wfile.write(b"HTTP/1.1 " + status + b" X\r\nContent-Length: 2\r\n\r\n{}")

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    for question in sys.stdin:
        if question == "go\n":
            ready.set()
        print(counts[0], flush=True)


if __name__ == "__main__":
    tasks = {"threaded": threaded, "looped": looped, "drained": drained, "serve": serve}
    task = {"imported": imported, "tracked": tracked, **tasks}[sys.argv[1]]
    print(json.dumps(task(sys.argv[2], int(sys.argv[3]))), flush=True)
    os._exit(0)  # the peers would wait for their threads
