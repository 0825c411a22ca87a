"""Every way of running a client that is made at module level, in real servers: `python -m tests.sdk.servers`.

For each way, it counts the events that were recorded and those that arrived until the last process had ended. Requests
go out eight at a time. The last column is the time of the same requests without the client. Takes some minutes; names
of ways select: `python -m tests.sdk.servers gevent multiprocessing`.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .gateway import KEY, Gateway, serving, until

ROOT = Path(__file__).parents[2]
APP = "tests.sdk.apps.plain_shop"
REQUESTS = 300
_AT_A_TIME = 8
_PATIENCE = 120.0


class Run(NamedTuple):
    """The result of one way: how many events should have arrived, how many did, seconds for the requests."""

    recorded: int
    arrived: int
    seconds: float


def environment(gateway: Gateway, folder: str, *, tracked: bool = True) -> dict[str, str]:
    """Return the environment of the applications in `tests/sdk/apps`."""
    shop = {"SHOP_DATA_PLANE": gateway.url, "SHOP_FOLDER": folder, "SHOP_KEY": KEY}
    return {**os.environ, **shop, "PYTHONPATH": str(ROOT), "SHOP_IS_TRACKED": "yes" if tracked else "no"}


@contextmanager
def server(command: list[str], gateway: Gateway, folder: str, *, tracked: bool = True) -> Iterator[int]:
    """Run a server, with `PORT` in its command replaced; give its port. At the end, wait until it has stopped."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", *(word.replace("PORT", str(port)) for word in command)]
    log = Path(folder, "server.log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment(gateway, folder, tracked=tracked), cwd=ROOT, stdout=output, stderr=output
        )
    try:
        until(lambda: process.poll() is not None or _answers(port), _PATIENCE)
        assert process.poll() is None, log.read_text()
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(_PATIENCE)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def requests(port: int, number: int = REQUESTS) -> float:
    """Make requests, eight at a time; return how many seconds they took."""

    def request(place: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
        connection.request("GET", f"/request/{place}")
        assert connection.getresponse().status == 200
        connection.close()

    begin = time.monotonic()
    with ThreadPoolExecutor(_AT_A_TIME) as threads:
        list(threads.map(request, range(number)))
    return time.monotonic() - begin


def served(command: list[str], *, tracked: bool = True, number: int = REQUESTS) -> Run:
    """Run a server for some requests and stop it."""
    with serving() as gateway, tempfile.TemporaryDirectory() as folder:
        with server(command, gateway, folder, tracked=tracked) as port:
            seconds = requests(port, number)
            if command[0] == "gunicorn":
                workers = int(command[command.index("-w") + 1])
                until(lambda: len(list(Path(folder).glob("worker-*"))) >= workers, _PATIENCE)
        return Run(number if tracked else 0, len({n for n in gateway.names if n.startswith("/request/")}), seconds)


def gunicorn(kind: str, workers: int) -> list[str]:
    """Return the command of a gunicorn that loads the application before it forks."""
    options = ["--preload", "-k", kind, "-w", str(workers), "-c", f"python:{APP}", "-b", "127.0.0.1:PORT"]
    return ["gunicorn", *options, f"{APP}:wsgi"]


def uvicorn(workers: int) -> list[str]:
    return ["uvicorn", "--workers", str(workers), "--port", "PORT", f"{APP}:asgi"]


JOBS = 12
PROGRAM = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from svctoolkit.sdk import ServiceClient
client = ServiceClient(profile="server", data_plane_url=os.environ["SHOP_DATA_PLANE"],
                       data_directory=os.environ["SHOP_FOLDER"], exit_timeout=60)
client.initialize(os.environ["SHOP_KEY"])

def job(number):
    client.track(f"job {number}", user_id=f"u-{number % 3}")

def killed(number):
    job(number)
    os._exit(0)

if __name__ == "__main__":
    way, method, end, jobs = *sys.argv[1:4], int(sys.argv[4])
    context = multiprocessing.get_context(method)
    if way == "pool":
        with context.Pool(3) as pool:  # ends its processes with a signal
            pool.map(job, range(jobs))
    elif way == "executor":
        with ProcessPoolExecutor(3, mp_context=context) as executor:
            list(executor.map(job, range(jobs)))
    else:
        processes = [
            context.Process(target=killed if way == "killed" else job, args=[number], daemon=way == "daemon")
            for number in range(jobs)
        ]
        for process in processes:
            process.start()
        for process in processes:
            if way != "unjoined":
                process.join()
    if end == "shutdown":
        assert client.shutdown(60)
"""


def multiprocessing(way: str, method: str, end: str, jobs: int, gateway: Gateway, folder: str) -> set[str]:
    """Run a program whose child processes record; return the names of the events that arrived until it ended."""
    script = Path(folder, "program.py")
    script.write_text(PROGRAM)
    command = [sys.executable, "-W", "ignore", str(script), way, method, end, str(jobs)]
    done = subprocess.run(command, env=environment(gateway, folder), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return set(gateway.names)


def _processes(way: str, method: str, end: str) -> Run:
    begin = time.monotonic()
    with serving() as gateway, tempfile.TemporaryDirectory() as folder:
        arrived = multiprocessing(way, method, end, JOBS, gateway, folder)
    return Run(JOBS, len(arrived), time.monotonic() - begin)


def _forked() -> Run:
    """A fork at each millisecond after `initialize`; the child records and ends."""
    program = """
import os, time
from svctoolkit.sdk import ServiceClient
clients = []
for delay in range(51):
    client = ServiceClient(profile="server", data_plane_url=os.environ["SHOP_DATA_PLANE"],
                           data_directory=os.environ["SHOP_FOLDER"] + f"/{delay}", exit_timeout=60)
    client.initialize(os.environ["SHOP_KEY"])
    time.sleep(delay / 1000)
    if (child := os.fork()) == 0:
        import http.client, urllib.request
        client.track(f"child {delay}")
        os._exit(0)
    os.waitpid(child, 0)
    clients.append(client)
assert all(client.shutdown(60) for client in clients)
"""
    begin = time.monotonic()
    with serving() as gateway, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "ignore", "-c", program]
        subprocess.run(command, env=environment(gateway, folder), check=True, timeout=600)
        return Run(51, len(set(gateway.names)), time.monotonic() - begin)


def _celery() -> Run:
    """Tasks of real prefork processes; each starts another one."""
    publish = "from tests.sdk.apps.celery_shop import send_receipt\nfor n in range(50): send_receipt.delay(f'o-{n}')"
    command = [
        "celery", "-A", "tests.sdk.apps.celery_shop", "worker", "--pool", "prefork", "--concurrency", "4",
        "--without-mingle", "--without-gossip",
    ]  # fmt: skip
    begin = time.monotonic()
    with serving() as gateway, tempfile.TemporaryDirectory() as folder:
        settings = environment(gateway, folder)
        subprocess.run([sys.executable, "-W", "ignore", "-c", publish], env=settings, cwd=ROOT, check=True)
        with Path(folder, "worker.log").open("wb") as log:
            worker = [sys.executable, "-W", "ignore", "-m", *command]
            process = subprocess.Popen(worker, env=settings, cwd=ROOT, stdout=log, stderr=log)
        until(lambda: not list(Path(folder, "queue").glob("*.msg")), _PATIENCE)
        process.send_signal(signal.SIGTERM)
        process.wait(_PATIENCE)
        return Run(100, len({(e["event"], e["properties"]["order"]) for e in gateway.events}), time.monotonic() - begin)


def ways() -> Iterator[tuple[str, Callable[[], Run], Callable[[], Run] | None]]:
    """Yield the name of each way, what runs it, and what runs it without the client."""
    commands = {f"gunicorn {kind} {n}": gunicorn(kind, n) for kind in ("sync", "gthread", "gevent") for n in (1, 3, 8)}
    commands |= {f"uvicorn {workers}": uvicorn(workers) for workers in (1, 2, 4)}
    for name, command in commands.items():
        yield name, lambda command=command: served(command), lambda command=command: served(command, tracked=False)
    for method in ("fork", "spawn", "forkserver"):
        for way in ("process", "unjoined", "daemon", "killed", "pool", "executor"):
            for end in ("shutdown", "exit") if way != "unjoined" else ("exit",):
                name = f"multiprocessing {method} {way} {end}"
                yield name, lambda way=way, method=method, end=end: _processes(way, method, end), None
    yield "fork 0 to 50 ms", _forked, None
    yield "celery prefork 4", _celery, None


def main(selected: list[str]) -> int:
    lost = 0
    print(f"{'way':48} recorded  arrived   seconds  without the client", flush=True)
    for name, run, without in ways():
        if selected and not any(word in name for word in selected):
            continue
        result = run()
        bare = f"{without().seconds:8.2f}" if without is not None else ""
        lost += result.recorded - result.arrived
        print(f"{name:48} {result.recorded:8} {result.arrived:8} {result.seconds:9.2f}  {bare}", flush=True)
    print(f"lost: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
