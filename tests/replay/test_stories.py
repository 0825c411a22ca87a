"""What a comparison says about edits, and about events that did not arrive on either side."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import Workspace
from svctoolkit.errors import ConfigError
from svctoolkit.replay import REPORTS, Comparison, Progress, compare, replay
from svctoolkit.replay.results.stories import stories
from tests.replay.shops import ndjson, order, orders

DROP = "export function transformEvent(event) { return event.properties.revenue < 2 ? null : event }"
SEND = "export function transformEvent(event) { return event }"
FAIL = "export function transformEvent(event) { throw new Error('broken') }"


def shop(code: str = DROP, *, enabled: bool = True, connected: bool = True, extra: bool = False) -> Workspace:
    """A source with the destinations `hook`, which has a transformation, and perhaps `more`, which has none."""
    made = Workspace("shop")
    made.transformation("clean", language="javascript", code=code)
    url = {"webhookUrl": "https://hook.example/in"}
    made.destination("hook", "WEBHOOK", config=url, transformation="clean", enabled=enabled)
    if extra:
        made.destination("more", "WEBHOOK", config={"webhookUrl": "https://more.example/in"})
    made.source("web", destinations=[key for key in made.destinations if connected or key != "hook"])
    return made


def severities(result: Comparison) -> list[str]:
    return [story.severity for story in stories(result.groups)]


def test_an_event_that_did_not_arrive_before_is_not_lost() -> None:
    """Two events are dropped on one side, and not routed on the other: the news are the three that arrive."""
    switched_on = compare(orders(5), shop(connected=False), shop())
    switched_off = compare([order(1)], shop(), shop(enabled=False))

    assert severities(switched_on) == ["other"]
    assert severities(switched_off) == ["other"]
    assert severities(compare(orders(5), shop(), shop(connected=False))) == ["lost"]


@pytest.mark.parametrize("after", [shop(enabled=False), shop(connected=False)], ids=["disabled", "not connected"])
def test_a_failure_that_is_only_avoided_is_not_an_improvement(after: Workspace) -> None:
    """The events of a failing destination do not arrive either once it is disabled or not connected."""
    result = compare(orders(3), shop(FAIL), after)

    assert result.kinds["changed"] == 3
    assert severities(result) == ["lost"]


def test_a_removed_destination_is_one_edit_with_its_connections() -> None:
    removed = compare(orders(5), shop(SEND, extra=True), shop(SEND))
    added = compare(orders(5), shop(SEND), shop(SEND, extra=True))

    assert [group.because.text for group in removed.groups] == ["because of removed destination more"]
    assert [group.because.text for group in added.groups] == ["because of new destination more"]


def test_a_comparison_without_differences_says_what_was_edited() -> None:
    """Otherwise a check that compares a commit with itself looks like one that found nothing."""
    same = compare(orders(5), shop(), shop())
    harmless = compare(orders(5), shop(), shop(DROP.replace("< 2", "< 1.5")))

    assert "both sides are the same: no code, setting, connection, tracking plan or policy was edited" in repr(same)
    assert "no event shows a difference, although these were edited: clean.js:1" in repr(harmless)
    assert (same.to_dict()["edited"], harmless.to_dict()["edited"]) == ([], ["clean.js:1"])
    for report in ("markdown", "html"):
        text = harmless.to_html() if report == "html" else REPORTS[report].text(harmless, [], "")
        assert "clean.js:1" in text
    assert "were edited" not in repr(compare(orders(5), shop(), shop(SEND)))


def test_personal_data_is_one_line_for_each_destination() -> None:
    event = {**order(1), "traits": {"email": "mira.lind@mail.example", "phone": "+49 170 1234567"}}
    events = [event, {**order(2), "traits": {"email": "mira.lind@mail.example"}}]

    result = compare(events, shop(SEND), shop(SEND, extra=True))

    personal = [line for line in repr(result).splitlines() if line.startswith("PERSONAL DATA")]
    assert personal == [
        "PERSONAL DATA: plain e-mail addresses now reach more in 2 events; plain telephone numbers in 1"
    ]


def test_accepted_differences_are_one_story_without_examples(tmp_path: Path) -> None:
    """They were reviewed before: what is new must not be below their examples."""
    changed = SEND.replace("return", "event.properties.a = 1; event.properties.b = 'x'; return")
    file = tmp_path / "accepted.yaml"
    compare(orders(5), shop(SEND), shop(changed)).write_accepted(
        file, reason="reviewed", expires=datetime.now(UTC).date().replace(year=2099)
    )

    result = compare(orders(5), shop(SEND), shop(changed), accept=file)

    assert severities(result) == ["accepted"]
    assert repr(result).splitlines()[1:-1] == [
        "accepted",
        "  accepted  hook: body.JSON.properties.a: nothing -> number in 5 events of Order Completed",
        "  accepted  hook: body.JSON.properties.b: nothing -> text in 5 events of Order Completed",
    ]


def test_progress_moves_within_one_part_of_a_file(tmp_path: Path) -> None:
    """A part has 4 MB of events, which take many seconds at ten destinations."""
    seen: list[Progress] = []

    def slow(event: dict[str, Any]) -> dict[str, Any]:
        if event["properties"]["revenue"] % 10 == 0:  # once in each batch
            _wait_for(lambda: time.monotonic() > slow_until[-1])
            slow_until.append(time.monotonic() + 0.3)
        return event

    slow_until = [0.0]
    workspace = Workspace("shop")
    workspace.transformation("slow", slow)
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://h.example/"}, transformation="slow")

    replay(ndjson(tmp_path / "e.ndjson", orders(40)), workspace, batch=10, progress=seen.append)

    shares = [progress.share for progress in seen]
    assert shares == sorted(shares, key=lambda share: share or 0)
    assert any(share and 0 < share < 1 for share in shares)
    assert any(0 < progress.events < 40 for progress in seen)
    assert (seen[-1].events, seen[-1].share) == (40, 1.0)


def _wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        pass


def test_stages_of_another_type_are_an_error() -> None:
    stages: Any = {"dest_transform": False}
    with pytest.raises(ConfigError, match=r"stages must be svctoolkit\.Stages\(\.\.\.\), not dict"):
        replay(orders(1), shop(), stages=stages)
