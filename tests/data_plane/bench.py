"""Runs event SDKs against a data plane, several in parallel, each through its own faulty proxy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from threading import Condition, Lock, Thread
from time import monotonic
from typing import Any

from svctoolkit import DataPlane, Workspace
from svctoolkit.server.inspect.views import View
from tests.data_plane import packages
from tests.data_plane.faulty_proxy import FaultyProxy, Line
from tests.data_plane.packages import SCRIPTS

#: How many events a client sends: an identify (-1), and tracks that count from 0.
EVENTS = range(-1, 12)
PYTHON = {
    "rudder_python": "rudderstack.analytics",
    "segment_python": "segment.analytics",
    "analytics_python": "analytics",
}
NODE = ("rudder_node", "segment_node", "analytics_node")
BROWSER = (
    "rudder_browser",
    "rudder_browser_batch",
    "rudder_browser_beacon",
    "rudder_browser_superseded",
    "segment_browser",
    "segment_browser_batch",
)
_START = 300.0  # seconds that a page may take until its first event
#: Seconds of silence after which a page counts as finished. No client waits longer than 12 s for its third attempt, but
#: a busy machine does; for a page with beacons, which are never sent again, nothing is waited for.
_QUIET, _QUIET_AFTER_BEACONS = 60.0, 12.0


@dataclass(frozen=True)
class Run:
    """Result of one client: the events it sent, the events that the data plane has, and the errors that it reported."""

    line: Line
    view: View
    errors: list[str]


class Bench:
    """A data plane with one source and one destination, and the clients that send to it."""

    def __init__(self) -> None:
        workspace = Workspace("shop")
        workspace.destination("crm", "WEBHOOK", config={"webhookUrl": "https://crm.example/in"})
        workspace.source("web", write_key="web-key", destinations=["crm"])
        self._plane = DataPlane(workspace)
        self._proxy = FaultyProxy(self._plane.port)
        self._names = count()
        # Clients wait more than they compute.
        self.pool = ThreadPoolExecutor(12)
        self._lock = Lock()

    @cached_property
    def _pages(self) -> Pages:
        return Pages(packages.node_clients(), packages.chromium())

    def run(self, client: str, faults: Iterable[str]) -> Run:
        """Run one client over a proxy with these faults until it exits or stops sending."""
        line, name = self._proxy.open(faults), f"run{next(self._names)}"
        key = f"web-key~{name}"
        if client in BROWSER:
            with self._lock:
                pages = self._pages
            errors = pages.run(name, {"client": client, "url": line.url, "key": key, "count": EVENTS.stop}, line)
        else:
            errors = _run_process(client, line.url, key)
        self._plane.drain(120, run=name)
        return Run(line, self._plane.of_run(name), errors)

    def stop(self) -> None:
        self.pool.shutdown(cancel_futures=True)
        if "_pages" in self.__dict__:
            self._pages.stop()
        self._plane.stop()
        self._proxy.stop()


def _run_process(client: str, url: str, key: str) -> list[str]:
    if client in PYTHON:
        superseded = client == "analytics_python"
        folder = packages.superseded_python_client() if superseded else packages.python_clients()
        command, environ = [sys.executable, SCRIPTS / "burst.py", PYTHON[client]], {"PYTHONPATH": str(folder)}
    else:
        command, environ = ["node", SCRIPTS / "burst.mjs", client], {"CLIENTS": str(packages.node_clients())}
    run = subprocess.run(
        [*map(str, command), url, key, str(EVENTS.stop)],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=300,
        cwd=packages.CACHE,  # a client reads `.env` in the working directory
    )
    assert run.returncode == 0, run.stderr
    errors: list[str] = json.loads(run.stdout.splitlines()[-1])["errors"]
    return errors


class Pages:
    """Pages in one Chromium, one for each client."""

    def __init__(self, clients: Path, chromium: str) -> None:
        self._process = subprocess.Popen(
            ["node", SCRIPTS / "pages.mjs"],
            env={**os.environ, "CLIENTS": str(clients), "CHROMIUM": chromium},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._closed: dict[str, list[str]] = {}
        self._changed = Condition()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def run(self, name: str, job: Mapping[str, Any], line: Line) -> list[str]:
        """Keep a page open until the data plane has all its events or the page stops sending; return its errors."""
        started = monotonic()
        self._write({"id": name, **job})
        quiet = _QUIET_AFTER_BEACONS if job["client"] == "rudder_browser_beacon" else _QUIET
        line.wait(lambda: line.accepted() >= set(EVENTS), lambda: _idle_for(line, started, quiet))
        self._write({"close": name})
        with self._changed:
            assert self._changed.wait_for(lambda: name in self._closed, 60), "the browser does not close the page"
            return self._closed[name]

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _write(self, job: Mapping[str, Any]) -> None:
        with self._changed:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            job = json.loads(text)
            with self._changed:
                self._closed[job["id"]] = job["errors"]
                self._changed.notify_all()


def _idle_for(line: Line, started: float, quiet: float) -> float:
    """Seconds that a page may still stay silent."""
    if not line.exchanges:
        return started + _START - monotonic()
    return line.busy_at + quiet - monotonic()
