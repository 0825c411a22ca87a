"""`svctoolkit replay FILE --webhooks --source NAME`: which recorded webhooks would be refused, and their events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.cli import main
from svctoolkit.cli._command import Exit
from svctoolkit.errors import ConfigError
from svctoolkit.replay.webhooks import compare_refusals, replay_webhooks

BODIES = [
    '{"type": "track", "event": "A", "userId": "u1"}',
    '{"type": "track", "event": "B"}',
    "{broken",
    '[{"type": "track", "event": "A", "userId": "u1"}, {"type": "identify", "userId": "u1"}]',
]
FILE = """
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
sources: {proxy: {type: Segment, destinations: [hook]}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace.yaml").write_text(FILE)
    (tmp_path / "other.yaml").write_text(FILE.replace("Segment", "webhook"))
    (tmp_path / "hooks.ndjson").write_text("\n".join(BODIES) + "\n")
    return tmp_path


def test_refusals_have_places_and_reasons(folder: Path) -> None:
    """A refused webhook is lost in production; the others become events."""
    result = replay_webhooks(["hooks.ndjson"], Workspace.load(folder / "workspace.yaml"), "proxy")

    assert (result.webhooks, dict(result.names)) == (4, {"track A": 2, "identify": 1})
    assert [(refusal.place, refusal.reason) for refusal in result.refused] == [
        ("hooks.ndjson:2", "request neither has anonymousId nor userId"),
        ("hooks.ndjson:3", "Malformed JSON in request body"),
    ]
    with pytest.raises(ConfigError, match=r"none\.ndjson: cannot be read"):
        replay_webhooks(["none.ndjson"], Workspace.load(folder / "workspace.yaml"), "proxy")


def test_records_of_a_data_plane_can_be_replayed(folder: Path) -> None:
    """The items of `/inspect/webhooks`, one per line, have the whole request."""
    shop = Workspace.load(folder / "workspace.yaml")
    with DataPlane(shop, listen=False) as plane:
        for body in BODIES:
            plane.send_webhook("proxy", body)
        items = plane.ingest("GET", "/inspect/webhooks", headers={"Authorization": f"Bearer {plane.token}"}).json
    (folder / "recorded.ndjson").write_text("".join(f"{json.dumps(item)}\n" for item in items["items"]))

    assert len(replay_webhooks(["recorded.ndjson"], shop, "proxy").refused) == 2


def test_two_replays_are_compared(folder: Path) -> None:
    """Which webhooks only one of them refuses."""
    old, new = (
        replay_webhooks(["hooks.ndjson"], Workspace.load(folder / name), "proxy")
        for name in ("other.yaml", "workspace.yaml")
    )

    said = "1 newly refused with 400 request neither has anonymousId nor userId: hooks.ndjson:2"
    assert [*compare_refusals(old, new)] == [said]
    assert [*compare_refusals(new, old)] == [said.replace("newly", "no longer")]


def test_the_command_replays_the_events(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The usual report follows; the exit code is 1 if a webhook is refused that the baseline accepts."""
    assert main(["replay", "hooks.ndjson", "--webhooks", "--source", "proxy"]) == Exit.FAILED
    said = capsys.readouterr().out
    assert "4 webhooks: 2 refused, 0 only answered" in said
    assert "3 events" in said
    assert main(["replay", "hooks.ndjson", "--webhooks", "--source", "proxy", "--before", "workspace.yaml"]) == Exit.OK
    assert main(["replay", "hooks.ndjson", "--webhooks"]) == Exit.USAGE
    assert "--webhooks needs --source" in capsys.readouterr().err
    (folder / "hooks.ndjson").write_text("{broken\n")
    assert main(["replay", "hooks.ndjson", "--webhooks", "--source", "proxy"]) == Exit.FAILED
