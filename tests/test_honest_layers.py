"""Every entry point reports once which sandbox layers are missing, and runs no code without the essential ones.

Machines are simulated by processes whose system calls are denied, as in containers (`tests.denied`): whole processes,
as root and as another user.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.test_attacks import environment, runs_as

NOBODY = 65534
WORKSPACE = """
users: [{email: a@b.example, token: token}]
sources: {web: {destinations: [hook]}}
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: "https://b.example"}, transformation: clean}}
transformations: {clean: {language: python, file: clean.py}}
"""
CODE = "def transformEvent(event, metadata):\n    event['clean'] = True\n    return event\n"
SUITE = """
workspace: workspace.yaml
scenarios:
- name: it is clean
  destination: hook
  event: {type: track, event: A, userId: u}
  expect: {user_transform: {clean: true}}
- name: it is clean again
  destination: hook
  event: {type: track, event: B, userId: u}
  expect: {user_transform: {clean: true}}
"""
EVENT = {"type": "track", "event": "A", "userId": "u", "messageId": "m1"}
LAYERS = {"seccomp": "seccomp", "prlimit64": "limits", "landlock_create_ruleset": "landlock", "unshare": "namespaces"}
#: Other plugins take longer to load than these tests to run.
WITHOUT_OTHERS = ("-p", "no:cacheprovider", "-p", "no:nbval", "-p", "no:schemathesis")

linux = pytest.mark.skipif(sys.platform != "linux", reason="the locks are Linux's")
pytestmark = [linux, pytest.mark.slow]


class Machine:
    """A machine that denies a system call, with a user."""

    def __init__(self, folder: Path, call: str, user: int | None = None, python: str = sys.executable) -> None:
        self.folder, self.user, self.python = folder, user, python
        self.before = [python, "-m", "tests.denied", call] if call else []
        self.environment = {**environment(), "HOME": str(folder), "JUPYTER_PLATFORM_DIRS": "1"}

    def start(self, *command: str, **options: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.before, self.python, *command], cwd=self.folder, env=self.environment, user=self.user, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options,  # type: ignore[call-overload]
        )  # fmt: skip

    def run(self, *command: str) -> str:
        return self.start(*command).communicate(timeout=120)[0]

    def serve(self, *options: str) -> str:
        """The console output of a served workspace, and the results of two events."""
        process = self.start("-m", "svctoolkit", "serve", "--workspace", "workspace.yaml", "--port", "0", *options)
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if "delivery  " in line:
                break
        if process.poll() is not None or not lines or "served at" not in lines[0]:  # it refused to start
            process.wait(60)
            with process.stdout:
                return "".join(lines)
        (url,) = re.findall(r"served at (\S+)", "".join(lines))
        for _ in range(2):
            with httpx.Client(base_url=url, auth=("a@b.example", "token"), timeout=60) as client:
                lines.append(client.post("/v0/testDestination/hook", json={"message": EVENT}).text + "\n")
        process.send_signal(signal.SIGINT)
        process.wait(60)
        with process.stdout as rest:
            return "".join(lines) + rest.read()

    def notebook(self, *options: str) -> str:
        """The outputs of a notebook's cells, in a new kernel."""
        from jupyter_client.kernelspec import KernelSpec
        from jupyter_client.manager import KernelManager

        manager = KernelManager()
        launch = [self.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        manager._kernel_spec = KernelSpec(argv=[*self.before, *launch], display_name="Python", language="python")
        manager.start_kernel(cwd=str(self.folder), env=self.environment)
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(60)
        shown: list[str] = []
        trust = ["from svctoolkit import transformations; transformations.trust_code()"] if options else []
        test = f"Pipeline(Workspace.load('workspace.yaml')).test_destination('hook', {EVENT}).to_dict()"
        for cell in ["from svctoolkit import Pipeline, Workspace", *trust, test, test]:
            client.execute_interactive(cell, timeout=60, output_hook=lambda message: shown.append(_text_of(message)))
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        return "\n".join(shown)


def _text_of(message: dict[str, dict[str, object]]) -> str:
    content = message["content"]
    data = content.get("data", {})
    return str(
        content.get("text") or content.get("evalue") or (data.get("text/plain") if isinstance(data, dict) else "") or ""
    )


#: entry point -> its output
WAYS: dict[str, Callable[..., str]] = {
    "transform": lambda m, *o: m.run("-m", "svctoolkit", "transform", "clean.py", "--event", "event.json", *o),
    "run": lambda m, *o: m.run("-m", "svctoolkit", "run", "all.suite.yaml", "--report", "console", *o),
    "test": lambda m, *o: m.run("-m", "svctoolkit", "test", "destination", "hook", "--event", "event.json",
                                "--workspace", "workspace.yaml", "--json", *o),
    "replay": lambda m, *o: m.run("-m", "svctoolkit", "replay", "event.ndjson", "--workspace", "workspace.yaml", *o),
    "pytest": lambda m, *o: m.run("-m", "pytest", "-q", *WITHOUT_OTHERS, "all.suite.yaml", *o),
    "serve": lambda m, *o: m.serve(*o),
    "notebook": lambda m, *o: m.notebook(*o),
}  # fmt: skip


def every_way_and(first: str, *others: str) -> list[tuple[str, str]]:
    """Every entry point without one system call, and one of them without each other call: they share the report."""
    return [*((way, first) for way in WAYS), *(("run", call) for call in others)]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:  # pytest's folders are not accessible to other users
        folder = Path(name)
        folder.chmod(0o777)
        texts = {"workspace.yaml": WORKSPACE, "clean.py": CODE, "all.suite.yaml": SUITE}
        texts |= {"event.json": json.dumps(EVENT), "event.ndjson": json.dumps(EVENT) + "\n"}
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        yield folder


@pytest.mark.parametrize(("way", "call"), every_way_and("landlock_create_ruleset", "unshare"))
def test_missing_layers_are_reported_once(way: str, call: str, folder: Path) -> None:
    """If a non-essential layer is missing, code runs, and one sentence names it."""
    shown = WAYS[way](Machine(folder, call))
    said = rf"sandbox without {LAYERS[call]} \(linux|missing on this machine: {LAYERS[call]}"

    assert len(re.findall(said, shown)) == 1, shown
    assert "SandboxError" not in shown
    assert re.search("clean|passed|ok|delivered", shown)


@pytest.mark.parametrize(("way", "call"), every_way_and("seccomp", "prlimit64"))
def test_code_runs_without_essential_layers_only_if_trusted(way: str, call: str, folder: Path) -> None:
    """It is refused once, with advice; once trusted it runs, and missing layers are reported once."""
    refused = WAYS[way](Machine(folder, call))
    trusted = WAYS[way](Machine(folder, call), "--trust-code")

    times = 2 if way == "notebook" else 1  # two cells
    assert refused.count(f"the sandbox on this machine lacks {LAYERS[call]} (linux") == times, refused
    assert refused.count("svctoolkit trust clean.py") == times
    assert "SandboxError" not in trusted, trusted
    said = rf"sandbox without {LAYERS[call]} \(linux|missing on this machine: {LAYERS[call]}"
    assert len(re.findall(said, trusted)) == 1, trusted


@pytest.mark.parametrize(
    ("way", "call"),
    [
        ("run", ""),
        ("transform", "seccomp"),
        ("run", "seccomp"),
        ("serve", "seccomp"),
        ("run", "landlock_create_ruleset"),
    ],
)
def test_another_user_gets_the_same_report(way: str, call: str, folder: Path) -> None:
    """Without root, the sandbox is complete where the machine allows it, with the same messages where not."""
    python = next((each for each in (sys.executable, "/usr/bin/python3") if runs_as(NOBODY, each)), None)
    if os.getuid() != 0 or python is None:
        pytest.skip("only root can be another user, who needs a Python that may be run by all")
    shown = WAYS[way](Machine(folder, call, NOBODY, python))

    assert ("svctoolkit trust clean.py" in shown) == (call == "seccomp"), shown
    said = re.findall(
        r"sandbox (?:without|on this machine lacks) ([\w, ]+) \(linux|missing on this machine: ([\w, ]+)", shown
    )
    missing = {word for match in said for names in match for word in names.split(", ") if word}
    assert missing >= ({LAYERS[call]} if call else set())
    assert "seccomp" not in missing - ({LAYERS[call]} if call else set())
