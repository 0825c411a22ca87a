"""A killed data plane leaves each delivery with what it changed at the simulated server, or neither."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from svctoolkit import DataPlane, Workspace

WORKSPACE = """
destinations: {br: {type: BRAZE, config: {restApiKey: k, dataCenter: US-01}, simulate: simulated}}
sources: {web: {destinations: [br]}}
"""
PROGRAM = """
import itertools, sys
from svctoolkit import DataPlane, Workspace
with DataPlane(Workspace.load(sys.argv[1]), listen=False, store=sys.argv[2]) as plane:
    print("ready", flush=True)
    for n in itertools.count():
        plane.send({"type": "track", "event": "A", "userId": f"u{n % 7}", "messageId": f"m{n}"}, source="web")
        if n == 300:
            print("many", flush=True)
"""


def stored(file: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(file)) as store:
        (held,) = store.execute("select count(*) from held where kind = 'events'").fetchone()
        (carried,) = store.execute("select coalesce(sum(events), 0) from deliveries where status = 201").fetchone()
    return held, carried


@pytest.mark.slow
def test_a_kill_leaves_both_or_none(tmp_path: Path) -> None:
    """And the next data plane delivers the rest once: every accepted event is held exactly once."""
    workspace, file = tmp_path / "workspace.yaml", tmp_path / "plane.db"
    workspace.write_text(WORKSPACE)
    command = [sys.executable, "-c", PROGRAM, str(workspace), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline().strip() for _ in range(2)] == ["ready", "many"]
        process.kill()
    held, carried = stored(file)

    assert held == carried
    with DataPlane(Workspace.load(workspace), listen=False, store=file) as plane:
        plane.drain(timeout=120)
        assert len(plane.held("br").events) == len(plane.received) > 300
        assert len(plane.held("br").profiles) == 7
