"""Loading: the first type wins, conflicting values are discarded, rows are merged by id, each user has one row."""

from __future__ import annotations

import doctest
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest

from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.warehouse import Warehouse
from svctoolkit.warehouse.loading.convert import go_float
from tests.pace import within

NOW = datetime(2026, 3, 4, 5, 6, 7, 890000, UTC)


def track(
    id: str, name: str = "Order Completed", *, at: str = "2026-03-01T00:00:00Z", **properties: Any
) -> dict[str, Any]:
    return {"type": "track", "messageId": id, "userId": "u1", "event": name, "receivedAt": at, "properties": properties}


def identify(user: str, at: str = "2026-03-01T00:00:00Z", **traits: Any) -> dict[str, Any]:
    id = f"{user}-{at}"
    return {
        "type": "identify",
        "messageId": id,
        "userId": user,
        "anonymousId": f"a-{user}",
        "receivedAt": at,
        "traits": traits,
    }


def shop(kind: str = "POSTGRES", config: dict[str, Any] | None = None, **options: Any) -> Warehouse:
    return Warehouse(kind, config, name="shop", clock=lambda: NOW, **options)


def values(warehouse: Warehouse, column: str, table: str = "order_completed") -> list[Any]:
    return warehouse.arrow(f'select "{column}" as v from {table} order by id').column("v").to_pylist()


@pytest.mark.parametrize("module", ["warehouse", "loading.convert"])
def test_doctests_pass(module: str) -> None:
    """The examples in docstrings are correct."""
    result = doctest.testmod(import_module(f"svctoolkit.warehouse.{module}"))

    assert result.attempted > 0
    assert result.failed == 0


#: the first value of a column, the next one, the stored value, and whether it is discarded
CONVERSIONS: list[tuple[Any, Any, Any, bool]] = [
    ("a", 12, "12", False),
    ("a", 1234567.5, "1.2345675e+06", False),
    ("a", True, "true", False),
    ("a", "2026-01-02", "2026-01-02T00:00:00.000Z", False),
    (1.5, 12, 12.0, False),
    (5, 12.9, 12, False),
    (5, "n/a", None, True),
    (True, 1, None, True),
    (1.5, "x", None, True),
    ("2026-01-02", "soon", None, True),
    (5, [1], None, True),
    ("a", [1, 2], "[1,2]", False),
]


@pytest.mark.parametrize("loads", [1, 2])
def test_the_first_type_wins(loads: int) -> None:
    """In one load and over two: a value of another type is converted, or becomes NULL and is listed in the discards."""
    columns = {f"p{n}": conversion for n, conversion in enumerate(CONVERSIONS)}
    first = track("1", **{column: value for column, (value, *_) in columns.items()})
    then = track("2", **{column: value for column, (_, value, *_) in columns.items()})
    warehouse = shop()
    for events in [[first, then]] if loads == 1 else [[first], [then]]:
        warehouse.load(events)

    assert {column: values(warehouse, column)[1] for column in columns} == {c: v[2] for c, v in columns.items()}
    discards = warehouse.discards()
    assert set(discards.row_id) == {"2"}
    assert sorted(discards.column_name) == sorted(column for column, (*_, discarded) in columns.items() if discarded)


def test_discards_list_value_and_types() -> None:
    """The row itself is loaded; the discarded value is listed as text, with both types."""
    warehouse = shop()
    load = warehouse.load([track("1", price=5), track("2", price="n/a")])
    line = warehouse.discards().iloc[0]

    assert load.tables == {"tracks": 2, "order_completed": 2}
    assert (line.table_name, line.column_name, line.column_value) == ("order_completed", "price", "n/a")
    assert line.reason == "incompatible schema conversion from int to string"


def test_losses_of_loading_name_event_and_field() -> None:
    """NULL, rounded and cut values are warnings with event and field, and with the event that created the column."""
    warehouse = shop("MSSQL")
    warehouse.load([track("1", n=5, t="x"), track("2", n=12.9, t="y" * 600), track("3", n="many")])
    found = {(loss.event_id, loss.path, loss.kind): loss.text for id in "123" for loss in warehouse.losses_of(id)}

    assert found.keys() == {
        ("2", "properties.n", "rounded"),
        ("2", "properties.t", "cut"),
        ("3", "properties.n", "null"),
    }
    assert "properties.n of event 1" in found["3", "properties.n", "null"]
    assert values(warehouse, "t")[1] == "y" * 512
    assert [(c.column, c.column_type, c.type, c.count) for c in warehouse.conflicts()] == [
        ("n", "int", "float", 1),
        ("n", "int", "string", 1),
    ]


def test_numbers_beyond_64_bits_give_a_warning() -> None:
    """RudderStack treats them as int, and stores what Go makes of them."""
    warehouse = shop()
    load = warehouse.load([track("1", n=10**30)])

    assert values(warehouse, "n") == [-(2**63)]
    assert [loss.kind for loss in load.losses] == ["rounded"]


def test_redshift_widens_strings() -> None:
    """The only type that ever changes: string becomes text, and the whole text is stored."""
    warehouse = shop("RS")
    warehouse.load([track("1", t="short")])
    warehouse.load([track("2", t="x" * 600)])

    assert warehouse.types()["order_completed"]["t"] == "text"
    assert values(warehouse, "t")[1] == "x" * 600
    assert warehouse.discards().empty


def test_new_columns_are_added_and_none_is_dropped() -> None:
    """Earlier rows have NULL there."""
    warehouse = shop()
    warehouse.load([track("1", a=1)])
    load = warehouse.load([track("2", b=2)])

    assert load.new["order_completed"] == {"b": "int"}
    assert values(warehouse, "a") == [1, None]
    assert values(warehouse, "b") == [None, 2]


@pytest.mark.parametrize(
    ("kind", "config", "rows"),
    [
        ("POSTGRES", {}, 1),
        ("POSTGRES", {"preferAppend": True}, 2),
        ("BQ", {}, 2),
        ("BQ", {"preferAppend": False}, 1),
        ("CLICKHOUSE", {}, 1),
        ("S3_DATALAKE", {}, 2),
    ],
)
def test_rows_are_merged_or_appended(kind: str, config: dict[str, Any], rows: int) -> None:
    """By provider, unless `preferAppend` is set: the newest row of an id replaces the others."""
    for together in (True, False):
        warehouse = shop(kind, config)
        events = [track("1", at="2026-03-02T00:00:00Z", n=2), track("1", at="2026-03-01T00:00:00Z", n=1)]
        for load in [events] if together else [events[1:], events[:1]]:
            warehouse.load(load)

        assert warehouse.count("order_completed") == rows
        assert 2 in values(warehouse, "n")


def test_bigquery_has_a_view_of_the_newest_rows(tmp_path: Path) -> None:
    """Appended rows stay, the view has one per id, also after new columns were added, and in a saved file."""
    warehouse = Warehouse("BQ", name="shop")
    warehouse.load([track("1", n=1)])
    warehouse.load([track("1", at="2026-03-02T00:00:00Z", n=2, extra="x")])

    assert warehouse.sql("select n, extra from order_completed_view").values.tolist() == [[2, "x"]]
    with duckdb.connect(str(warehouse.save(tmp_path / "wh.duckdb")), read_only=True) as database:
        assert database.execute("select n, extra from shop.order_completed_view").fetchall() == [(2, "x")]


def test_users_keep_the_newest_value_of_each_column() -> None:
    """One row per user, in whatever order the identifies come; empty values never win."""
    warehouse = shop()
    warehouse.load([identify("u1", "2026-03-02T00:00:00Z", plan="pro"), identify("u1", plan="free", city="Graz")])
    warehouse.load([identify("u1", "2026-03-03T00:00:00Z", age=41), identify("u2", plan="free")])
    users = warehouse.sql("select id, plan, city, age, anonymous_id from users order by id")

    assert users.iloc[0].tolist() == ["u1", "pro", "Graz", 41, "a-u1"]
    assert users.id.tolist() == ["u1", "u2"]
    assert warehouse.count("identifies") == 4


def test_ids_joined_by_merge_rules_share_a_rudder_id() -> None:
    """Over several loads."""
    warehouse = shop("SNOWFLAKE", settings={"id_resolution": True})
    warehouse.load(
        [{**track("1"), "anonymousId": "a1", "userId": "u1"}, {**track("2"), "anonymousId": "a2", "userId": "u2"}]
    )
    assert warehouse.sql("select count(distinct rudder_id) n from rudder_identity_mappings").n[0] == 2

    warehouse.load([{"type": "alias", "messageId": "3", "userId": "u1", "previousId": "u2"}])
    mappings = warehouse.sql("select * from rudder_identity_mappings")

    assert len(mappings) == 4
    assert mappings.RUDDER_ID.nunique() == 1


def test_long_merge_rules_are_replaced() -> None:
    """Rules of more than 512 characters; the original is in the discards."""
    warehouse = shop("SNOWFLAKE", settings={"id_resolution": True})
    warehouse.load([{**track("1"), "anonymousId": "a" * 600}])

    assert warehouse.sql("select * from rudder_identity_merge_rules").iloc[0, 1].startswith("rudder-discards-")
    assert warehouse.discards().COLUMN_VALUE.tolist() == ["a" * 600]


def test_refused_events_do_not_stop_the_others() -> None:
    """They are among the losses, with the event and the reason."""
    load = shop().load([track("1"), {"type": "record", "messageId": "2"}, track("3")])

    assert load.tables["tracks"] == 2
    assert [(loss.event_id, loss.kind) for loss in load.losses] == [("2", "refused")]


REFUSED = [
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/etc/passwd')",
    "select * from '/etc/passwd'",
    "select * from glob('/etc/*')",
    "install httpfs",
    "load httpfs",
    "attach '/tmp/x.db'",
    "copy tracks to '/tmp/x.csv'",
    "export database '/tmp/x'",
    "set enable_external_access=true",
    "drop table tracks",
    "select 1; delete from tracks",
    "update tracks set id = 'x'",
    "create table t as select 1",
    "select * from secret_frame",
    "select getenv('HOME')",
    "",
    "selekt",
    "select 1/",
]


def test_user_sql_can_only_read_the_tables() -> None:
    """Files, extensions, other databases, Python variables and changes are refused; the tables stay."""
    warehouse = shop()
    warehouse.load([track("1")])
    secret_frame = warehouse.tables()  # a frame that DuckDB would find by its name, if it were allowed to
    answered = []
    for query in REFUSED:
        with suppress(ConfigError):
            warehouse.sql(query)
            answered.append(query)
        assert warehouse.count("tracks") == len(secret_frame.query("table == 'tracks'")), query

    assert answered == []


def test_a_query_that_takes_too_long_is_stopped() -> None:
    """With an error that says so; the warehouse can be queried again."""
    warehouse = shop()
    warehouse.load([track("1")])

    with pytest.raises(ConfigError, match="longer than"):
        warehouse.sql("select sum(a.range * b.range) from range(10000000) a, range(10000000) b", timeout=0.2)
    assert warehouse.count("tracks") == 1


def test_all_reading_queries_work() -> None:
    """Every kind of query, with names in any case."""
    warehouse = shop()
    warehouse.load([track("1")])
    queries = [
        "from tracks",
        "describe tracks",
        "explain select 1",
        "with t as (select 1 as a) select * from t",
        "pivot tracks on event using count(*)",
        "show tables",
        "select * from TRACKS",
    ]

    assert [query for query in queries if not len(warehouse.sql(query))] == []


def test_frames_keep_whole_numbers_and_times() -> None:
    """A missing value next to them changes neither; lists become JSON text; Arrow export works, too."""
    warehouse = shop()
    warehouse.load([track("1", n=2**53 - 1, list=[1, {"a": "b"}]), track("2", at="2026-03-04T05:06:07.123+05:30")])
    frame = warehouse.sql("select n, list, received_at from order_completed order by id")

    assert frame.n.tolist()[0] == 2**53 - 1
    assert frame["list"][0] == '[1,{"a":"b"}]'
    assert str(frame.received_at[1]) == "2026-03-03 23:36:07.123000+00:00"
    assert warehouse.arrow("select n from order_completed").schema.names == ["n"]


def test_tables_and_schema_describe_themselves() -> None:
    """Counts, the provider's types, and the event and field that created each column."""
    warehouse = shop("SNOWFLAKE")
    warehouse.load([track("1", price=1.5)])
    line = warehouse.schema("order_completed").set_index("column").loc["PRICE"]

    assert warehouse.tables().set_index("table")["rows"].to_dict()["TRACKS"] == 1
    assert line.tolist() == ["ORDER_COMPLETED", "float", "double precision", "properties.price", "1"]
    with pytest.raises(UnknownName, match="ORDER_COMPLETED"):
        warehouse.schema("order_complete")


def test_a_saved_file_is_an_ordinary_database(tmp_path: Path) -> None:
    """Schema, types, rows, and the provider's types as comments.

    It is replaced atomically, and a bad path is an error.
    """
    warehouse = shop("RS")
    warehouse.load([track("1", price=1.5, doc={"a": 1}), identify("u1")])
    file = warehouse.save(tmp_path / "wh.duckdb")
    warehouse.save(file)

    with duckdb.connect(str(file), read_only=True) as database:
        assert database.execute("select price from shop.order_completed").fetchall() == [(1.5,)]
        comment = "select comment from duckdb_columns() where table_name = 'order_completed' and column_name = 'price'"
        assert database.execute(comment).fetchall() == [("double precision",)]
    assert [path.name for path in tmp_path.iterdir()] == ["wh.duckdb"]
    with pytest.raises(ConfigError):
        warehouse.save(tmp_path / "none" / "wh.duckdb")


NONSENSE: list[Any] = [
    {"n": float("nan"), "i": float("inf"), "t": "\ud800", "z": "a\x00b"},
    {'we"ird; drop': 1, "select": 2, "at": 3},
    {"a": [[["x"]]], "b": {"c": [None]}},
    {"uuid_ts": "mine", "loaded_at": 5, "rudder_event": {"x": 1}},
    {"A": 1, "a ": "x"},
]


@pytest.mark.parametrize("kind", ["POSTGRES", "SNOWFLAKE", "BQ", "S3_DATALAKE", "MSSQL", "CLICKHOUSE"])
def test_any_event_is_loaded(kind: str) -> None:
    """Every event has its row, whatever it contains, and so does the next one."""
    warehouse = shop(kind, settings={"id_resolution": True})
    events = [track(str(n), **properties) for n, properties in enumerate(NONSENSE)]
    odd = [
        {**identify("u1"), "userId": {"a": 1}},
        {**identify("u1"), "userId": 7, "receivedAt": "soon"},
        {"type": "group"},
    ]
    warehouse.load([*events, *odd])
    warehouse.load([track("9", "Select"), track("10", 'a"b; drop table tracks')])

    assert warehouse.count("tracks") == len(events) + 2


def test_a_load_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one transaction, and the next load includes the staged rows."""
    from svctoolkit.warehouse.loading.load import Loader

    warehouse = shop()
    warehouse.load([track("1")])

    def fail(*_: Any) -> None:
        raise RuntimeError("full")

    with monkeypatch.context() as patch:
        patch.setattr(Loader, "_insert_discards", fail)
        with pytest.raises(RuntimeError):
            warehouse.load([track("2", extra=1)])
    assert "extra" not in warehouse._open().catalogue.schema["order_completed"]

    assert warehouse.count("tracks") == 2
    assert values(warehouse, "extra") == [None, 1]


@pytest.mark.parametrize(
    ("value", "text"), [(1e20, "1e+20"), (-0.5, "-0.5"), (1e-7, "1e-07"), (100000.0, "100000"), (0.0, "0")]
)
def test_floats_are_written_as_in_go(value: float, text: str) -> None:
    """In text columns, numbers look as RudderStack (in Go) writes them."""
    assert go_float(value) == text


@pytest.mark.slow
def test_100_000_events_in_five_seconds() -> None:
    """Rows and load together, in processor time."""
    events = [
        track(f"m{n}", ["Order Completed", "Viewed", "Paid"][n % 3], revenue=n * 1.5, q=n % 7, id2=f"o{n}")
        for n in range(100_000)
    ]
    warehouse = shop()
    with within(5):
        warehouse.load(events)

    assert warehouse.count("tracks") == 100_000


def test_losses_are_listed_up_to_a_limit_and_counted() -> None:
    """The first ten thousand are listed; more would only repeat them."""
    warehouse = shop()
    load = warehouse.load(track(str(n), p=n if not n else n + 0.5) for n in range(10_051))

    assert (len(load.losses), load.more_losses) == (10_000, 50)
    assert warehouse.loss_count == 10_050
    assert warehouse.conflicts()[0].count == 10_050


def test_without_duckdb_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows need nothing more; tables do."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    warehouse = shop()

    assert warehouse.add(track("1"))
    with pytest.raises(ConfigError, match=r"svctoolkit\[warehouse\]"):
        warehouse.tables()


def test_records_and_replays_replace_their_rows() -> None:
    """Even if the configuration prefers to append: records may come again, and so do replayed events."""
    once, again = track("1", n=1), track("1", n=2, at="2026-03-02T00:00:00Z")
    for kind, config in (("POSTGRES", {"preferAppend": True}), ("BQ", {})):
        appended, replayed = shop(kind, config), shop(kind, config)
        records = shop(kind, config, metadata={"sourceCategory": "singer-protocol"})
        for warehouse in (appended, replayed, records):
            warehouse.load([once])
        appended.load([again])
        replayed.load([again], replay=True)
        records.add(again)
        records.add(again)

        assert sorted(values(appended, "n")) == [1, 2]
        assert values(replayed, "n") == values(records, "n") == [2]
        replayed.load([again])
        assert values(replayed, "n") == [2, 2]


def test_a_table_keeps_its_newest_rows() -> None:
    """Each table separately; the newest by time of receipt, not by time of loading."""
    warehouse = shop(most_rows=5)
    warehouse.load([track(str(n), at=f"2026-03-0{9 - n}T00:00:00Z", n=n) for n in range(1, 9)])
    warehouse.load([track("p", "Paid")])

    assert values(warehouse, "n") == [1, 2, 3, 4, 5]
    assert warehouse.count("paid") == 1
    assert warehouse.forgotten == 7
