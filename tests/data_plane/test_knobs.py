"""Settings for delivery and the data plane take effect at once, and a waiting event holds up no other user."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.server import Backoff
from svctoolkit.workspace import PlaneLimits

EVENT = {"type": "track", "event": "E", "userId": "u1"}
FILE = """\
sources: {web: {destinations: [crm]}}
destinations: {crm: {type: WEBHOOK, config: {webhookUrl: "https://crm.example/in"}}}
"""


def test_a_changed_workspace_takes_effect_at_once(workspace: Workspace) -> None:
    """A running data plane uses the back-off, `lenient`, dedup window and limits of its workspace."""
    with DataPlane(workspace, listen=False) as plane:
        before = plane.send([EVENT, {"type": "track"}], source="web").status
        workspace.data_plane.lenient, workspace.data_plane.dedup_window = True, 0.0
        workspace.data_plane.limits = PlaneLimits(body=1024, answer=10)
        workspace.delivery.backoff = {"attempts": 2, "scale": 0}
        plane.script("crm", Answer(503), Answer(503), Answer(200, "x" * 11))
        statuses = [plane.send([event, {"type": "track"}], source="web").status for event in (EVENT, EVENT)]
        large = plane.send({**EVENT, "properties": {"text": "x" * 1024}}, source="web").status
        plane.drain()

        assert (before, statuses, large) == (400, [200, 200], 413)
        assert [(fate.status, fate.attempts) for fate in plane.fates if fate.destination == "crm"] == [
            ("dead", 2),
            ("delivered", 1),
        ]
        answers = [delivery.response for delivery in plane.delivered if delivery.destination == "crm"]
        assert answers == ["xxxxxxxxxx... (the answer has 11 bytes; the first 10 are kept)"]


def test_arguments_take_precedence_over_the_file(tmp_path: Path) -> None:
    """Reading the file again changes only settings that were not given as arguments; `adjust` changes its own."""
    file = tmp_path / "workspace.yaml"
    file.write_text(FILE)

    def adjust(workspace: Workspace) -> None:
        workspace.delivery.concurrency = 3

    with DataPlane(file, listen=False, dedup_window=5.0, adjust=adjust) as plane:
        knobs = plane._engine.knobs
        before = knobs.lenient, knobs.dedup_window, knobs.concurrency
        file.write_text(FILE + "dataPlane: {lenient: true, dedupWindow: 7}\ndelivery: {concurrency: 9}\n")
        _until(lambda: knobs.lenient)

        assert (before, (knobs.lenient, knobs.dedup_window, knobs.concurrency)) == ((False, 5.0, 3), (True, 5.0, 3))


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_a_user_with_a_long_queue_holds_up_no_other_user(workspace: Workspace, tmp_path: Path, kept: str) -> None:
    """While one user's failed event has a queue longer than memory allows, others are delivered; then all, in order."""
    workspace.data_plane.limits = PlaneLimits(waiting=40)
    workspace.sources["web"].connections.pop()
    store = tmp_path / "plane.db" if kept == "file" else None
    with DataPlane(workspace, listen=False, store=store, backoff=Backoff(jitter=0, first=3600, most=3600)) as plane:
        plane.script("crm", Answer(503), *[Answer(200)] * 60, Answer(503), Answer(200))
        waiting = [{**EVENT, "userId": "long", "event": f"E{n:03}"} for n in range(150)]
        plane.send(waiting, source="web")
        plane.wait(lambda: plane.fates)  # the first event has failed
        plane.send([{**EVENT, "userId": f"u{n}"} for n in range(60)], source="web")
        plane.send([{**EVENT, "userId": "long", "event": f"F{n:03}"} for n in range(50)], source="web")
        plane.wait(lambda: len(plane.delivered) == 60)
        others = {delivery.payload["body"]["JSON"]["userId"] for delivery in plane.delivered}
        plane.advance(3 * 3600)
        plane.drain()

        sent = [delivery.payload["body"]["JSON"] for delivery in plane.delivered]
        names = [event["event"] for event in sent if event["userId"] == "long"]
        assert "long" not in others
        assert names == [f"E{n:03}" for n in range(150)] + [f"F{n:03}" for n in range(50)]


def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
