"""A replay that runs the last stage shows what simulated destinations refuse."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import Workspace
from svctoolkit.pipeline import Stages
from svctoolkit.replay import compare, replay
from svctoolkit.replay.results.losses import LossCounts
from svctoolkit.replay.tally.losses import LossCount
from svctoolkit.simulations import Disk, Row
from svctoolkit.simulations.tables.rows import TableType
from svctoolkit.simulations.tables.table import Table

AT = {"timestamp": "2026-08-06T09:00:00Z", "originalTimestamp": "2026-08-06T09:00:00Z"}
SEND = Stages(send_to_destination=True)


def shop(code: Any = None, **more: Any) -> Workspace:
    """A workspace with Klaviyo, which folds events of one second, and a transformation."""
    workspace = Workspace("shop")
    workspace.transformation("clean", code or (lambda event: event))
    config = {"publicApiKey": "p", "privateApiKey": "k"}
    workspace.destination("kl", "KLAVIYO", config=config, transformation="clean", simulate="simulated", **more)
    return workspace


def visits(count: int, *, day: int = 6) -> list[dict[str, Any]]:
    """Events of one person: three in each second."""
    return [
        {
            "type": "track", "event": "Viewed", "userId": "ada", "messageId": f"m-{day}-{n}",
            "context": {"traits": {"email": "ada@shop.example"}},
            "timestamp": f"2026-08-{day:02}T09:{n // 180:02}:{n // 3 % 60:02}Z",
        }
        for n in range(count)
    ]  # fmt: skip


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


def test_a_replay_counts_what_is_lost_by_rule_name_and_day() -> None:
    """Events fold into those of earlier batches and chunks; shares are of the events that the destination received."""
    result = replay([*visits(600), *visits(6, day=7)], shop(), stages=SEND, batch=50)

    rows = result.lost.frame().to_dict("records")
    folded = {str(row["day"])[:10]: (row["events"], row["sent"]) for row in rows if row["what"] == "folded"}
    assert folded == {"2026-08-06": (400, 600), "2026-08-07": (4, 6)}
    assert {row["rule"] for row in rows} == {"", "kl.fold.second"}
    assert "kl loses something of 404 of 606 events (66.67%)\n  kl.fold.second: folded 66.67% on all 2 days\n" in repr(
        result
    )
    (rule,) = result.lost.days()
    assert (rule.rule, rule.days) == ("kl.fold.second", {"2026-08-06": (400, 600), "2026-08-07": (4, 6)})
    assert [str(breach.condition) for breach in result.breaches("lost>60%, folded>404, refused>0")] == ["lost>60%"]


@pytest.mark.parametrize(
    ("lost", "shown"),
    [
        ({17: 5, 18: 5, 19: 10}, "cut 66.67% since 2026-05-17"),
        ({15: 1, 16: 1}, "cut 10.00% until 2026-05-16"),
        ({16: 10, 18: 10}, "cut 100.00% on 2026-05-16, 2026-05-18"),
        ({16: 1}, "cut 10.00% on 2026-05-16"),
        ({19: 10}, "cut 100.00% on 2026-05-19"),
        ({15: 1, 16: 1, 17: 1, 19: 1}, "cut 10.00% on 4 of 5 days, 2026-05-15 to 2026-05-19"),
        ({}, "cut 3 events without a day"),
    ],
)
def test_a_line_per_rule_says_on_which_days_it_lost_events(lost: dict[int, int], shown: str) -> None:
    """Shares are of the events of these days; other rules and names do not matter."""
    sent = [LossCount("mp", "sent", "", name, f"2026-05-{day}", "", 5) for day in range(15, 20) for name in "AB"]
    cut = [LossCount("mp", "cut", "r", "A", f"2026-05-{day}", "", count) for day, count in lost.items()]
    undated = [LossCount("mp", "sent", "", "…", "", "", 3), LossCount("mp", "lost", "", "…", "", "", 3)]
    rest = [] if lost else [LossCount("mp", "cut", "r", "…", "", "", 3)]

    assert list(LossCounts([*sent, *cut, *undated, *rest]).lines())[1:] == [f"  r: {shown}"]


def test_a_comparison_shows_what_is_newly_lost(tmp_path: Path) -> None:
    """Losses are changes: with groups, conditions and accepted differences. A second run does not fold into itself."""
    before = shop(lambda event: {**event, "userId": event["messageId"], "context": {}})
    result = compare(visits(30), before, shop(), stages=SEND, ignore=["body.**"])

    assert [(group.path, group.before, group.after, group.count) for group in result.groups] == [
        ("lost.kl.fold.second", "nothing", "text", 20)
    ]
    assert "kl loses something of before: 0 of 30 events (0.00%), after: 20 of 30 events (66.67%)" in repr(result)
    assert "\n  kl.fold.second: before: nothing, after: folded 66.67% on 2026-08-06\n" in repr(result)
    assert [breach.text for breach in result.breaches("newly_lost>50%")] == ["66.7% newly lost at kl (20 of 30)"]
    result.write_accepted(tmp_path / "accepted.yaml", reason="known")
    again = compare(visits(30), before, shop(), stages=SEND, ignore=["body.**"], accept=tmp_path / "accepted.yaml")
    assert again.kinds["changed"] == 0


def test_events_that_newly_fail_are_newly_lost() -> None:
    """Mixpanel refuses what it only kept before: the events fail, and the condition about losses is met, too."""
    events = [{**event, "userId": "anonymous" if n % 3 else "ada"} for n, event in enumerate(visits(9))]
    lenient = Workspace("shop")
    lenient.destination("mp", "MP", config={"token": "t1"}, simulate="simulated")
    result = compare(events, lenient, workspace("simulated"), stages=SEND, ignore=["params.strict"])

    assert result.counts == {"mp": {"newly failing": 6, "same": 3}}
    assert [breach.text for breach in result.breaches("newly_lost>0")] == ["6 newly lost"]
    assert [breach.text for breach in result.breaches("newly_lost>50%")] == ["66.7% newly lost at mp (6 of 9)"]


@given(st.lists(st.tuples(st.sampled_from(["set", "get", "del", "spill", "values"]), st.integers(0, 9)), max_size=60))
def test_a_mapping_on_disk_is_like_one_in_memory(steps: list[tuple[str, int]]) -> None:
    """What is spilled is found, replaced, deleted and counted as if it were in memory, changes in place included."""
    on_disk, in_memory = Disk(most=2).new_map(Row), dict[Any, Row]()
    for number, (step, n) in enumerate(steps):
        key = ("a\udc00", str(n))
        if step == "set":
            on_disk[key], in_memory[key] = (Row(number, {}, {"n": 10**30}) for _ in range(2))
        elif step == "del" and key in in_memory:
            del on_disk[key], in_memory[key]
        elif step == "spill":
            on_disk.spill()
        elif step == "values":
            assert {row.number: row.values for row in on_disk.values()} == {
                row.number: row.values for row in in_memory.values()
            }
        elif key in in_memory:
            on_disk[key].values["n"] = in_memory[key].values["n"] = n
        assert (key in on_disk) is (key in in_memory)
    assert {key: row.values for key, row in on_disk.items()} == {key: row.values for key, row in in_memory.items()}


def test_a_search_in_a_table_on_disk_keeps_only_the_rows_that_match_in_memory() -> None:
    """HubSpot's deletion looks for the associations of one contact among those of all."""
    table = Table(TableType("associations", ids=("key",), blank={}), limit=10, disk=Disk(most=20))
    for n in range(500):
        table.add({"key": str(n)}, {"from": n % 100, "to": n}, at=datetime(2026, 5, 1, tzinfo=UTC))
    table.spill()
    before = table.in_memory
    found = table.where(lambda row: row.values["from"] == 7)

    assert [row.ids["key"] for row in found] == ["7", "107", "207", "307", "407"]
    assert table.in_memory <= before + len(found)
    found[0].values["to"] = -1
    table.spill()
    assert [row.number for row in table.where(lambda row: row.values["to"] == -1)] == [found[0].number]
    assert len(table.rows) == 500


def test_look_ups_of_a_replay_are_answered_by_the_server() -> None:
    """Zendesk's mapping asks for the user that an earlier event made, and Salesforce's logs in."""
    workspace = Workspace("shop")
    zendesk = {"email": "ops@shop.example", "apiToken": "t", "domain": "shop"}
    workspace.destination("zd", "ZENDESK", config=zendesk, simulate="simulated")
    workspace.destination("sf", "SALESFORCE", config={"userName": "u", "password": "p"}, simulate="simulated")
    about = {"traits": {"email": "ada@shop.example", "name": "Ada"}, "context": {"traits": {"email": "a@shop.example"}}}
    events: list[dict[str, Any]] = [
        {"type": "identify", "userId": "ada", "messageId": "m-1", **about, **AT},
        {"type": "track", "event": "Viewed", "userId": "ada", "messageId": "m-2", **about, **AT},
    ]
    rows = replay(events, workspace, destinations=["zd", "sf"], stages=SEND).frame().to_dict("records")

    sent = [(row["destination_id"], row["event_id"], row["http_status"]) for row in rows if row["http_status"]]
    assert sorted(sent) == [("sf", "m-1", 201), ("zd", "m-1", 201), ("zd", "m-2", 200)]
    assert [row["status"] for row in rows if row["stage"] == "dest_transform"] == ["ok"] * 3
