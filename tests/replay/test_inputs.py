"""Sources of events for a replay."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit.errors import ConfigError
from svctoolkit.replay import Replayed, replay
from tests.replay.shops import ndjson, order, orders, shop

pa = pytest.importorskip("pyarrow")


def ids(result: Replayed) -> list[str]:
    """The messageIds of the events, in order."""
    frame = result.frame()
    return list(frame[frame.stage == "dest_transform"].event_id)


def write(path: Path, events: list[dict[str, Any]]) -> Path:
    """Write events in the format of the file's extension."""
    lines = "".join(f"{json.dumps(event)}\n" for event in events).encode()
    name = path.name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(lines))
    elif name.endswith(".zst"):
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(lines)
    elif name.endswith(".parquet"):
        pd.DataFrame({"payload": [json.dumps(event) for event in events]}).to_parquet(path)
    elif name.endswith(".json"):
        path.write_text(json.dumps(events, indent=1))
    elif name.endswith(".csv"):
        pd.DataFrame({"payload": [json.dumps(event) for event in events]}).to_csv(path, index=False)
    else:
        path.write_bytes(lines)
    return path


@pytest.mark.parametrize("name", ["a.ndjson", "a.jsonl.gz", "a.ndjson.zst", "a.json", "a.csv", "a.parquet"])
def test_every_format_gives_the_same_events(name: str, tmp_path: Path) -> None:
    """In every format, the events are in order and have their position."""
    file = write(tmp_path / name, orders(5))
    result = replay(file, shop())

    assert ids(result) == ["m0", "m1", "m2", "m3", "m4"]
    assert result.frame().place.str.startswith(f"{file}:").all()


def test_a_folder_is_read_in_order_of_names(tmp_path: Path) -> None:
    """Files of known formats in a folder and its subfolders are one input; others are ignored."""
    ndjson(tmp_path / "2.ndjson", [order(2)])
    (tmp_path / "1").mkdir()
    write(tmp_path / "1" / "x.json", [order(1)])
    (tmp_path / "README.md").write_text("no events")
    (tmp_path / ".hidden.ndjson").write_text("no events")
    result = replay(tmp_path, shop())

    assert ids(result) == ["m1", "m2"]
    assert result.rejected == 0


def test_bad_records_are_rejected_with_their_position(tmp_path: Path) -> None:
    """Each bad record is named by file and line with the reason; every good one is run."""
    file = tmp_path / "events.ndjson"
    bad = ['{"type": "track"', "[1]", '{"type": "nope"}', "{}", '{"type": "track", "n": NaN}', '"\\ud800"']
    file.write_text("\n".join([json.dumps(order(1)), *bad, "", json.dumps(order(2))]))
    result = replay(file, shop())

    assert ids(result) == ["m1", "m2"]
    assert [reject.place for reject in result.rejects] == [f"{file}:{line}" for line in range(2, 8)]
    assert [reject.reason for reject in result.rejects] == [
        "invalid JSON: Expecting ',' delimiter (column 17)",
        "an event must be a JSON object",
        "message type is unsupported",
        "message type missing or invalid",
        "invalid JSON: NaN is not a JSON value",
        "an event must be a JSON object",
    ]


def test_a_truncated_gzip_file_is_read_up_to_the_damage(tmp_path: Path) -> None:
    """Complete events are replayed, the damage has a position, and the next file is read."""
    whole = gzip.compress("".join(f"{json.dumps(event)}\n" for event in orders(3000)).encode(), mtime=0)
    (tmp_path / "a.ndjson.gz").write_bytes(whole[: len(whole) // 2])
    ndjson(tmp_path / "b.ndjson", [order(9999)])
    result = replay(tmp_path, shop())

    found = ids(result)
    assert 1000 < len(found) < 3000
    assert found == [f"m{n}" for n in range(len(found) - 1)] + ["m9999"]
    assert any("damaged from here on" in reject.reason for reject in result.rejects)


def test_json_files_may_have_several_forms(tmp_path: Path) -> None:
    """A list, one object, a client's batch, and consecutive values are all understood."""
    (tmp_path / "a.json").write_text(json.dumps(order(1), indent=2))
    (tmp_path / "b.json").write_text(json.dumps({"batch": [order(2), order(3)], "sentAt": "2024-01-01"}))
    (tmp_path / "c.json").write_text(f"{json.dumps(order(4))}\n{json.dumps(order(5))}")
    (tmp_path / "d.json").write_text(f"[{json.dumps(order(6))}, oops, {json.dumps(order(7))}]")
    result = replay(tmp_path, shop())

    assert ids(result) == ["m1", "m2", "m3", "m4", "m5", "m6"]
    assert [reject.place for reject in result.rejects] == [f"{tmp_path / 'd.json'}:1"]


def test_long_values_in_json_files_may_cross_blocks(tmp_path: Path) -> None:
    """A text of several megabytes is valid, wherever a block of the file ends."""
    (tmp_path / "a.json").write_text(json.dumps([order(1, note="x" * 3_000_000), order(2, note='"' * 700_000)]))
    result = replay(tmp_path, shop())

    assert (ids(result), result.rejected) == (["m1", "m2"], 0)


@pytest.mark.parametrize(
    ("text", "ids_read", "line"),
    [
        ('type,userId\ntrack,u1\ntrack,"u2\ntrack,u3\ntrack,u4\n', 1, 3),
        ('type,userId\ntrack,u1\ntrack,"u2', 1, 3),
        ('type,"userId\ntrack,u1\n', 0, 1),
    ],
)
def test_a_quote_that_is_never_closed_is_damage(tmp_path: Path, text: str, ids_read: int, line: int) -> None:
    """It would swallow every row after it, and only one of them would be missing."""
    file = tmp_path / "events.csv"
    file.write_text(text)

    result = replay(file, shop())

    assert sum(result.counts.get("hook", {}).values()) == ids_read
    (reject,) = result.unread
    assert (reject.place, reject.reason) == (f"{file}:{line}", "invalid CSV: a quote is opened and never closed")


def test_a_nul_byte_rejects_its_row(tmp_path: Path) -> None:
    """It comes from damage, such as a block that was never written. Other rows are read."""
    file = tmp_path / "events.csv"
    file.write_bytes(b"type,userId,event\ntrack,u1,A\ntrack,u\x002,A\n\x00\x00\x00\ntrack,u3,A\n")

    result = replay(file, shop())

    assert result.counts["hook"] == {"delivered": 2}
    assert [(reject.place, reject.reason) for reject in result.rejects] == [
        (f"{file}:3", "invalid CSV: a NUL byte in field 2"),
        (f"{file}:4", "invalid CSV: a NUL byte in field 1"),
    ]


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_the_last_row_of_a_csv_may_have_any_end(tmp_path: Path, end: str) -> None:
    """With a value in quotes that has lines and quotes of its own."""
    file = tmp_path / "events.csv"
    file.write_bytes(f'type,userId,event\ntrack,u1,"5"" screen\nand more"{end}'.encode())

    result = replay(file, shop())

    assert (result.counts["hook"], result.rejected) == ({"delivered": 1}, 0)


def test_a_csv_is_read_with_a_mapping(tmp_path: Path) -> None:
    """Columns are moved and converted as it says; an invalid cell rejects its row."""
    file = tmp_path / "orders.csv"
    file.write_text('user,amount,paid,items\nu1,12.5,yes,"[1, 2]"\nu2,many,no,[]\nu3,,,\n')
    columns = {
        "type": "=track",
        "event": "=Order",
        "userId": "user",
        "properties.revenue": "amount:number",
        "properties.paid": "paid:boolean",
        "properties.items": "items:json",
    }
    result = replay(file, shop(), columns=columns)

    bodies = [json.loads(output)["body"]["JSON"] for output in result.frame().output.dropna()]
    assert bodies == [
        {
            "type": "track",
            "event": "Order",
            "userId": "u1",
            "properties": {"revenue": 12.5, "paid": True, "items": [1, 2]},
        },
        {"type": "track", "event": "Order", "userId": "u3"},
    ]
    assert [(r.place, r.reason) for r in result.rejects] == [(f"{file}:3", "column amount: 'many' is not a number")]


def test_flat_frames_become_nested_events() -> None:
    """Dotted columns are paths; missing values of pandas are left out, and times become ISO 8601."""
    frame = pd.DataFrame({
        "type": ["track", "track"],
        "event": ["A", "B"],
        "properties.n": [1.0, None],
        "properties.at": [pd.Timestamp("2024-05-01 12:00", tz="Europe/Berlin"), pd.NaT],
        "context.tags": [["x"], None],
    })  # fmt: skip
    result = replay(frame, shop())

    bodies = [json.loads(output)["body"]["JSON"] for output in result.frame().output.dropna()]
    assert bodies == [
        {
            "type": "track",
            "event": "A",
            "properties": {"n": 1.0, "at": "2024-05-01T10:00:00.000Z"},
            "context": {"tags": ["x"]},
        },
        {"type": "track", "event": "B"},
    ]


def test_any_iterable_of_events_is_an_input() -> None:
    """A generator is read lazily; JSON texts and records with an `event` count as events."""

    class Received:
        event = order(3)

    def given() -> Iterator[Any]:
        yield order(1)
        yield json.dumps(order(2))
        yield Received()
        yield "{"

    result = replay(given(), shop())

    assert ids(result) == ["m1", "m2", "m3"]
    assert result.rejects[0].place == "[3]"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gone.ndjson", "gone.ndjson: no such file"),
        ("notes.txt", "notes.txt: unknown file format. Known endings: .csv, .db, .json"),
        ("empty", "empty: this folder contains no file of a known format"),
    ],
)
def test_an_unreadable_input_is_an_error_before_the_first_event(name: str, said: str, tmp_path: Path) -> None:
    """The error says what is wrong."""
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError) as caught:
        replay(tmp_path / name, shop())

    assert said in str(caught.value)


def test_a_wrong_mapping_is_an_error_before_the_first_event() -> None:
    """Paths and conversions are checked, with the nearest valid name."""
    with pytest.raises(ConfigError, match=r"columns: propertis\.x: an event has no member 'propertis'.*'properties'"):
        replay([], shop(), columns={"propertis.x": "x"})
    with pytest.raises(ConfigError, match=r"unknown conversion 'numbr'.*'number'"):
        replay([], shop(), columns={"properties.x": "x:numbr"})


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_rejected_or_replayed(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Whatever is in a file, the run ends with a count of rejects and replays the good event after it."""
    folder = tmp_path_factory.mktemp("any")
    for ending in ("json", "csv", "ndjson", "ndjson.gz", "ndjson.zst", "parquet"):
        (folder / f"a.{ending}").write_bytes(content)
    ndjson(folder / "z.ndjson", [order(1)])
    result = replay(folder, shop(), rows=False)

    assert result.events >= 1
    assert result.counts["hook"]["delivered"] == result.events
