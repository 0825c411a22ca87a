"""A warehouse that starts with production's columns, and conditions on what is loaded."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.cli import main
from svctoolkit.conditions import Words, met, parse
from svctoolkit.errors import ConfigError
from svctoolkit.warehouse import Warehouse

COLUMNS = """\
TABLE_SCHEMA,TABLE_NAME,COLUMN_NAME,DATA_TYPE,NUMERIC_SCALE
shop,PAID,TOTAL,NUMBER,2
shop,PAID,ITEMS,NUMBER,0
shop,PAID,AREA,GEOGRAPHY,
shop,PAID,PAID_AT,TIMESTAMP_TZ,
other,PAID,TOTAL,TEXT,
"""


def paid(number: int, **properties: Any) -> dict[str, Any]:
    at = "2026-03-01T00:00:00Z"
    return {"type": "track", "messageId": f"m{number}", "userId": "u", "event": "Paid", "receivedAt": at,
            "originalTimestamp": at, "properties": properties}  # fmt: skip


def written(tmp_path: Path, text: str = COLUMNS, name: str = "columns.csv") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_values_are_those_that_productions_columns_hold(tmp_path: Path) -> None:
    """The first type wins, and production's was first: of its own schema, and of types that RudderStack writes."""
    warehouse = Warehouse("SNOWFLAKE", name="shop")
    warehouse.seed(written(tmp_path))
    warehouse.load([paid(1, total="n/a", items=2, paid_at="no time", coupon="X"), paid(2, total=2.5, items=1)])

    facts = warehouse.facts()
    types = warehouse.types()["PAID"]
    assert (types["TOTAL"], types["ITEMS"], types["PAID_AT"]) == ("float", "int", "datetime")
    assert "AREA" not in types
    assert [(of.table, of.column, of.type) for of in warehouse.unchecked] == [("PAID", "AREA", "GEOGRAPHY")]
    assert (facts["PAID"]["rows"], facts["PAID"]["discards"], facts["PAID"]["type_changes"]) == (2, 2, 2)
    assert facts["PAID"]["new_columns"] > 0
    assert (facts["TRACKS"]["new_tables"], facts["PAID"]["new_tables"]) == (1, 0)
    assert "RUDDER_DISCARDS" not in facts
    with pytest.raises(ConfigError, match="before anything is loaded"):
        warehouse.seed(tmp_path / "columns.csv")


def test_columns_of_unknown_types_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With table, column and type, by the command and on the page. They are in production, so they are not new."""
    (tmp_path / "workspace.yaml").write_text("destinations: {wh: {type: POSTGRES, config: {}}}")
    (tmp_path / "e.ndjson").write_text(json.dumps(paid(1, area="x", total=5)))
    columns = "table_name,column_name,data_type\npaid,area,geography\npaid,total,bigint\nshops,place,point\n"
    file = written(tmp_path, columns)
    text = "paid.area: production's type geography is unknown, so values were not checked against it. Write a known"

    rest = ["--events", str(tmp_path / "e.ndjson"), "--workspace", str(tmp_path / "workspace.yaml")]
    assert main(["warehouse", "show", *rest, "--production", str(file)]) == 0
    said = capsys.readouterr().out
    warehouse = Warehouse("POSTGRES")
    warehouse.seed(file)
    warehouse.load([paid(1, area="x", total=5)])

    assert f"  warning: {text} type for this column in a CSV of production's columns" in said
    assert "  warning: shops.place: production's type point is unknown" in said
    assert text in html.unescape(warehouse._repr_mimebundle_()["text/html"])
    assert warehouse.facts()["paid"]["new_columns"] == len(warehouse.types()["paid"].keys() - {"area", "total"})


@pytest.mark.parametrize("name", ["rs", "bq", "clickhouse"])
def test_an_export_is_a_seed(tmp_path: Path, name: str) -> None:
    """With exactly its types: nothing is new then."""
    event = paid(1, total=2.5, items=2, is_gift=True, at="2026-03-01T00:00:00Z", tags=[1], note="x")
    one, other = Warehouse(name, name="shop"), Warehouse(name, name="shop")
    one.load([event])
    other.seed(one.save(tmp_path / "production.duckdb"))

    assert one.types() == other.types()
    other.load([event])
    assert {(of["new_columns"], of["new_tables"], of["type_changes"]) for of in other.facts().values()} == {(0, 0, 0)}
    assert not any(of["new_tables"] for of in one.facts().values())


def test_types_have_the_spellings_of_databases(tmp_path: Path) -> None:
    """ClickHouse wraps types, and DuckDB has integers of more sizes."""
    rows = "table_name,column_name,data_type\npaid,a,Nullable(Int64)\npaid,b,LowCardinality(Nullable(String))\n"
    warehouse = Warehouse("CLICKHOUSE", name="shop")
    warehouse.seed(written(tmp_path, f"{rows}paid,c,HUGEINT\n", "columns.csv"))

    assert warehouse.types()["paid"] == {"a": "int", "b": "string", "c": "int"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("columns.csv", "a,b\n1,2\n", "has no column 'table_name'. Expected the columns of information_schema"),
        ("columns.csv", "table_name,column_name,data_type\n", "has no columns of tables"),
        ("columns.csv", COLUMNS.replace("shop,", "third,"), "has no schema 'SHOP', only other, third"),
        (
            "columns.csv",
            "table_name,column_name,data_type\npaid,total,money\n",
            "has no column of a type that RudderStack writes, only money",
        ),
        ("columns.json", "{", "cannot be read"),
        ("columns.duckdb", "no database", "cannot be used"),
    ],
)
def test_mistakes_in_a_seed_are_errors(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Warehouse("SNOWFLAKE", name="shop").seed(written(tmp_path, text, name))
    with pytest.raises(ConfigError, match="no such file"):
        Warehouse("SNOWFLAKE", name="shop").seed(tmp_path / "nothing.csv")


def test_a_gate_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "workspace.yaml").write_text("destinations: {wh: {type: POSTGRES, config: {}}}")
    (tmp_path / "e.ndjson").write_text(json.dumps(paid(1, total="n/a")))
    columns = "table_name,column_name,data_type\npaid,total,double precision\n"
    rest = ["--events", str(tmp_path / "e.ndjson"), "--workspace", str(tmp_path / "workspace.yaml")]
    gate = [*rest, "--production", str(written(tmp_path, columns)), "--fail-on"]

    assert main(["warehouse", "show", *gate, "discards>0, rows<1"]) == 1
    assert "discards>0: 1 discards in wh.paid" in capsys.readouterr().err
    assert main(["warehouse", "show", *rest, "--fail-on", "discards>0 or type_changes"]) == 0
    assert main(["warehouse", "show", *gate, "dicards>0"]) == 4
    assert "unknown word 'dicards'" in capsys.readouterr().err


def test_a_warehouse_without_rows_does_not_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No table could meet a condition."""
    workspace = "destinations: {wh: {type: POSTGRES, transformation: none}}\n"
    workspace += "transformations: {none: {language: python, code: 'def transformEvent(event, metadata): return None'}}"
    (tmp_path / "workspace.yaml").write_text(workspace)
    (tmp_path / "e.ndjson").write_text(json.dumps(paid(1, total=5)))
    rest = ["--events", str(tmp_path / "e.ndjson"), "--workspace", str(tmp_path / "workspace.yaml")]

    assert main(["warehouse", "show", *rest]) == 0
    assert main(["warehouse", "show", *rest, "--fail-on", "rows<2 or discards"]) == 1
    assert "no event arrives at wh" in capsys.readouterr().err


def test_conditions_are_about_one_table() -> None:
    numbers = {"a": {"rows": 5, "discards": 0}, "b": {"rows": 500, "discards": 2}}
    words = Words(["rows", "discards"])

    assert [b.text for b in met(parse("rows<10 and discards", words), numbers)] == []
    assert [b.text for b in met(parse("rows<10 or discards>=2", words), numbers)] == [
        "5 rows in a",
        "2 discards in b",
    ]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("rows>1.2.3", "1.2.3 is not a number"),
        ("rows>5%", "'rows' has no share: leave out the %"),
        ("dicards>0", "Did you mean 'discards'?"),
        ("discards<0", "never holds: a number of events is never negative"),
        ("rows<1", "never holds: without --production, every table here has a row"),
        ("rows == 0", "never holds"),
        ("new_columns>0", "'new_columns' needs --production"),
        ("discards>0 or new-tables", "'new-tables' needs --production"),
    ],
)
def test_conditions_that_cannot_hold_are_refused(
    condition: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything runs: a check that can never fail is a mistake."""
    (tmp_path / "workspace.yaml").write_text("destinations: {wh: {type: POSTGRES}}\n")
    (tmp_path / "e.ndjson").write_text(json.dumps(paid(1, total=5)))
    rest = ["--events", str(tmp_path / "e.ndjson"), "--workspace", str(tmp_path / "workspace.yaml")]
    refused = main(["warehouse", "show", *rest, "--fail-on", condition])

    assert (refused, said in capsys.readouterr().err) == (4, True)
