"""Results, failures and profiles convert to Arrow, Parquet, Polars and DuckDB, whatever their values."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import svctoolkit.accessor  # noqa: F401 - gives DataFrames `.svc`
from svctoolkit import DataPlane, Pipeline, Workspace
from svctoolkit.errors import ConfigError
from svctoolkit.pipeline import Stages
from svctoolkit.profile import profile
from svctoolkit.replay import replay
from svctoolkit.results import SourceResult, failures, flatten
from svctoolkit.results.arrow import arrow_table
from svctoolkit.widgets.transformation_editor.aggregate import Many, aggregate
from svctoolkit.widgets.transformation_editor.trial import Bench

CODE = "def transformEvent(event, metadata):\n    event['n'] = 1 / event['properties']['n']\n    return event\n"
MIXED = [1, "1 EUR", 2.5, True, [1, {"a": "é"}], None, {"b": 1}, 2**70, float("nan")]


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    """An object of each kind, with values of every type at `properties.total`."""
    shop = Workspace("shop")
    shop.transformation("divide", code=CODE)
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/"})
    shop.destination("code", "WEBHOOK", config={"webhookUrl": "https://hook.example/"}, transformation="divide")
    head = {"type": "track", "event": "Order", "userId": "u", "originalTimestamp": "2026-01-31T12:00:00Z"}
    events = [{**head, "messageId": f"m{n}", "properties": {"n": 0, "total": v}} for n, v in enumerate(MIXED[:-1])]
    pipeline, stages = Pipeline(shop), Stages(send_to_destination=True)
    results = [pipeline.test_destination(key, e, stages=stages) for key in ("hook", "code") for e in events]
    return {
        "result": results[0],
        "results": SourceResult(results),
        "failures": failures(results),
        "profile": profile(events, shop),
        "aggregate": aggregate(Bench(shop), shop.transformation("divide"), Many(events)),
        "groups": replay(events, shop).groups,
        "lineage": pipeline.lineage("hook", events[0]),
    }


@pytest.fixture(scope="module")
def plane() -> Iterator[DataPlane]:
    """A data plane with an ordinary and a simulated destination, which lost an event."""
    shop = Workspace("shop")
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/"})
    shop.destination("kl", "KLAVIYO", config={"publicApiKey": "p", "privateApiKey": "k"}, simulate="simulated")
    shop.source("web", destinations=["hook", "kl"])
    traits = {"context": {"traits": {"email": "ada@shop.example"}}, "timestamp": "2026-08-06T09:00:00Z"}
    with DataPlane(shop, listen=False) as plane:
        for number in ("m1", "m2"):
            event = {"type": "track", "event": "A", "userId": "ada", "messageId": number, **traits}
            plane.send(event, source="web")
        plane.drain(60)
        yield plane


def test_what_a_simulated_destination_holds_converts_to_arrow(plane: DataPlane) -> None:
    """Its tables, and what was lost."""
    for records in (plane.held("kl").events, plane.lost):
        assert pa.table(records).num_rows == records.to_arrow().num_rows == len(records.frame()) > 0


KINDS = ["result", "results", "failures", "profile", "aggregate", "groups", "lineage"]


@pytest.mark.parametrize("name", KINDS)
def test_every_frame_converts_to_every_format(given: dict[str, Any], name: str) -> None:
    """The rows and values are the same in Arrow, Parquet, Polars and DuckDB."""
    one = given[name]
    table = one.to_arrow()
    file = io.BytesIO()
    pq.write_table(table, file)

    assert table.num_rows == len(one.frame()) > 0
    assert {*map(str, one.frame().columns)} <= {*table.column_names}
    assert pa.table(one).to_pylist() == pq.read_table(file).to_pylist() == table.to_pylist()
    assert duckdb.from_arrow(table).to_arrow_table().to_pylist() == table.to_pylist()


def test_values_of_several_types_have_a_type_column() -> None:
    """Texts are unchanged, others become JSON text; missing values stay missing; uniform columns keep their type."""
    frame = flatten([{"total": value, "n": 1, "tags": ["a"]} for value in MIXED])
    table = frame.svc.to_arrow()

    assert table["total"].to_pylist() == [
        *("1", "1 EUR", "2.5", "true", '[1, {"a": "é"}]', None, None, "1180591620717411303424", None),
    ]  # an object is flattened
    assert table["total (type)"].to_pylist() == [
        *("integer", "text", "number", "boolean", "list", None, None, "integer", None),
    ]
    assert (table["n"].type, table["tags"].to_pylist()[0]) == (pa.int64(), '["a"]')
    assert "tags (type)" not in table.column_names


def test_times_and_categories_keep_their_types(given: dict[str, Any]) -> None:
    """A time in UTC, not a string; a dictionary."""
    seen = given["profile"].to_arrow()["first_seen"]

    assert seen.type == pa.timestamp("us", "UTC")
    assert seen[0].as_py() == pd.Timestamp("2026-01-31T12:00:00Z").to_pydatetime()
    assert pa.types.is_dictionary(given["failures"].to_arrow()["stage"].type)


def test_polars_converts_everything(given: dict[str, Any]) -> None:
    """With all values and times; if Polars is not installed, the error says so."""
    if find_spec("polars") is None:
        with pytest.raises(ConfigError, match="pip install polars"):
            given["result"].to_polars()
        return
    polars = import_module("polars")
    for one in given.values():
        assert one.to_polars().rows() == [*map(tuple, map(dict.values, rows_of(one)))]
    assert given["profile"].to_polars().schema["first_seen"] == polars.Datetime("us", "UTC")


def rows_of(one: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = one.to_arrow().to_pylist()
    return rows


def test_a_frame_of_mixed_values_is_written_to_parquet(tmp_path: Path) -> None:
    """Lists, objects, and numbers next to texts; a missing folder is an error without a traceback."""
    objects = [{"p": {"total": 1, "items": [1]}}, {"p": {"total": "1 EUR"}}, {"p": {"total": None, "more": {}}}]
    frame = pd.DataFrame(objects).svc.flatten()
    frame.svc.to_parquet(tmp_path / "orders.parquet")

    rows = pq.read_table(tmp_path / "orders.parquet").to_pydict()
    assert rows["p.total"] == ["1", "1 EUR", None]
    assert rows["p.total (type)"] == ["integer", "text", None]
    assert rows["p.items"] == ["[1]", None, None]
    with pytest.raises(ConfigError, match="cannot be written"):
        frame.svc.to_parquet(tmp_path / "none" / "orders.parquet")


def test_columns_with_json_text_are_read_as_json(tmp_path: Path) -> None:
    """In a replay: DuckDB's JSON columns, also inside of structs and lists, and columns that `to_arrow` wrote."""
    code = "export const transformEvent = (e) => ({ ...e, kinds: Object.values(e.properties).map((v) => typeof v) })"
    workspace = Workspace("shop")
    workspace.transformation("kinds", code=code, language="javascript")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://h.example"}, transformation="kinds")
    head = {"type": "track", "event": "E", "userId": "u1"}
    values = [{"total": total, "tags": [{"v": total}], "o": {"a": 1}} for total in (1, "1", [1], None)]
    listed = [{**head, "properties": properties} for properties in values]
    file = tmp_path / "events.ndjson"
    file.write_text("\n".join(map(json.dumps, listed)))

    def sent(given: Any) -> list[Any]:
        outputs = replay(given, workspace).frame().query("stage == 'dest_transform'")["output"]
        return [json.loads(output)["body"]["JSON"] for output in outputs]

    expected = sent(listed)
    relation = duckdb.connect().sql(f"select * from '{file}'")
    assert [event["kinds"] for event in sent(relation)][:3] == [event["kinds"] for event in expected][:3]
    frame = pd.DataFrame([{**head, **{f"properties.{k}": v for k, v in p.items()}} for p in values])
    assert [event["kinds"] for event in sent(arrow_table(frame))][:3] == [event["kinds"] for event in expected][:3]
