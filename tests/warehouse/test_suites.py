"""Suites and pytest can check the tables of a warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from svctoolkit import runner
from svctoolkit.workspace import Workspace

pytest_plugins = ["pytester"]

SEND = [
    {"type": "identify", "messageId": "m1", "userId": "u1", "traits": {"plan": "pro", "user_id": "mine"}},
    {"type": "track", "messageId": "m2", "userId": "u1", "event": "Order Completed",
     "properties": {"orderId": "A-1", "revenue": 12.5, "items": [{"sku": "s1"}]}},
    {"type": "track", "messageId": "m3", "userId": "u1", "event": "Order Completed",
     "properties": {"orderId": "A-2", "revenue": "n/a"}},
]  # fmt: skip


SHOP = Workspace("shop")
SHOP.destination("wh", "SNOWFLAKE", config={})
SHOP.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
SHOP.source("web", destinations=["wh", "hook"])


@pytest.fixture(scope="module")
def planes() -> Iterator[runner.Planes]:
    with runner.open_planes(limit=60) as planes:
        yield planes


def outcome(planes: runner.Planes, expected: Any, send: Any = SEND) -> runner.Outcome:
    scenario = {"name": "tables", "source": "web", "send": send, "expect": {"warehouse": expected}}
    suite = runner.suite_of({"scenarios": [scenario]}, SHOP, name="t.suite.yaml")
    return runner.attempt(suite.scenarios[0], planes)


#: Lost while rows are made, not while they are loaded.
SHADOWED = {"event_id": "m1", "path": "traits.user_id", "kind": "shadowed"}
GOOD: list[Any] = [
    {"wh": {"order_completed": [{"order_id": "A-2"}, {"order_id": "A-1", "revenue": 12.5}]}},
    {"order_completed": {"$length": 2}},
    {"wh": {"users": {"id": "u1", "plan": "pro"}}},
    {"wh": {"order_completed": [{"items": [{"sku": "s1"}]}, {}]}},
    {"wh": {"columns": {"order_completed": {"revenue": "float", "order_id": "varchar"}}}},
    {"wh": {"discards": [{"row_id": "m3", "column_name": "REVENUE", "column_value": "n/a"}]}},
    {"wh": {"losses": [{"event_id": "m3", "path": "properties.revenue", "kind": "null"}, SHADOWED]}},
    {"wh": {"sql": {"query": "select count(*) as n from tracks", "rows": [{"n": 2}]}}},
    {"wh": {"sql": [{"query": "select 1 as a", "rows": [{"a": 1}]}]}},
    {"wh": {"sql": {"query": "select sum(n) as n, 1.5::decimal(4, 1) as d from (values (1), (2)) t(n)",
                    "rows": [{"n": 3, "d": 1.5}]}}},
]  # fmt: skip


@pytest.mark.parametrize("expected", GOOD)
def test_expectations_on_tables_pass(planes: runner.Planes, expected: Any) -> None:
    """Rows by subset in any order, columns by either type, discards, losses, SQL."""
    result = outcome(planes, expected)

    assert result.ok, runner.explanation(result)


BAD: list[tuple[Any, str]] = [
    ({"wh": {"users": [{"plan": "free"}]}}, 'plan: expected "free", got "pro"'),
    ({"wh": {"order_completed": [{"order_id": "A-1"}]}}, "order_completed"),
    ({"wh": {"order_completed": [{"order_id": "A-9"}, {"order_id": "A-1"}]}}, "A-9"),
    ({"wh": {"orders": [{"order_id": "A-1"}]}}, "orders"),
    ({"wh": {"columns": {"order_completed": {"revenue": "int"}}}}, "float"),
    ({"wh": {"columns": {"order_completed": {"margin": "int"}}}}, "margin"),
    ({"wh": {"discards": []}}, "n/a"),
    ({"wh": {"losses": []}}, "got 2"),
    ({"wh": {"sql": {"query": "select count(*) as n from tracks", "rows": [{"n": 5}]}}}, "5"),
    ({"wh": {"sql": {"query": "select * from nothing", "rows": []}}}, "nothing"),
    ({"wh": {"sql": {"query": "drop table tracks", "rows": []}}}, "SELECT"),
]


@pytest.mark.parametrize(("expected", "said"), BAD)
def test_wrong_expectations_on_tables_fail(planes: runner.Planes, expected: Any, said: str) -> None:
    """The failure says where."""
    result = outcome(planes, expected)

    assert not result.ok
    assert said in runner.explanation(result)


def test_steps_share_the_tables_and_scenarios_do_not(planes: runner.Planes) -> None:
    """The first type wins over steps; rows from other scenarios are not there."""
    first = {"source": "web", "send": SEND[1], "expect": {"warehouse": {"wh": {"discards": []}}}}
    second = {"source": "web", "send": SEND[2], "expect": {"warehouse": {"wh": {"discards": [{"row_id": "m3"}]}}}}
    alone = {"name": "alone", **second, "expect": {"warehouse": {"wh": {"order_completed": [{"revenue": "n/a"}]}}}}
    file = {"scenarios": [{"name": "both", "steps": [first, second]}, alone]}
    suite = runner.suite_of(file, SHOP, name="t.suite.yaml")
    outcomes = [runner.attempt(scenario, planes) for scenario in suite.scenarios]

    assert [o.ok for o in outcomes] == [True, True], [runner.explanation(o) for o in outcomes]


@pytest.mark.slow
def test_the_warehouse_fixture(pytester: pytest.Pytester) -> None:
    """`warehouse()` has the loaded rows; the next test finds the tables empty."""
    pytester.makefile(
        ".yaml",
        workspace="""
        workspace: shop
        sources: {web: {destinations: [wh]}}
        destinations: {wh: {type: POSTGRES, config: {}}}
    """,
    )
    pytester.makeini("[pytest]\nsuite_workspace = workspace.yaml")
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("number", [1, 2])
        def test_orders(data_plane, warehouse, number):
            event = {"type": "track", "event": "Order Completed", "userId": "u1", "properties": {"revenue": 9.5}}
            data_plane.send(event, source="web")
            assert warehouse().sql("select sum(revenue) as total from order_completed").total.tolist() == [9.5]
            assert warehouse("wh").discards().empty
    """)

    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=2)
