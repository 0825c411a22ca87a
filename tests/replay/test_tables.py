"""Warehouse tables as input: rows become the events that they came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import events
from svctoolkit.errors import ConfigError
from svctoolkit.events import sample, samples
from svctoolkit.mapping import json_text
from svctoolkit.profile import profile
from svctoolkit.replay import Replayed, compare, replay
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.record import Record
from svctoolkit.warehouse import Warehouse, rows
from tests.replay.shops import shop

CLOCK = "2026-02-01T00:00:00.000Z"
EVENTS = [*{event["messageId"]: event for event in map(sample, samples())}.values()]


def loaded(kind: str, given: list[dict[str, Any]], config: dict[str, Any] | None = None) -> Warehouse:
    warehouse = Warehouse(kind, config, name="shop")
    warehouse.load(given)
    return warehouse


def export(warehouse: Warehouse, folder: Path) -> Path:
    """Write every table as a Parquet file named after it."""
    folder.mkdir()
    for table in warehouse.types():
        if warehouse.count(table):
            pq.write_table(warehouse.arrow(f'SELECT * FROM "{table}"'), folder / f"{table}.parquet")
    return folder


def bodies(result: Replayed) -> dict[str, dict[str, Any]]:
    """The events, by messageId."""
    found = [json.loads(output)["body"]["JSON"] for output in result.frame().output.dropna()]
    assert len({event["messageId"] for event in found}) == len(found)
    return {event["messageId"]: event for event in found}


def stored(kind: str, event: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of an event; lists as the loader writes them."""
    made = rows(event, kind, clock=CLOCK)
    return [
        {**row, "data": {k: json_text(v) if isinstance(v, list) else v for k, v in row["data"].items()}} for row in made
    ]


@pytest.mark.parametrize("kind", ["POSTGRES", "SNOWFLAKE", "BQ", "S3_DATALAKE"])
def test_a_whole_schema_is_restored_from_parquet(kind: str, tmp_path: Path) -> None:
    """Every event once, with its type, and each makes the same rows again.

    `users` and `tracks` add no duplicates, and the report says so.
    """
    folder = export(loaded(kind, EVENTS), tmp_path / "wh")
    result = replay(folder, shop())
    back = bodies(result)

    assert sorted(back) == sorted(event["messageId"] for event in EVENTS)
    for event in EVENTS:
        again = back[event["messageId"]]
        assert again["type"] == event["type"]
        assert {**again["context"], "traits": 0} == {**event["context"], "traits": 0}
        assert stored(kind, again) == stored(kind, event)
    left_out = {Path(reject.place).stem.lower(): reject.reason for reject in result.rejects}
    assert sorted(left_out) == ["tracks", "users"]
    assert "the table named after the event" in left_out["tracks"]
    assert "no events" in left_out["users"]


def test_columns_are_restored_under_the_names_of_clients(tmp_path: Path) -> None:
    """Traits and context have the names that clients use, lists are lists, reserved words lose their underscore."""
    event = {
        **events.track("Order Completed", user_id="u1"),
        "messageId": "m1",
        "properties": {"orderId": "o-1", "order": 7, "products": [{"sku": "a"}], "a": {"b": 1.5}, "at": "2026-01-02"},
        "context": {"userAgent": "x", "traits": {"firstName": "Mira"}, "page": {"url": "https://x.example"}},
    }
    folder = export(loaded("POSTGRES", [event]), tmp_path / "wh")
    back = bodies(replay(folder / "order_completed.parquet", shop()))["m1"]

    assert back["event"] == "Order Completed"
    assert back["properties"] == {
        "order_id": "o-1",
        "order": 7,
        "products": [{"sku": "a"}],
        "a_b": 1.5,
        "at": "2026-01-02T00:00:00.000Z",
    }
    assert back["context"] == event["context"]


def test_ambiguous_columns_can_be_mapped(tmp_path: Path) -> None:
    """The preset can be combined with explicit paths: those columns go there, and nowhere else."""
    event = {**events.track("Paid", user_id="u1", properties={"orderId": "o-1", "total": "12"}), "messageId": "m1"}
    file = export(loaded("POSTGRES", [event]), tmp_path / "wh") / "paid.parquet"
    columns = {"*": "warehouse", "properties.orderId": "order_id", "properties.total": "total:number"}

    assert bodies(replay(file, shop(), columns=columns))["m1"]["properties"] == {"orderId": "o-1", "total": 12}


def test_full_events_are_restored_unchanged(tmp_path: Path) -> None:
    """With `storeFullEvent` nothing is lost: `integrations` and names are there."""
    event = {**EVENTS[0], "integrations": {"All": False, "Webhook": True}}
    folder = export(loaded("SNOWFLAKE", [event], {"storeFullEvent": True}), tmp_path / "wh")
    result = replay(folder / "IDENTIFIES.parquet", shop(), columns={"*": "warehouse"})

    assert bodies(result)[event["messageId"]] == event


def test_csv_and_frames_can_be_tables(tmp_path: Path) -> None:
    """By columns, by the name of file or folder, or explicitly; `compare` and `profile` accept them, too."""
    warehouse = loaded("POSTGRES", EVENTS)
    pages = warehouse.arrow("SELECT * FROM pages")
    (tmp_path / "pages").mkdir()
    pc.write_csv(pages, tmp_path / "pages" / "part-0.csv")
    event = next(event for event in EVENTS if event["type"] == "page")

    assert (
        stored("POSTGRES", bodies(replay(tmp_path, shop()))[event["messageId"]])[0]["data"]["sent_at"]
        == event["sentAt"]
    )
    for form in (pages, pages.to_pandas()):
        again = bodies(replay(form, shop(), columns={"*": "warehouse:pages"}))[event["messageId"]]
        assert stored("POSTGRES", again) == stored("POSTGRES", event)
    assert replay(warehouse.arrow("SELECT * FROM tracks"), shop()).counts["hook"]["delivered"] > 1
    assert compare(pages, shop(), shop(), columns={"*": "warehouse:pages"}).kinds["same"] == 1
    assert profile(pages, columns={"*": "warehouse:screens"}).events == 1


def test_unknown_tables_are_errors() -> None:
    """An ambiguous table, a row without an event, an unknown preset and an unknown table."""
    table = loaded("POSTGRES", EVENTS).arrow("SELECT * FROM pages")

    assert "warehouse:pages" in replay(table, shop()).rejects[0].reason
    reject = replay([], shop(), columns={"*": "warehouse"}).rejects
    assert reject == []
    assert "no id and no received_at column" in replay(
        table.select(["name", "user_id"]), shop(), columns={"*": "warehouse:pages"}
    ).rejects[0].reason  # fmt: skip
    with pytest.raises(ConfigError, match=r"'page'.*Did you mean 'pages'"):
        replay(table, shop(), columns={"*": "warehouse:page"})
    with pytest.raises(ConfigError, match=r"'warehose'.*Did you mean 'warehouse'"):
        replay(table, shop(), columns={"*": "warehose"})


#: names keep a letter or digit: a context field `.` would become the column `context`, which is ambiguous
NAMES = st.text("abcXYZ12. ", min_size=1, max_size=12).filter(lambda name: name.strip(". ")) | st.sampled_from(
    ["order", "userId", "firstName", "address", "app", "page", "traits", "timestamp", "name", "email", "context"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("abc 12-:T.Zé{\"", max_size=20) | st.datetimes().map(lambda moment: moment.isoformat()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=6)
ANY_EVENT = st.fixed_dictionaries(
    {"type": st.sampled_from(events.EVENT_TYPES), "messageId": st.just("m1"), "receivedAt": st.just(CLOCK)},
    optional={
        "event": st.text("abc OC1é", max_size=12), "name": st.text("abc", max_size=5), "properties": OBJECTS,
        "traits": OBJECTS, "context": OBJECTS, "userId": st.text("ab1", max_size=4),
        "groupId": st.text("ab1", max_size=4),
        "previousId": st.text("ab1", max_size=4), "sentAt": st.just("2026-01-15T10:00:00.000Z"),
        "request_ip": st.just("203.0.113.7"),
    },
)  # fmt: skip


@given(ANY_EVENT, st.sampled_from(["POSTGRES", "SNOWFLAKE", "BQ", "S3_DATALAKE"]))
def test_any_row_survives_the_round_trip(event: dict[str, Any], kind: str) -> None:
    """The restored event makes the same row again, column by column."""
    for row in stored(kind, event):
        table = row["table"].lower().lstrip("_")
        if table == "users":
            continue
        preset = table if table in ("identifies", "pages", "screens", "groups", "aliases") else "tracks"
        record = Columns({"*": f"warehouse:{preset}"}).row("[0]", row["data"])

        assert isinstance(record, Record)
        again = next(other for other in stored(kind, dict(record.event)) if other["table"] == row["table"])
        assert again["data"] == row["data"]
