"""A replay that runs the last stage shows what simulated destinations refuse."""

from __future__ import annotations

from typing import Any

from svctoolkit import Workspace
from svctoolkit.pipeline import Stages
from svctoolkit.replay import replay


def workspace(level: Any) -> Workspace:
    shop = Workspace("shop")
    shop.destination("mp", "MP", config={"token": "t1", "strictMode": True}, simulate=level)
    return shop


def test_a_replay_shows_what_a_vendor_refuses() -> None:
    """The answers differ only for the event that Mixpanel refuses."""
    at = {"timestamp": "2026-08-06T09:00:00Z", "originalTimestamp": "2026-08-06T09:00:00Z"}
    users = ("ada", "anonymous", "bob")
    events = [{"type": "track", "event": "A", "userId": user, "messageId": f"m-{user}", **at} for user in users]
    stages = Stages(send_to_destination=True)
    rows = {
        level: replay(events, workspace(level), destinations=["mp"], stages=stages).frame().to_dict("records")
        for level in ("answers", "simulated")
    }

    assert ["400" in str(row) for row in rows["answers"]] == [False] * len(rows["answers"])
    refused = {row["event_id"] for row in rows["simulated"] if "some data points" in str(row)}
    assert refused == {"m-anonymous"}
