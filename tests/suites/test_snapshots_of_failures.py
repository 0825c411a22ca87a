"""`--update` takes no snapshot of a failure or of nothing, unless the scenario expects it."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit.cli import main

WORKSPACE = """
destinations:
  fb: {type: FACEBOOK_PIXEL, config: {pixelId: "1", accessToken: x}}
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}, transformation: t}
transformations:
  t:
    language: python
    code: |
      def transformEvent(event, metadata):
          if event["userId"] == "boom":
              raise ValueError("no plan")
          return None if event["userId"] == "bot" else event
sources: {web: {destinations: [hook]}, off: {enabled: false, destinations: [hook]}}
scenarios:
"""
ORDER = "{type: track, event: Order Completed, userId: u1, properties: {revenue: 5}}"
REFUSED = f"destination: fb, event: {ORDER}, expect: {{dest_transform: %s}}"
VERIFY = "destination: hook, event: {type: track, event: A, userId: %s, messageId: m}, expect: {%s}"
SEND = "source: web, send: {type: track, event: A, userId: %s, messageId: m}, expect: {%s}"
ALONE = "transformation: t, event: {type: track, event: A, userId: %s, messageId: m}, expect: {%s}"
TAKEN = "{$snapshot: true}"
FAILURE, NOTHING = "a failure is not stored", "nothing is not stored"

#: Scenarios, and why the update refuses to store their snapshot.
REFUSALS = {
    REFUSED % TAKEN: FAILURE,
    VERIFY % ("boom", "user_transform: {$snapshot: true}"): FAILURE,
    VERIFY % ("bot", "user_transform: {$snapshot: true}"): NOTHING,
    SEND % ("boom", "delivered: {$snapshot: true}"): FAILURE,
    SEND % ("bot", "delivered: {$snapshot: true}"): NOTHING,
    SEND % ("bot", "delivered: {hook: {$snapshot: true}}"): NOTHING,
    SEND % ("bot", "delivered: {$any: [{$snapshot: true}]}"): NOTHING,
    SEND % ("u1", "dropped: {$snapshot: true}"): NOTHING,
    SEND.replace("web", "off") % ("u1", "delivered: {$snapshot: true}"): FAILURE,
    ALONE % ("boom", "user_transform: {$snapshot: true}"): FAILURE,
    ALONE % ("bot", "user_transform: {$snapshot: true}"): NOTHING,
}
ALLOWED = {
    VERIFY % ("u1", "dest_transform: {$snapshot: true}"): "",
    SEND % ("u1", "delivered: {$snapshot: true}"): "",
    SEND % ("bot", "dropped: [{}], delivered: {$snapshot: true}"): " (of nothing)",
    VERIFY % ("bot", "user_transform: {error: {$contains: dropped}}, dest_transform: {$snapshot: true}"): " (of",
    SEND % ("boom", "failed: [{by: user_transform}], user_transform: {$snapshot: true}"): " (of nothing)",
}


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, scenarios: list[str], *options: str) -> int:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CI", raising=False)
    rows = "".join(f"  - {{name: a{number:02}, {scenario}}}\n" for number, scenario in enumerate(scenarios))
    (folder / "a.suite.yaml").write_text(WORKSPACE + rows, encoding="utf-8")
    return main(["run", "a.suite.yaml", *options])


def test_failures_and_nothing_are_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, monkeypatch, [*REFUSALS], "--update=new", "--report", "json=report.json") == 1

    said = (tmp_path / "report.json").read_text(encoding="utf-8")
    assert [said.count(reason) > 0 for reason in {*REFUSALS.values()}] == [True, True]
    assert f"{len(REFUSALS)} failed" in capsys.readouterr().out
    assert not (tmp_path / "__snapshots__").exists()


def test_expected_failures_and_nothing_are_stored_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list of the written files says which of them are unusual; they hold in the next run."""
    freeze = [f"{scenario}, freeze: {{time: '2026-01-01T12:00:00Z', ids: sequence}}" for scenario in ALLOWED]

    assert run(tmp_path, monkeypatch, freeze, "--update=new") == 0
    lines = capsys.readouterr().err.splitlines()
    assert "svctoolkit: 5 snapshots written:" in lines
    for number, note in enumerate(ALLOWED.values()):
        (line,) = [line for line in lines if f"__snapshots__/a/a{number:02}." in line]
        assert note in line
        assert ("(" in line) is bool(note)
    assert run(tmp_path, monkeypatch, freeze) == 0


@pytest.mark.parametrize("user", ["boom", "bot"])
def test_a_crash_or_a_drop_replaces_no_good_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], user: str
) -> None:
    scenarios = [SEND % ("%s", "delivered: {$snapshot: true}"), VERIFY % ("%s", "dest_transform: {$snapshot: true}")]
    assert run(tmp_path, monkeypatch, [scenario % "u1" for scenario in scenarios], "--update") == 0
    before = {path: path.read_bytes() for path in (tmp_path / "__snapshots__").rglob("*.json")}
    capsys.readouterr()

    assert run(tmp_path, monkeypatch, [scenario % user for scenario in scenarios], "--update") == 1
    assert {path: path.read_bytes() for path in (tmp_path / "__snapshots__").rglob("*.json")} == before
    assert "written" not in capsys.readouterr().err


def test_other_differences_do_not_stop_an_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The snapshot is right, and the scenario still fails for its other expectation."""
    scenario = SEND % ("u1", "delivered: {$snapshot: true}, attempts: 2")

    assert run(tmp_path, monkeypatch, [scenario], "--update") == 1
    assert len([*(tmp_path / "__snapshots__").rglob("*.json")]) == 1
