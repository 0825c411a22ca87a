"""`svctoolkit run` and the pytest plugin, beside plain pytest+httpx and Tavern (if installed), with the same scenarios.

CPU seconds and peak memory of the whole command, the best of some runs. The peers ask a server of the Test API on this
machine, which runs in this process and is not counted.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from svctoolkit import Workspace
from svctoolkit.server import running
from svctoolkit.workspace import Person
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import Spent, best, peers

PYTEST_COMMAND = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
PLUGIN = ("-p", "svctoolkit.pytest_plugin")
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # whatever else is installed does not count
WORKSPACE = "destinations:\n  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}\n"
SCENARIO = """\
  - name: order {n}
    destination: hook
    event: {{type: track, event: Order Completed, userId: u{n}, properties: {{revenue: {n}, currency: EUR}}}}
    expect:
      status: 200
      dest_transform: {{method: POST, body: {{JSON: {{userId: u{n}, properties: {{revenue: {n}}}}}}}}}
"""
ROWS = """\
  - name: order $(n)
    cases: rows.ndjson
    destination: hook
    event: {type: track, event: Order Completed, userId: u1, properties: {revenue: $(n), currency: EUR}}
    expect: {status: 200, dest_transform: {method: POST, body: {JSON: {userId: u1, properties: {revenue: $(n)}}}}}
"""
PYTEST = """\
import httpx, pytest
client = httpx.Client(base_url={url!r}, auth=("bench@example.com", "token"))

@pytest.mark.parametrize("n", range({count}))
def test_order(n):
    properties = {{"revenue": n, "currency": "EUR"}}
    event = {{"type": "track", "event": "Order Completed", "userId": f"u{{n}}", "properties": properties}}
    answer = client.post("/v0/testDestination/hook", json={{"message": event}})
    payload = answer.json()["data"][0]["dest_transformed_payload"][0]
    assert answer.status_code == 200
    assert payload["method"] == "POST"
    assert payload["body"]["JSON"]["userId"] == f"u{{n}}"
    assert payload["body"]["JSON"]["properties"]["revenue"] == n
"""
TAVERN = """\
---
test_name: order {n}
stages:
  - name: order
    request:
      url: {url}/v0/testDestination/hook
      method: POST
      auth: [bench@example.com, token]
      json:
        message: {{type: track, event: Order Completed, userId: u{n}, properties: {{revenue: {n}, currency: EUR}}}}
    response: {{status_code: 200}}
"""


def run(options: Options) -> Iterator[Figure]:
    count, runs = options.many(500, 10), options.many(3, 1)
    rows = options.many(10_000, 100)
    workspace = Workspace.loads(WORKSPACE)
    workspace.people.append(Person.with_token("bench@example.com", "token"))
    with tempfile.TemporaryDirectory() as name, running(workspace) as server:
        folder = Path(name)
        _write(folder, server.url, count, rows)

        def svctoolkit(file: str) -> Spent:
            return best([sys.executable, "-m", "svctoolkit", "run", file], runs, folder)

        def pytest(file: str, *plugin: str) -> Spent:
            return best([*PYTEST_COMMAND, *plugin, file], runs, folder, ALONE)

        nothing, httpx = pytest("test_nothing.py"), pytest("test_all.py")
        many = svctoolkit("all.suite.yaml")
        tests = f"pytest+httpx, {count:,} tests"
        yield Figure("1 scenario", svctoolkit("one.suite.yaml").cpu, "s CPU", "pytest with 1 empty test", nothing.cpu)
        yield Figure(f"{count:,} scenarios", many.cpu, "s CPU", tests, httpx.cpu)
        yield _beside_tavern(f"{count:,} scenarios", many, count, runs, folder)
        yield Figure(f"{count:,} scenarios by pytest", pytest("all.suite.yaml", *PLUGIN).cpu, "s CPU", tests, httpx.cpu)
        yield Figure(f"{rows:,} rows", svctoolkit("rows.suite.yaml").cpu, "s CPU", f"{count:,} scenarios", many.cpu)
        yield Figure(f"memory with {count:,} scenarios", many.peak, "MiB", tests, httpx.peak)


def _beside_tavern(name: str, ours: Spent, count: int, runs: int, folder: Path) -> Figure:
    environment = peers("tavern")
    if environment is None:
        return Figure(name, ours.cpu, "s CPU", "Tavern", note="not installed: pip install tavern")
    command = [*PYTEST_COMMAND, "-p", "tavern._core.pytest", "test_all.tavern.yaml"]
    try:
        theirs = best(command, runs, folder, {**ALONE, **environment}).cpu
    except RuntimeError as error:
        return Figure(name, ours.cpu, "s CPU", "Tavern", note=f"does not run here: {str(error).splitlines()[-1]}")
    return Figure(name, ours.cpu, "s CPU", f"Tavern, {count:,} documents", theirs)


def _write(folder: Path, url: str, count: int, rows: int) -> None:
    head = f"{WORKSPACE}scenarios:\n"
    (folder / "one.suite.yaml").write_text(head + SCENARIO.format(n=1))
    (folder / "all.suite.yaml").write_text(head + "".join(SCENARIO.format(n=n) for n in range(count)))
    (folder / "rows.suite.yaml").write_text(head + ROWS)
    (folder / "rows.ndjson").write_text("".join(f'{{"n": {n}}}\n' for n in range(rows)))
    (folder / "test_nothing.py").write_text("def test_nothing(): pass\n")
    (folder / "test_all.py").write_text(PYTEST.format(url=url, count=count))
    (folder / "test_all.tavern.yaml").write_text("".join(TAVERN.format(url=url, n=n) for n in range(count)))
