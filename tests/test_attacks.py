"""Hostile transformations, through the Test API of a real server: the outcome is as expected, and nothing is gained.

`tests/attacks/manifest.json` names the scripts, what they try, and which outcomes are fine.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any

import httpx
import pytest

from svctoolkit import Workspace
from svctoolkit.server import running
from svctoolkit.transformations import Limits
from svctoolkit.workspace import Person

HERE = Path(__file__).parent / "attacks"
MANIFEST = json.loads((HERE / "manifest.json").read_text())
ATTACKS = MANIFEST["attacks"]
LANGUAGE = {"js": "javascript", "py": "python"}
PROBE = """
const found = [];
if ({}.polluted !== undefined || [].polluted !== undefined) found.push('prototype');
if (globalThis.secret !== undefined || globalThis.seen !== undefined) found.push('global');
if (JSON.stringify({ a: 1 }) !== '{"a":1}' || JSON.parse('{"a":1}').a !== 1) found.push('JSON');
if (typeof Promise !== 'function') found.push('Promise');
export function transformEvent(event) { return found.length ? { breach: found.join() } : event }
"""
FINE = {
    "js": "export function transformEvent(event) { event.fine = true; return event }",
    "py": "def transformEvent(event, metadata):\n    event['fine'] = True\n    return event\n",
}
#: words of our error texts -> outcome of the manifest
SAYS = [("timed out", "timeout"), ("memory limit", "memory"), ("its process", "crash")]
EVENT = {"type": "track", "event": "Order Completed", "messageId": "m-1", "userId": "u-1", "properties": {"n": 12.5}}
LIMITS = Limits(time=1.5)  # seconds, not the usual four: the outcomes are the same, and there are many
SANDBOX_HOST_SECRET = "not for transformations"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("attacks")]  # the scripts know one port


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    """What attacks try to reach: a TCP port and an abstract socket, a file, a variable of the environment."""
    tcp = socket.create_server(("127.0.0.1", 47831))
    tcp.setblocking(False)
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0sbx-canary")
    abstract.listen()
    canary = Path("/tmp/svc_canary.txt")
    canary.write_text("canary")
    os.environ["SANDBOX_CANARY"] = "canary"
    yield tcp
    del os.environ["SANDBOX_CANARY"]
    canary.unlink()
    abstract.close()
    tcp.close()


class Bench:
    """A served workspace, and somebody else who uses it all the time."""

    def __init__(self, workspace: Workspace, url: str) -> None:
        self.workspace, self.url = workspace, url
        self.answered, self.refused = 0, list[str]()
        self._stop = Flag()
        self._other = Thread(target=self._keep_asking)
        self._other.start()

    def transformed(self, code: str, language: str, file: str) -> Any:
        """`user_transformed_payload` of the event through this code."""
        self.workspace.transformation("code", code=code, language=LANGUAGE[language]).file = Path(file)
        return self._post("attacked", 30)["data"]

    def _post(self, destination: str, timeout: float) -> Any:
        answer = httpx.post(
            f"{self.url}/v0/testDestination/{destination}",
            auth=("a@b.example", "token"),
            json={"message": EVENT},
            timeout=timeout,
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def _keep_asking(self) -> None:
        while not self._stop.wait(0.02):
            try:
                self._post("other", 5)
                self.answered += 1
            except (AssertionError, httpx.HTTPError) as error:
                self.refused.append(repr(error))

    def stop(self) -> None:
        self._stop.set()
        self._other.join()


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    workspace = Workspace("attacked", people=[Person.with_token("a@b.example", "token")], limits=LIMITS)
    workspace.transformation("code", code=FINE["js"], language="javascript")
    workspace.destination("attacked", "WEBHOOK", config={"webhookUrl": "https://b.example"}, transformation="code")
    workspace.destination("other", "WEBHOOK", config={"webhookUrl": "https://b.example"})
    with running(workspace) as server:
        bench = Bench(workspace, server.url)
        yield bench
        bench.stop()


def outcome(data: list[dict[str, Any]]) -> str:
    payload = data[0]["user_transformed_payload"]
    if set(payload) != {"error"}:
        return "ok"
    if payload["error"] == "event dropped by user_transformation":
        return "dropped"
    return next((what for words, what in SAYS if words in payload["error"]), "error")


def test_every_script_is_in_the_manifest() -> None:
    """No attack is forgotten: the manifest names each script of the folder, and each is there."""
    scripts = {f"{path.parent.name}/{path.name}" for path in HERE.glob("*/*") if not path.name.startswith("_")}

    assert scripts == {attack["file"] for attack in ATTACKS}


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack["id"] for attack in ATTACKS])
def test_an_attack_gains_nothing(attack: dict[str, Any], bench: Bench, listener: socket.socket) -> None:
    """The outcome is one that the manifest allows, in time; others are answered meanwhile; the next code works."""
    begun, answered = time.monotonic(), bench.answered
    data = bench.transformed((HERE / attack["file"]).read_text(), attack["lang"], attack["file"])
    spent = time.monotonic() - begun

    assert outcome(data) in attack["expect"], data
    assert spent < 2 * LIMITS.time + MANIFEST["conventions"]["limits"]["grace_s"]
    assert not any("breach" in entry["user_transformed_payload"] for entry in data)
    assert bench.answered > answered or spent < 1  # a short one may be over between two questions
    assert bench.refused == []
    assert bench.transformed(FINE[attack["lang"]], attack["lang"], "fine")[0]["user_transformed_payload"]["fine"]
    if "then" in attack:
        assert bench.transformed(PROBE, "js", "probe.js")[0]["user_transformed_payload"] == EVENT
    assert not [*Path("/tmp").glob("sbx_pwned*"), *Path("/dev/shm").glob("sbx_pwned*")]
    with pytest.raises(BlockingIOError):
        listener.accept()
