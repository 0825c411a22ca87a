"""The documentation of tracking plans works as printed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from svctoolkit.cli import main

PAGE = (Path(__file__).parents[2] / "svctoolkit" / "docs" / "tracking-plans.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_tutorial_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands, its workspace and its suite, one after the other."""
    monkeypatch.chdir(tmp_path)
    events = [
        {"type": "track", "event": "Order Completed", "properties": {"order_id": f"o-{n}", "total": n + 0.5}}
        for n in range(20)
    ]
    Path("events.ndjson").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    for line in blocks("sh")[0].splitlines():
        assert main(shlex.split(line)[1:]) == 0
    Path("workspace.yaml").write_text(blocks("yaml")[0])
    Path("orders.suite.yaml").write_text(blocks("yaml suite")[0])

    assert main(["run", "orders.suite.yaml"]) == 0


def test_the_python_of_the_page_runs() -> None:
    """Each block separately."""
    for code in blocks("python"):
        exec(compile(code, "tracking-plans.md", "exec"), {})
