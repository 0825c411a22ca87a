"""`simulate` can be chosen for a call, a data plane, a command, a notebook cell and by the environment."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from svctoolkit import DataPlane, Pipeline, Workspace, runner
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError, UsageError
from svctoolkit.pipeline import Stages

WORKSPACE = """
sources: {web: {destinations: [mp, kl, hook]}}
destinations:
  mp: {type: MP, config: {token: t1, strictMode: true}}
  kl: {type: KLAVIYO, config: {publicApiKey: p, privateApiKey: k}}
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example}}
"""
SUITE = """
workspace: ../workspace.yaml
scenarios:
  - name: a refused event
    source: web
    send: {type: track, event: A, userId: anonymous}
    expect: {failed: {mp: {$length: 1}}, lost: {mp: [{rule: mp.import.distinct_id}]}, delivered: {hook: {$length: 1}}}
"""
REFUSED = {"type": "track", "event": "A", "userId": "anonymous"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "a.suite.yaml").write_text(SUITE, encoding="utf-8")
    at = {"timestamp": "2026-11-20T10:00:00Z", "originalTimestamp": "2026-11-20T10:00:00Z"}
    (tmp_path / "event.json").write_text(json.dumps(REFUSED), encoding="utf-8")
    (tmp_path / "events.ndjson").write_text(json.dumps({**REFUSED, **at, "messageId": "m1"}) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def now(user: str = "anonymous") -> dict[str, Any]:
    return {**REFUSED, "userId": user, "messageId": "m-1", "timestamp": datetime.now(UTC).isoformat()}


def rules(workspace: Workspace, **options: Any) -> list[str]:
    result = Pipeline(workspace).test_destination("mp", now(), **options)
    return [loss.rule for loss in result.lost]


def test_a_single_test_can_be_simulated() -> None:
    """The call's level wins over the destination's; the last stage runs, and the result says what was lost."""
    shop = Workspace.loads(WORKSPACE)
    assert rules(shop) == rules(shop, stages=Stages(send_to_destination=True)) == []
    assert rules(shop, simulate="simulated") == ["mp.import.distinct_id"]
    shop.destination("mp").simulate = "simulated"
    assert rules(shop, simulate="answers", stages=Stages(send_to_destination=True)) == []

    pipeline = Pipeline(shop)
    by_source = pipeline.test_source("web", now(), simulate="strict")
    assert [(result.destination, len(result.lost)) for result in by_source] == [
        ("MP", 1),
        ("KLAVIYO", 0),
        ("WEBHOOK", 0),
    ]
    assert "some values are never accepted as distinct_id" in repr(by_source[0])
    assert "lost" not in by_source[0].to_dict()  # the JSON is RudderStack's
    assert pipeline.simulation("mp").losses[0].rule == "mp.import.distinct_id"


def test_a_test_does_not_repeat_losses_of_earlier_tests() -> None:
    """Each result has the losses of its own event, although the state is shared."""
    pipeline = Pipeline(Workspace.loads(WORKSPACE))
    first, second, good = (
        pipeline.test_destination("mp", now(user), simulate="simulated") for user in ("anonymous", "anonymous", "ada")
    )
    assert [len(first.lost), len(second.lost), len(good.lost)] == [1, 1, 0]
    assert len(pipeline.simulation("mp").losses) == 2


def test_simulation_is_refused_where_requests_would_leave() -> None:
    """A simulated server would not be asked in mode `live`: the request would reach the vendor."""
    shop = Workspace.loads(WORKSPACE).in_mode("live")
    with pytest.raises(UsageError, match="delivery mode `record` only; the mode is `live`"):
        rules(shop, simulate="simulated")
    with pytest.raises(ConfigError, match="Did you mean 'strict'"):
        rules(Workspace.loads(WORKSPACE), simulate="strikt")


def test_a_data_plane_can_be_simulated() -> None:
    """`simulate` applies to destinations that do not set it, and leaves the workspace unchanged."""
    shop = Workspace.loads(WORKSPACE)
    shop.destination("kl").simulate = "answers"
    with DataPlane(shop, simulate="simulated", listen=False) as plane:
        plane.send(REFUSED, source="web")
        plane.drain()
        assert [loss.rule for loss in plane.lost] == ["mp.import.distinct_id"]
        with pytest.raises(UsageError, match="'kl' is not simulated"):
            plane.simulation("kl")
    assert shop.simulation_level(shop.destination("mp")) == "answers"


def test_the_environment_sets_the_level(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`SVC_SIMULATE` reaches pytest and notebooks, is not saved, and a misspelt level is an error."""
    monkeypatch.setenv("SVC_SIMULATE", "strict")
    shop = Workspace.load("workspace.yaml")
    assert shop.simulation_level(shop.destination("mp")) == "strict"
    assert "simulate" not in shop.dumps()
    assert not runner.Planes().unable(runner.load(project / "suites" / "a.suite.yaml").scenarios[0])
    monkeypatch.setenv("SVC_SIMULATE", "simulate")
    with pytest.raises(ConfigError, match="SVC_SIMULATE: no level is called 'simulate'"):
        Workspace.load("workspace.yaml")


@pytest.mark.parametrize(
    ("command", "code", "shows"),
    [
        ("run", 4, "no destination is simulated: set `simulate: simulated` at mp, kl, or use --simulate"),
        ("run --simulate", 0, "1 passed"),
        ("run --simulate=strict suites", 0, "1 passed"),
        ("run --simulate suites/a.suite.yaml", 0, "1 passed"),
        ("run --simulate strikt", 4, "invalid choice: 'strikt'"),
        ("check", 1, "its server can be simulated: set `simulate: simulated`"),
        ("check --simulate strict", 0, "its server is simulated (strict)"),
        ("test destination mp --event event.json --simulate", 1, "refused: events 0, anonymous"),
        ("test destination mp --event event.json --simulate --stage send_to_destination=off", 0, "off"),
        ("test destination mp --event event.json --send", 0, "ok"),
        ("test source web --event event.json --simulate strict", 1, "mp.import.distinct_id"),
        ("test destination mp --event event.json --simulate --base-url https://x.example", 4, "serve --simulate"),
        ("replay events.ndjson --destination mp --simulate", 0, "400"),
        ("replay events.ndjson --destination mp", 0, "delivered"),
        ("tour", 0, "serve --simulate"),
        ("tour --simulate", 0, "Mixpanel holds 1 profile and 1 event of this event; it loses nothing."),
        ("serve --workspace workspace.yaml --simulate --live", 4, "--simulate needs delivery mode record"),
    ],
)
def test_commands_have_the_option(
    command: str, code: int, shows: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A level may follow, or a path; without the option nothing is simulated."""
    assert main(command.split()) == code
    output = capsys.readouterr()
    assert shows in output.out + output.err


def test_a_cell_can_be_simulated() -> None:
    """`%%suite --simulate` applies to the notebook's workspace, and to one in the cell."""
    shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    shell.run_line_magic("load_ext", "svctoolkit")
    shell.user_ns["workspace"] = Workspace.loads(WORKSPACE)
    try:
        for cell in (
            SUITE.replace("workspace: ../workspace.yaml", ""),
            SUITE.replace("workspace: ../workspace.yaml", WORKSPACE),
        ):
            results = shell.run_cell_magic("suite", "--simulate simulated", cell)
            assert (results.ok, results.total) == (True, 1), results
    finally:
        shell.run_line_magic("unload_ext", "svctoolkit")
