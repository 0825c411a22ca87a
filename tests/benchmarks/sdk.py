"""`ServiceClient` beside `segment-analytics-python` and `rudder-sdk-python`: the same events, server and run.

The peers are no dependency of ours. Install them anywhere and name the directory:

    pip install --target peers segment-analytics-python rudder-sdk-python
    SVCTOOLKIT_PEERS=peers python -m tests.benchmarks.sdk

Without it only our own figures are printed. Every figure comes from a fresh process. `track` is timed while the client
sends, in wall time and in the calling thread's CPU time (which neighbours on a shared machine disturb less); for us the
event is then in SQLite's write-ahead log (`synchronous=NORMAL`: it survives kill -9, a power cut may take the last
moments). `drain` begins with 100,000 events waiting and ends when the server has them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EVENTS = 100_000
CALLS = 20_000
PROPERTIES = {"order_id": "o-90017", "revenue": 128.0, "currency": "EUR", "products": [{"id": 7, "price": 79.0}] * 3}
Track = Callable[[], object]


def run() -> Iterator[str]:
    """One line per figure."""
    names = ["ours"]
    if os.environ.get("SVCTOOLKIT_PEERS"):
        names += ["segment", "rudder"]
    else:
        yield "SVCTOOLKIT_PEERS is not set: no peers (the module's docstring says how)"
    found = {name: {task: _measured(task, name) for task in ("imported", "tracked", "drained")} for name in names}
    for name, figures in found.items():
        imported, tracked, drained = (figures[task] for task in ("imported", "tracked", "drained"))
        yield (
            f"{name:8} import {imported['ms']:5.0f} ms CPU | track {tracked['wall']:5.0f} us median, "
            f"{tracked['p99'] / 1000:6.2f} ms p99; CPU {tracked['cpu']:4.0f} us, {tracked['cpu99']:4.0f} us p99 | "
            f"drain {drained['rate']:8,.0f} events/s | {drained['mib']:6.1f} MiB with {EVENTS:,} waiting"
        )
    for name in names[1:]:
        call = found["ours"]["tracked"]["wall"] / found[name]["tracked"]["wall"]
        drain = found["ours"]["drained"]["rate"] / found[name]["drained"]["rate"]
        yield f"ours : {name:8} time of a call {call:4.2f}x (at most 3) | drain rate {drain:5.2f}x (at least 3)"


def main() -> None:
    for line in run():
        print(line, flush=True)


# In a process of its own


def _measured(task: str, name: str) -> dict[str, float]:
    paths = [str(ROOT)] if name == "ours" else [os.environ["SVCTOOLKIT_PEERS"]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "SVCTOOLKIT_BENCHMARK": __file__}
    done = subprocess.run([sys.executable, __file__, task, name], env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def imported(name: str) -> dict[str, float]:
    module = {"ours": "svctoolkit.sdk", "segment": "segment.analytics", "rudder": "rudderstack.analytics"}[name]
    return {"ms": (_cpu(f"import {module}") - _cpu("pass")) * 1000}


def _cpu(program: str) -> float:
    import resource

    best = 9.0
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", program], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def tracked(name: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory, _Server() as server:
        server.go()
        track, _ = _client(name, server.url, directory)
        wall, cpu = [], []
        for _ in range(CALLS):
            began, spent = time.perf_counter(), time.thread_time()
            track()
            cpu.append(time.thread_time() - spent)
            wall.append(time.perf_counter() - began)
        wall.sort()
        cpu.sort()
        middle, last = CALLS // 2, CALLS * 99 // 100
        figures = {"wall": wall[middle], "p99": wall[last], "cpu": cpu[middle], "cpu99": cpu[last]}
        return {key: value * 1e6 for key, value in figures.items()}


def drained(name: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory, _Server() as server:
        bare = _resident(0)
        track, flush = _client(name, server.url, directory)
        for _ in range(EVENTS):
            track()
        waiting = _resident(os.getpid())
        began = time.perf_counter()
        server.go()
        flush()
        while server.count() < EVENTS:
            time.sleep(0.01)
        return {"rate": EVENTS / (time.perf_counter() - began), "mib": waiting - bare}


def _resident(process: int) -> float:
    """MiB of a process; of a bare interpreter for 0."""
    if process:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    program = "import os; print(open('/proc/self/statm').read().split()[1])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    return int(shown) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _client(name: str, url: str, directory: str) -> tuple[Track, Track]:
    if name == "ours":
        from svctoolkit.sdk import ServiceClient

        client = ServiceClient(data_plane_url=url, data_directory=directory, db_threshold_count=1_000_000)
        client.initialize("key", {"flushQueueSize": 100, "trackLifecycleEvents": False})
        return lambda: client.track("Order Completed", PROPERTIES), lambda: client.flush(600)
    Client: Any
    if name == "segment":
        from segment.analytics.client import Client
    else:
        from rudderstack.analytics.client import Client
    peer = Client("key", host=url, max_queue_size=EVENTS * 2, timeout=600)
    return lambda: peer.track(user_id="u-1", event="Order Completed", properties=PROPERTIES), peer.flush


class _Server:
    """A data plane in a process of its own that answers nothing before `go`, and counts events."""

    def __enter__(self) -> _Server:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "serve", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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


def serve(_: str) -> None:
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
    if len(sys.argv) > 2:
        result = {"imported": imported, "tracked": tracked, "drained": drained, "serve": serve}[sys.argv[1]](
            sys.argv[2]
        )
        print(json.dumps(result), flush=True)
        os._exit(0)  # the peers would wait for their threads
    main()
