"""`count_requests` counts the requests that events make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import Workspace
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.replay import count_requests, replay

EVENTS = [{"type": "track", "event": "Viewed", "userId": f"u{n}", "messageId": f"m{n}"} for n in range(250)]


@pytest.fixture
def workspace() -> Workspace:
    workspace = Workspace("shop")
    config = {"restApiKey": "k-secret-1", "dataCenter": "EU-01", "appKey": "a-1"}
    workspace.destination("braze", "BRAZE", config=config)
    workspace.destination("am", "AM", config={"apiKey": "k-1"})
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    return workspace


def test_requests_by_batch_size(workspace: Workspace) -> None:
    """With calls of 20, 75 and 1,000; a Braze request holds 75 events, so larger calls make several."""
    counts = count_requests(EVENTS, workspace, jobs=[20, 75, 1000], destinations=["braze"])

    assert [(c.jobs, c.requests) for c in counts] == [(20, 13), (75, 4), (1000, 4)]
    assert [c.share_of_limit for c in counts][:2] == [pytest.approx(20 / 75), pytest.approx(1.0)]


def test_types_without_batches_make_one_request_per_event(workspace: Workspace) -> None:
    """Whatever the batch size."""
    (count,) = count_requests(EVENTS, workspace, jobs=100, destinations=["hook"])

    assert (count.requests, count.events, count.largest, count.share_of_limit) == (250, 250, 1, None)


def test_invalid_lines_of_a_file_are_skipped(workspace: Workspace, tmp_path: Path) -> None:
    """The frame and the text have a line for each destination."""
    file = tmp_path / "events.ndjson"
    lines: list[Any] = [*EVENTS[:30], {"type": "nonsense"}, "no event"]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    counts = count_requests(file, workspace)
    frame = counts.frame()

    assert dict(zip(frame["destination"], frame["requests"], strict=True)) == {"braze": 2, "am": 30, "hook": 30}
    assert "braze: 2 requests of 30 events in calls of 20" in repr(counts)
    assert "k-secret-1" not in f"{frame.to_csv()}{counts!r}"


def test_old_events_are_counted_as_they_are_replayed() -> None:
    """GA4 refuses events that are older than three days: by the clock of the events, not of today."""
    workspace = Workspace("shop")
    config = {"measurementId": "G-1", "apiSecret": "k-secret-1", "typesOfClient": "gtag"}
    workspace.destination("ga4", "GA4", config=config)
    old = {"anonymousId": "a", "timestamp": "2024-01-01T00:00:00Z", "receivedAt": "2024-01-01T00:00:00Z"}
    (count,) = replay([{**event, **old} for event in EVENTS[:40]], workspace).requests(20)

    assert count.events == 40


def test_an_invalid_batch_size_is_an_error(workspace: Workspace) -> None:
    """A call has at least one job."""
    with pytest.raises(ConfigError, match="at least 1"):
        count_requests(EVENTS, workspace, jobs=0)


def test_a_replay_reports_its_requests(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For its events and destinations; on the command line, too, as text and JSON."""
    workspace.destination("wh", "POSTGRES", config={})
    counts = replay(EVENTS, workspace).requests([20, 75])
    monkeypatch.chdir(tmp_path)
    Path("events.ndjson").write_text("\n".join(map(json.dumps, EVENTS)), encoding="utf-8")
    Path("workspace.yaml").write_text(
        "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example}}, wh: {type: RS, config: {}}}"
    )

    assert [(c.destination, c.jobs, c.requests, c.per_million) for c in counts][:2] == [
        ("braze", 20, 13, 52_000),
        ("braze", 75, 4, 16_000),
    ]
    assert main(["replay", "events.ndjson", "--requests", "20,100"]) == 0
    assert "hook: 250 requests of 250 events in calls of 100" in capsys.readouterr().out
    assert main(["replay", "events.ndjson", "--requests", "50", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"][0]["requests"] == 250
    assert main(["replay", "events.ndjson", "--requests", "0"]) == 4
    with pytest.raises(ConfigError, match="only once"):
        replay(iter(EVENTS), workspace, destinations=["braze"]).requests()
