"""`svctoolkit run` and the pytest plugin, compared with plain pytest+httpx and Tavern (if installed).

The scenarios are the same. CPU seconds and peak memory of the whole command, the best of some runs. The peers call a
server of the Test API in this process, which is not counted.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from svctoolkit import Workspace
from svctoolkit.server import running
from svctoolkit.workspace import Person
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import Spent, best, peers

PYTEST_COMMAND = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
PLUGIN = ("-p", "svctoolkit.pytest_plugin")
_LEAST = 0.001  # s: with very few runs, noise is larger than the cost of one more
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other installed plugins do not count
WORKSPACE = "destinations:\n  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}\n"
SCENARIO = """\
  - name: order {n}
    destination: hook
    event: {{type: track, event: Order Completed, userId: u{n}, properties: {{revenue: {n}, currency: EUR}}}}
    expect:
      status: 200
      dest_transform: {{method: POST, body: {{JSON: {{userId: u{n}, properties: {{revenue: {n}}}}}}}}}
"""
CODE = {
    "python": "def transformEvent(event, metadata):\n  event['seen'] = True\n  return event",
    "javascript": "export function transformEvent(event) { event.seen = true; return event; }",
}
FROZEN = """\
transformations: {{mark: {{language: {language}, code: {code}}}}}
destinations:
  hook: {{type: WEBHOOK, transformation: mark, config: {{webhookUrl: https://hook.example/in}}}}
sources: {{web: {{destinations: [hook]}}}}
defaults: {{source: web}}
freeze: {{time: 2026-01-01T00:00:00Z, ids: sequence}}
scenarios:
"""
SEND = """\
  - name: order {n}
    recorder: {{hook: {{status: 202}}}}
    send: {{type: track, event: Order Completed, userId: u{n}, properties: {{revenue: {n}}}}}
    expect: {{delivered: [{{body: {{seen: true, userId: u{n}, properties: {{revenue: {n}}}}}, status: 202}}]}}
"""
PLAIN_SEND = """\
  - name: sent order {n}
    source: web
    send: {{type: track, event: Order Completed, userId: u{n}, properties: {{revenue: {n}}}}}
    expect: {{delivered: [{{body: {{userId: u{n}, properties: {{revenue: {n}}}}}}}]}}
"""
FIXTURE = """\
import pytest
from svctoolkit import Workspace

WORKSPACE = Workspace.loads({workspace!r})

@pytest.fixture
def workspace():
    return WORKSPACE

@pytest.mark.parametrize("n", range({count}))
def test_it({fixture}, n):
    pass
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
    workspace.users.append(Person.with_token("bench@example.com", "token"))
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
        yield from _frozen(count, svctoolkit, tests, httpx)
        yield from _sends(count, svctoolkit, tests, httpx)
        yield Figure("from save to result of --watch", _save_to_result(folder), "s", "limit", 0.5)
        yield from _each(count, pytest)
        yield Figure(f"memory with {count:,} scenarios", many.peak, "MiB", tests, httpx.peak)


def _frozen(count: int, svctoolkit: Callable[[str], Spent], tests: str, httpx: Spent) -> Iterator[Figure]:
    """Realistic scenarios: fixed clock and ids, scripted answers, user code."""
    for language in CODE:
        name = f"{count:,} frozen sends, {language} code"
        yield Figure(name, svctoolkit(f"{language}.suite.yaml").cpu, "s CPU", tests, httpx.cpu)


def _sends(count: int, svctoolkit: Callable[[str], Spent], tests: str, httpx: Spent) -> Iterator[Figure]:
    """Whether ten times as many sends take ten times as long."""
    few = svctoolkit("sends.suite.yaml").cpu
    yield Figure(f"{count:,} sends", few, "s CPU", tests, httpx.cpu)
    yield Figure(f"{10 * count:,} sends", svctoolkit("many.suite.yaml").cpu, "s CPU", f"{count:,} sends", few)


def _save_to_result(folder: Path) -> float:
    """Seconds until a scenario of a watched suite has run after it was saved: the least of three."""
    command = [sys.executable, "-u", "-m", "svctoolkit", "run", "watched.suite.yaml", "--watch"]
    shutil.copy(folder / "sends.suite.yaml", folder / "watched.suite.yaml")
    watching = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert watching.stdout is not None
    suite, seconds = folder / "watched.suite.yaml", list[float]()
    try:
        for _ in range(3):
            _await(watching.stdout, "waiting for changes")
            # Replaced at once, as editors do it: a half-written suite would be a broken one.
            draft = folder / "draft"
            draft.write_text(suite.read_text().replace("sent order 0", "sent order 00", 1))
            draft.replace(suite)
            saved = time.monotonic()
            _await(watching.stdout, " in ")
            seconds.append(time.monotonic() - saved)
    finally:
        watching.kill()
        watching.communicate()
    return min(seconds)


def _await(lines: IO[str], text: str) -> None:
    if not any(text in line for line in lines):
        raise RuntimeError(f"`run --watch` ended without printing {text!r}")


def _each(count: int, pytest: Callable[..., Spent]) -> Iterator[Figure]:
    """The cost of one more under pytest: many of them compared with one."""
    nothing = pytest("one.suite.yaml", *PLUGIN).cpu
    verify = max(pytest("all.suite.yaml", *PLUGIN).cpu - nothing, _LEAST) / count * 1000
    yield Figure("one more verify by pytest", verify, "ms CPU", "limit", 1.2)
    one = pytest("send.suite.yaml", *PLUGIN).cpu
    send = max(pytest("sends.suite.yaml", *PLUGIN).cpu - one, _LEAST) / count * 1000
    yield Figure("one more send by pytest", send, "ms CPU", "limit", 1.5)
    without = pytest("test_no_plane.py", *PLUGIN).cpu
    test = max(pytest("test_plane.py", *PLUGIN).cpu - without, _LEAST) / count * 1000
    yield Figure("one more test with `data_plane`", test, "ms CPU", "limit", 5.0)


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
    for language, code in CODE.items():
        frozen = FROZEN.format(language=language, code=json.dumps(code))
        (folder / f"{language}.suite.yaml").write_text(frozen + "".join(SEND.format(n=n) for n in range(count)))
    head_of_sends = f"{WORKSPACE}sources: {{web: {{destinations: [hook]}}}}\nscenarios:\n"
    (folder / "send.suite.yaml").write_text(head_of_sends + PLAIN_SEND.format(n=0))
    (folder / "sends.suite.yaml").write_text(head_of_sends + "".join(PLAIN_SEND.format(n=n) for n in range(count + 1)))
    (folder / "many.suite.yaml").write_text(head_of_sends + "".join(PLAIN_SEND.format(n=n) for n in range(10 * count)))
    fixture = {"workspace": f"{WORKSPACE}sources: {{web: {{destinations: [hook]}}}}", "count": count}
    (folder / "test_plane.py").write_text(FIXTURE.format(**fixture, fixture="data_plane"))
    (folder / "test_no_plane.py").write_text(FIXTURE.format(**fixture, fixture="workspace"))
    (folder / "rows.suite.yaml").write_text(head + ROWS)
    (folder / "rows.ndjson").write_text("".join(f'{{"n": {n}}}\n' for n in range(rows)))
    (folder / "test_nothing.py").write_text("def test_nothing(): pass\n")
    (folder / "test_all.py").write_text(PYTEST.format(url=url, count=count))
    (folder / "test_all.tavern.yaml").write_text("".join(TAVERN.format(url=url, n=n) for n in range(count)))
