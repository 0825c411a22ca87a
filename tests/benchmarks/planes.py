"""Data planes in a user's tests: how long leaving one takes, and tests with the plugin's fixtures.

The tests' time begins after collection, when pytest and the plugin have started, and ends with the process.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import httpx

from svctoolkit import Workspace
from svctoolkit.server import DataPlane
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import spent
from tests.benchmarks.suites import ALONE, PLUGIN, PYTEST_COMMAND, WORKSPACE

_LIMIT = 5.0  # ms: of the time that nobody waits for
CONFTEST = """\
import atexit, json, pathlib, time
begun = []

def pytest_collection_finish():
    begun.extend([time.perf_counter(), time.process_time()])

def _write():
    now = [time.perf_counter(), time.process_time()]
    pathlib.Path("took.json").write_text(json.dumps([after - before for before, after in zip(begun, now)]))

atexit.register(_write)  # the first to be registered is the last to be called
"""
EMPTY = "def test_nothing(): pass\n"
TESTS = """\
import pytest
from svctoolkit import Workspace

@pytest.fixture
def workspace():
    return Workspace.load("workspace.yaml")

@pytest.mark.parametrize("n", range({count}))
def test_order(data_plane, service_client, n):
    service_client.track("Order Completed", {{"revenue": n}})
    service_client.flush()
    data_plane.drain()
    assert data_plane.delivered[0].payload["body"]["JSON"]["properties"]["revenue"] == n
"""


def run(options: Options) -> Iterator[Figure]:
    workspace = Workspace.loads(WORKSPACE)
    times = options.many(40, 3)
    waited, cpu = _left(workspace, times, has_client=False)
    yield Figure(f"leave a listening plane, median of {times}", waited, "ms", "limit", _LIMIT)
    yield Figure("enter and leave it, CPU", cpu, "ms CPU", "limit", _LIMIT)
    waited, _ = _left(workspace, times, has_client=True)
    yield Figure(f"leave a plane with a client, median of {times}", waited, "ms", "limit", _LIMIT)
    count, runs = options.many(20, 2), options.many(5, 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text(CONFTEST)
        (folder / "workspace.yaml").write_text(f"{WORKSPACE}sources: {{web: {{destinations: [hook]}}}}\n")
        (folder / "test_nothing.py").write_text(EMPTY)
        (folder / "test_shop.py").write_text(TESTS.format(count=count))
        nothing, ours = ([_tests(folder, file) for _ in range(runs)] for file in ("test_nothing.py", "test_shop.py"))
        tests = f"{count} tests with `data_plane` and `service_client`"
        for n, (what, unit) in enumerate(((tests, "s"), (f"{tests}, CPU", "s CPU"))):
            best, empty = (min(one[n] for one in measured) for measured in (ours, nothing))
            yield Figure(what, best, unit, "1 empty test", empty)


def _left(workspace: Workspace, times: int, *, has_client: bool) -> tuple[float, float]:
    """Milliseconds to leave a plane, and of CPU time for all its life; the median of many."""
    waits, cpu = [], []
    for _ in range(times):
        spent_before = time.process_time()
        plane = DataPlane(workspace)
        if has_client:
            client = httpx.Client(base_url=plane.url, timeout=60)
            client.get("/health")
        left = time.perf_counter()
        plane.stop()
        waits.append((time.perf_counter() - left) * 1000)
        cpu.append((time.process_time() - spent_before) * 1000)
        if has_client:
            client.close()
    return median(waits), median(cpu)


def _tests(folder: Path, file: str) -> tuple[float, float]:
    """Seconds and CPU seconds of a file of tests."""
    spent([*PYTEST_COMMAND, *PLUGIN, file], folder=folder, environment=ALONE)
    wall, cpu = json.loads((folder / "took.json").read_text())
    return wall, cpu
