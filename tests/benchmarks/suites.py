"""`svctoolkit run` and the pytest plugin, beside plain pytest+httpx and Tavern (if installed), with the same scenarios.

CPU seconds and peak memory of the whole process, medians. The peers ask a server of the Test API on this machine, which
runs in this process and is not counted.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from svctoolkit import Workspace
from svctoolkit.server import running
from svctoolkit.workspace import Person

COUNT = 500
RUNS = 3
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


def run() -> Iterator[str]:
    workspace = Workspace.loads(WORKSPACE)
    workspace.people.append(Person.with_token("bench@example.com", "token"))
    with tempfile.TemporaryDirectory() as name, running(workspace) as server:
        folder = Path(name)
        _write(folder, server.url)
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        ours = [sys.executable, "-m", "svctoolkit", "run"]
        yield _line("svctoolkit run, 1 scenario", [*ours, "one.suite.yaml"], folder)
        yield _line(f"svctoolkit run, {COUNT} scenarios", [*ours, "all.suite.yaml"], folder)
        yield _line("svctoolkit run, 10,000 rows", [*ours, "rows.suite.yaml"], folder)
        yield _line("pytest alone, 1 test", [*pytest, "test_nothing.py"], folder)
        yield _line(f"pytest with {COUNT} scenarios", [*pytest, "all.suite.yaml"], folder)
        yield _line(f"pytest+httpx, {COUNT} tests", [*pytest, "test_all.py"], folder)
        if importlib.util.find_spec("tavern"):
            yield _line(f"Tavern, {COUNT} documents", [*pytest, "test_all.tavern.yaml"], folder)
        else:
            yield "Tavern: not installed (pip install tavern)"


def _write(folder: Path, url: str) -> None:
    head = f"{WORKSPACE}scenarios:\n"
    (folder / "one.suite.yaml").write_text(head + SCENARIO.format(n=1))
    (folder / "all.suite.yaml").write_text(head + "".join(SCENARIO.format(n=n) for n in range(COUNT)))
    (folder / "rows.suite.yaml").write_text(head + ROWS)
    (folder / "rows.ndjson").write_text("".join(f'{{"n": {n}}}\n' for n in range(10_000)))
    (folder / "test_nothing.py").write_text("def test_nothing(): pass\n")
    (folder / "test_all.py").write_text(PYTEST.format(url=url, count=COUNT))
    (folder / "test_all.tavern.yaml").write_text("".join(TAVERN.format(url=url, n=n) for n in range(COUNT)))


def _line(what: str, command: Sequence[str], folder: Path) -> str:
    measured = [_measured(command, folder) for _ in range(RUNS)]
    seconds, peak = (median(one[i] for one in measured) for i in (0, 1))
    return f"{what:<34} {seconds:6.2f} s CPU  {peak:5.0f} MiB peak"


def _measured(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """CPU seconds and peak MiB of one process, which must succeed."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        assert process.stderr is not None
        raise RuntimeError(f"{' '.join(command)}: {process.stderr.read().decode()[-500:]}")
    return usage.ru_utime + usage.ru_stime, _mebibytes(usage)


def _mebibytes(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
