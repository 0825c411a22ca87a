"""Hostile transformations, sent through the Test API of a real server, have the expected outcome and gain nothing.

`tests/attacks/manifest.json` names the scripts, what they try, and which outcomes are fine. The server is a separate
process; while it is attacked, another client constantly runs transformations in both languages. Scripts that end by
themselves have time to do so: only endless ones meet the limit.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import compress, product
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any

import httpx
import pytest

from tests.pace import slowness

HERE = Path(__file__).parent / "attacks"
MANIFEST = json.loads((HERE / "manifest.json").read_text())
ATTACKS = MANIFEST["attacks"]
LANGUAGE = {"js": "javascript", "py": "python"}
FINE = {
    "js": "export function transformEvent(event) { event.fine = true; return event }",
    "py": "def transformEvent(event, metadata):\n    event['fine'] = True\n    return event\n",
}
#: words in our error messages -> outcome in the manifest
SAYS = [("timed out", "timeout"), ("memory limit", "memory"), ("its process", "crash")]
EVENT = {"type": "track", "event": "Order Completed", "messageId": "m-1", "userId": "u-1", "properties": {"n": 12.5}}
# Seconds, not the usual four: the outcomes are the same, and there are many scripts that need the whole time.
TIME = 1.0
PATIENCE = 60.0  # the limit for the scripts that end by themselves, whatever the machine does meanwhile
OTHER_IDS = {"js/batch_of_others": ("m-2", "m-3")}  # text that an attack may put into its own results
SERVER = """
import json, sys, threading
SANDBOX_HOST_SECRET = "not for transformations"
from svctoolkit import Workspace
from svctoolkit.server import running
with running(Workspace.load(sys.argv[1])) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
NOBODY = 65534
linux = pytest.mark.skipif(sys.platform != "linux", reason="the locks are Linux's")

pytestmark = [linux, pytest.mark.slow, pytest.mark.xdist_group("attacks")]  # the scripts have one fixed port


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    """The targets of attacks: a TCP port, an abstract socket, and a file."""
    tcp = socket.create_server(("127.0.0.1", 47831))
    tcp.setblocking(False)
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0sbx-canary")
    abstract.listen()
    canary = Path("/tmp/svc_canary.txt")
    canary.write_text("canary")
    yield tcp
    canary.unlink()
    abstract.close()
    tcp.close()


class Bench:
    """A served workspace with a transformation for every attack, and another client that uses it in a `with` block.

    `limit`: seconds of a call.
    """

    def __init__(
        self, folder: Path, python: str, environment: Mapping[str, str], user: int | None, limit: float
    ) -> None:
        (folder / "workspace.yaml").write_text(json.dumps(workspace(limit)))
        self.user, self.limit = user, limit
        self._process = subprocess.Popen(
            [python, "-c", SERVER, str(folder / "workspace.yaml")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=dict(environment),
            user=user,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self.answered, self.slowest, self.refused = 0, 0.0, list[str]()
        self._stop = Flag()
        self._client = httpx.Client(base_url=self.url, auth=("a@b.example", "token"), timeout=60)
        for language in LANGUAGE:  # the workers of the other client start before the attacks
            self.transform(f"other-{language}")

    def transform(self, transformation: str, event: Mapping[str, Any] = EVENT) -> Any:
        """`user_transformed_payload` of each returned event."""
        answer = self._client.post(f"/v0/testDestination/{transformation}", json={"message": event}, timeout=60)
        assert answer.status_code == 200, answer.text
        return [entry["user_transformed_payload"] for entry in answer.json()["data"]]

    def _keep_asking(self) -> None:
        while not self._stop.wait(0.05):
            for language in LANGUAGE:
                begun = time.monotonic()
                try:
                    (payload,) = self.transform(f"other-{language}")
                    if payload.get("fine"):
                        self.answered += 1
                    else:
                        self.refused.append(str(payload))
                except (AssertionError, ValueError, httpx.HTTPError) as error:
                    self.refused.append(repr(error))
                self.slowest = max(self.slowest, time.monotonic() - begun)

    def step(self, attack: str, step: Mapping[str, Any], language: str) -> None:
        """One step of a `sequence`, with the expectations in the manifest."""
        if "wait" in step:
            self._stop.wait(step["wait"])
        elif "victims" in step:
            for number in range(step["victims"]):
                begun = time.monotonic()
                payloads = self.transform(f"victim-{language}-{attack.replace('/', '-')}-{number}")
                check_in_time(outcome(payloads) != "timeout", payloads)
                assert payloads[0].get("fine")
                check_in_time(time.monotonic() - begun < 3 * slowness(), number)
        else:
            event = {**EVENT, **step["event"]}
            ids = {event["messageId"], None, *OTHER_IDS.get(attack, ())}
            for payload in self.transform(attack.replace("/", "-"), event):
                assert set(payload) == {"error"} or payload.get("messageId") in ids
                assert "breach" not in payload

    def processor_time(self) -> float:
        """CPU seconds of the server's workers, including ended ones."""
        ticks = os.sysconf("SC_CLK_TCK")
        waiting, total = [self._process.pid], 0.0
        while waiting:
            process = waiting.pop()
            try:
                for task in os.listdir(f"/proc/{process}/task"):
                    waiting += map(int, Path(f"/proc/{process}/task/{task}/children").read_text().split())
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            except FileNotFoundError:
                continue  # it has ended meanwhile
            if process != self._process.pid:
                total += sum(map(int, fields[11:15])) / ticks
        return total

    def __enter__(self) -> None:
        self._stop.clear()
        self._other = Thread(target=self._keep_asking)
        self._other.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._other.join()

    def stop(self) -> None:
        self._client.close()
        self._process.communicate("")


def workspace(limit: float) -> dict[str, Any]:
    """A destination with a transformation for each attack, for probes, and for the innocent client."""
    scripts = {attack["id"].replace("/", "-"): HERE / attack["file"] for attack in ATTACKS}
    scripts |= {f"{path.parent.name}-{path.stem}": path for path in HERE.glob("*/_*.*")}
    codes = {key: (path.read_text(), path.parent.name) for key, path in scripts.items()}
    for language, fine in FINE.items():
        codes[f"fine-{language}"] = codes[f"other-{language}"] = fine, language
        for attack in ATTACKS:
            steps = [step["victims"] for step in attack.get("sequence", ()) if "victims" in step]
            key = attack["id"].replace("/", "-")
            codes |= {f"victim-{language}-{key}-{n}": (f"{fine}\n", language) for n in range(max(steps, default=0))}
    return {
        "workspace": "attacked",
        "users": [{"email": "a@b.example", "token": "token"}],
        "limits": {"time": limit},
        "transformations": {key: {"language": LANGUAGE[lang], "code": code} for key, (code, lang) in codes.items()},
        "destinations": {
            key: {"type": "WEBHOOK", "config": {"webhookUrl": "https://b.example"}, "transformation": key}
            for key in codes
        },
    }


def environment() -> dict[str, str]:
    folders = [str(Path(__file__).parent.parent), *filter(None, sys.path)]
    return {"SANDBOX_CANARY": "canary", "PYTHONPATH": os.pathsep.join(folders), "PATH": os.environ.get("PATH", "")}


@pytest.fixture(scope="module")
def benches() -> Iterator[list[Bench]]:
    """For each limit, a server with the user of the tests, and one with a user without rights if they run as root."""
    with ExitStack() as stack:
        made = []
        for (python, user), limit in product(users(), (TIME, PATIENCE)):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))  # others cannot access pytest's folders
            folder.chmod(0o755)
            made.append(Bench(folder, python, environment(), user, limit))
            stack.callback(made[-1].stop)
        yield made


def users() -> list[tuple[str, int | None]]:
    """Pairs of a Python and the user who runs it; None is the user of the tests."""
    python = next((each for each in (sys.executable, "/usr/bin/python3") if runs_as(NOBODY, each)), None)
    return [(sys.executable, None), *([(python, NOBODY)] if python is not None and os.getuid() == 0 else [])]


def runs_as(user: int, python: str) -> bool:
    try:
        command = [python, "-c", "import svctoolkit, uvicorn, msgspec, sys; sys.exit(sys.version_info < (3, 11))"]
        return subprocess.run(command, env=environment(), user=user, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def outcome(payloads: list[dict[str, Any]]) -> str:
    if set(payloads[0]) != {"error"}:
        return "ok"
    if payloads[0]["error"] == "event dropped by user_transformation":
        return "dropped"
    return next((what for words, what in SAYS if words in payloads[0]["error"]), "error")


def test_every_script_is_in_the_manifest() -> None:
    """The manifest names each script in the folder, and each of them exists."""
    scripts = {f"{path.parent.name}/{path.name}" for path in HERE.glob("*/*") if not path.name.startswith("_")}

    assert scripts == {attack["file"] for attack in ATTACKS}


def test_the_attacks_run_as_two_users() -> None:
    """Also as one who may do nothing: locks that only root can set are missing then."""
    if len(users()) < 2:
        pytest.skip("only root can be another user, who needs a Python that may be run by all")


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack["id"] for attack in ATTACKS])
def test_an_attack_gains_nothing(attack: dict[str, Any], benches: list[Bench], listener: socket.socket) -> None:
    """The outcome is one that the manifest allows, in time; other clients get answers; the next code works.

    Both servers are attacked at the same time. One that answers too late is attacked again, alone.
    """
    limit = TIME if "timeout" in attack["expect"] else PATIENCE
    attacked = [bench for bench in benches if bench.limit == limit]
    try:
        with ThreadPoolExecutor(len(attacked)) as pool:
            late = list(compress(attacked, pool.map(partial(is_late, attack), attacked)))
        for bench in late:
            if is_late(attack, bench):
                run_attack(attack, bench)
    finally:
        check_gains(listener)


def is_late(attack: dict[str, Any], bench: Bench) -> bool:
    """Run one attack. True if there were delays, which the machine may have caused."""
    try:
        run_attack(attack, bench)
    except TooLateError:
        return True
    except AssertionError as error:
        error.add_note(f"the user of the server: {bench.user or 'that of the tests'}")
        raise
    return False


def run_attack(attack: dict[str, Any], bench: Bench) -> None:
    """Run one attack.

    Raises `TooLateError` for delays that the machine may have caused, `AssertionError` for all else.
    """
    with bench:
        key, language = attack["id"].replace("/", "-"), attack["lang"]
        begun, answered, bench.slowest = time.monotonic(), bench.answered, 0.0
        bench.refused.clear()
        payloads = bench.transform(key)
        spent = time.monotonic() - begun
        for step in attack.get("sequence", ()):
            bench.step(attack["id"], step, language)

        assert not any("breach" in payload for payload in payloads)
        check_in_time(outcome(payloads) != "timeout" or "timeout" in attack["expect"], payloads)
        assert outcome(payloads) in attack["expect"], payloads
        check_in_time(spent < 2 * TIME + MANIFEST["conventions"]["limits"]["grace_s"] * slowness(), spent)
        check_in_time(bench.answered > answered or spent < 0.5)  # a short attack may end between two polls
        check_in_time(not any("imed out" in words or "Timeout" in words for words in bench.refused), bench.refused)
        assert bench.refused == []
        check_in_time(bench.slowest < 1.0 * slowness(), bench.slowest)
        assert bench.transform(f"fine-{language}")[0]["fine"]
        if "then" in attack:
            assert bench.transform(attack["then"].replace("/", "-").rpartition(".")[0])[0] == EVENT
    if attack.get("idle_cpu"):
        check_idle(bench)


class TooLateError(AssertionError):
    """A timeout: the attack starved other clients, or the host was busy."""


def check_in_time(in_time: bool, what: object = "nobody else was answered") -> None:
    if not in_time:
        raise TooLateError(what)


def check_gains(listener: socket.socket) -> None:
    """Check that the attack created no file and opened no connection."""
    assert not [*Path("/tmp").glob("sbx_pwned*"), *Path("/dev/shm").glob("sbx_pwned*")]
    with pytest.raises(BlockingIOError):
        listener.accept()


def check_idle(bench: Bench) -> None:
    """Check that idle workers use no CPU: at most 0.4 s in 2 s, in proportion for shorter periods."""
    before = bench.processor_time()
    time.sleep(0.75)  # measuring takes a while
    used = bench.processor_time() - before
    assert used < 0.15
