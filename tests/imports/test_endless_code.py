"""An import gives up on code that does not end, and says so."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import pytest

from svctoolkit.cli import main
from svctoolkit.project import import_workspace
from tests.examples import some_by_default

WORKSPACE = """\
limits: {time: 1}
sources: {web: {destinations: [loops, works]}, app: {destinations: [works]}}
destinations:
  loops: {type: WEBHOOK, config: {webhookUrl: https://hook.example}, transformation: loop}
  works: {type: WEBHOOK, config: {webhookUrl: https://hook.example}}
transformations: {loop: {language: javascript, code: CODE}}
"""
ALWAYS = "export function transformEvent(event) { while (true) {} }"
WHEN_LOADED = "while (true) {}\nexport function transformEvent(event) { return event; }"
SOMETIMES = 'export function transformEvent(event) { while (event.event === "Boom") {} return event; }'


@pytest.mark.parametrize(
    ("code", "first"),
    some_by_default(
        [(SOMETIMES, "track event 'Boom'"), (ALWAYS, "identify event"), (WHEN_LOADED, "identify event")], 1
    ),
    ids=["for one event", "always", "when loaded"],
)
def test_an_import_gives_up_on_code_that_does_not_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, first: str
) -> None:
    """After three events at its time limit, it has no suite, like sources that send to it. The rest is tested."""
    file = tmp_path / "workspace.yaml"
    file.write_text(WORKSPACE.replace("CODE", json.dumps(code)))

    report = import_workspace(file, tmp_path / "shop", environ={})

    assert report.states["loops"].text == "not tested: its transformation 'loop' does not end"
    assert report.endless["loop"].events <= 6  # three, or a batch of events that then ran one by one
    says = f"transformation 'loop' (transformations/loop.js): over 1 s for {report.endless['loop'].events} events; "
    assert f"{says}the first: {first}" in report.text()
    suites = {file.name for file in (tmp_path / "shop" / "suites").glob("*.suite.yaml")}
    assert suites == {"works.suite.yaml", "from-app.suite.yaml"}
    assert {folder.name for folder in (tmp_path / "shop" / "suites" / "__snapshots__").iterdir()} == {
        "works",
        "from-app",
    }
    with chdir(tmp_path / "shop"):
        assert main(["run"]) == 0
    assert f"{report.scenarios} passed" in capsys.readouterr().out


def test_code_of_an_imported_workspace_runs_again(tmp_path: Path) -> None:
    """Only the import gives up: the workspace of its report runs the code for each event."""
    (tmp_path / "workspace.yaml").write_text(WORKSPACE.replace("CODE", json.dumps(ALWAYS)))

    report = import_workspace(tmp_path / "workspace.yaml", tmp_path / "shop", environ={}, with_suites=False)

    assert set(report.endless) == {"loop"}
    error = report.workspace.transformation("loop").run({"type": "track", "event": "Order"}).error
    assert error is not None
    assert "timed out" in str(error)
