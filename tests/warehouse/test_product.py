"""Warehouse destinations in a workspace: pipeline, data plane, and the Test API, which refuses them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Pipeline, Workspace
from svctoolkit.errors import UnknownName
from svctoolkit.pipeline import Stages
from svctoolkit.workspace import Person, WarehouseSettings

LOGIN = ("dev@example.com", "token")
ALL = Stages(send_to_destination=True)


def order(id: str = "m1", **properties: Any) -> dict[str, Any]:
    return {"type": "track", "messageId": id, "userId": "u1", "event": "Order Completed", "properties": properties}


@pytest.fixture
def workspace() -> Workspace:
    shop = Workspace("shop", users=[Person.with_token(*LOGIN)])
    shop.destination("wh", "SNOWFLAKE", config={"password": "s3cret-password"})
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    shop.source("web", destinations=["wh"], name="Web Shop")
    return shop


@pytest.fixture
def plane(workspace: Workspace) -> Iterator[DataPlane]:
    with DataPlane(workspace) as plane:
        yield plane


def test_rows_are_stage_2_and_the_load_stage_3(workspace: Workspace) -> None:
    """A payload is a row of a table, an answer the result of its load; frames have both."""
    result = Pipeline(workspace, exploring=True).test_destination("wh", order(revenue=9.5), stages=ALL)
    entry = result.data[0]
    frame = result.frame()

    assert [row["table"] for row in entry.payloads] == ["TRACKS", "ORDER_COMPLETED"]
    assert entry.answers == [{"table": "TRACKS", "loaded": 1}, {"table": "ORDER_COMPLETED", "loaded": 1}]
    assert result.ok
    assert frame[frame.stage == "dest_transform"]["output.data.REVENUE"].dropna().tolist() == [9.5]


def test_the_pipeline_keeps_the_tables(workspace: Workspace) -> None:
    """Loaded rows can be queried; without stage 3 there are none; the schema is named after the source."""
    pipeline = Pipeline(workspace, exploring=True)
    pipeline.test_destination("wh", order("m1", revenue=9.5), stages=ALL)
    pipeline.test_source("web", order("m2", revenue=1.5), stages=ALL)
    pipeline.test_destination("wh", order("m3"))

    assert pipeline.warehouse("wh").sql("select sum(revenue) s from order_completed").s.tolist() == [11]
    assert pipeline.warehouse("wh").namespace == "WEB_SHOP"
    with pytest.raises(UnknownName, match="WEBHOOK"):
        pipeline.warehouse("hook")


def test_losses_are_warnings_in_the_result(workspace: Workspace) -> None:
    """From making rows, and with stage 3 from loading, with the event and field that cause them."""
    pipeline = Pipeline(workspace, exploring=True)
    pipeline.test_destination("wh", order("m1", price=5), stages=ALL)
    result = pipeline.test_destination("wh", order("m2", price="n/a", user_id="mine"), stages=ALL)
    losses = {(loss.path, loss.kind, loss.event_id) for loss in result.data[0].losses}

    assert losses == {("properties.user_id", "shadowed", "m2"), ("properties.price", "null", "m2")}
    assert "warning: properties.price:" in repr(result)
    assert "properties.user_id" in result._repr_mimebundle_()["text/html"]


def test_a_rejected_event_is_an_error_of_stage_2(workspace: Workspace) -> None:
    """No row is loaded."""
    result = Pipeline(workspace, exploring=True).test_destination("wh", {**order(), "context": "text"}, stages=ALL)

    assert "context" in result.data[0].error
    assert "Aborting" in str(result.data[0].destination_response)


def test_the_user_transformation_runs_first(workspace: Workspace) -> None:
    """Rows are made from its results, one set per event."""
    workspace.transformation("twice", lambda event: [event, {**event, "messageId": "m9", "event": "Copied"}])
    workspace.destination("wh").transformation = "twice"
    pipeline = Pipeline(workspace, exploring=True)
    pipeline.test_destination("wh", order(), stages=ALL)

    assert pipeline.warehouse("wh").sql("select event from tracks order by id").EVENT.tolist() == [
        "order_completed",
        "copied",
    ]


def test_the_data_plane_loads_events(plane: DataPlane) -> None:
    """Its tables, discards and Arrow; source and destination are in the context."""
    plane.send([order("m1", price=5), order("m2", price="n/a")], source="web")
    plane.drain()
    warehouse = plane.warehouse("wh")

    assert warehouse.sql("select price, context_source_id s from order_completed order by id").s.tolist() == [
        "web",
        "web",
    ]
    assert warehouse.tables().set_index("table")["rows"]["TRACKS"] == 2
    assert warehouse.discards().ROW_ID.tolist() == ["m2"]
    assert warehouse.arrow("select * from tracks").num_rows == 2
    assert [loss.kind for loss in warehouse.losses_of("m2")] == ["null"]
    assert {delivery.payload["table"] for delivery in plane.delivered} == {"TRACKS", "ORDER_COMPLETED"}


def test_rejected_events_fail_and_others_continue(plane: DataPlane) -> None:
    """The fate says why."""
    plane.send([{**order("m1"), "context": "text"}, order("m2")], source="web")
    plane.drain()

    assert plane.warehouse("wh").count("tracks") == 1
    assert next(fate.reason for fate in plane.fates if fate.status == "failed").startswith(
        "context: expected an object"
    )


def test_the_test_api_refuses_warehouses(plane: DataPlane) -> None:
    """As the hosted service does, with a text that says why."""
    body = {"message": order(), "stage": {"dest_transform": True}}
    answer = httpx.post(f"{plane.url}/v0/testDestination/wh", auth=LOGIN, json=body, timeout=60)
    by_source = httpx.post(f"{plane.url}/v0/testSource/web", auth=LOGIN, json=body, timeout=60)

    assert answer.status_code == 400
    assert "warehouse" in answer.json()["message"]
    assert "warehouse" in by_source.json()[0]["error"]


def test_tables_of_a_data_plane_survive_a_restart(workspace: Workspace, tmp_path: Path) -> None:
    """Including staged rows that were never queried, and after a line truncated by a kill."""
    for number in range(3):
        with DataPlane(workspace, store=tmp_path / "plane.db", listen=False) as plane:
            plane.send(order(f"m{number}", n=number), source="web")
            plane.drain()
        file = next((tmp_path / "plane.db-warehouses").iterdir())
        file.write_bytes(file.read_bytes() + b'{"source": "web", "eve')
    with DataPlane(workspace, store=tmp_path / "plane.db", listen=False) as plane:
        assert plane.warehouse("wh").sql("select n from order_completed order by n").N.tolist() == [0, 1, 2]


def test_a_full_disk_postpones_events(workspace: Workspace, tmp_path: Path) -> None:
    """Events that cannot be written stay pending, and are loaded later."""
    blocked = tmp_path / "plane.db-warehouses"
    blocked.write_text("in the way")
    with DataPlane(workspace, store=tmp_path / "plane.db", listen=False) as plane:
        plane.send(order(), source="web")
        plane.wait(lambda: any(fate.status == "pending" and fate.attempts for fate in plane.fates))
        blocked.unlink()
        plane.drain(120)

        assert plane.warehouse("wh").count("tracks") == 1


def test_secrets_of_the_configuration_are_masked(workspace: Workspace) -> None:
    """An event that contains one does not show it anywhere."""
    result = Pipeline(workspace, exploring=True).test_destination(
        "wh", order(user_id="s3cret-password", note="s3cret-password")
    )

    assert "s3cret-password" not in repr(result) + str(result._repr_mimebundle_()) + result.frame().to_json()


def test_tables_can_be_queried_while_events_arrive(plane: DataPlane) -> None:
    """From several threads: no query fails, and in the end every event is there once."""
    with ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(plane.send, [order(f"m{n}-{i}") for i in range(20)], source="web") for n in range(10)]
        counts = [plane.warehouse("wh").tables()["rows"].sum() for _ in range(5)]
        assert {answer.result().status for answer in sent} == {200}
    plane.drain(120)

    assert counts == sorted(counts)
    assert plane.warehouse("wh").sql("select count(distinct id) n, count(*) m from tracks").values.tolist() == [
        [200, 200]
    ]


def test_warehouse_settings_are_in_the_workspace_file(tmp_path: Path) -> None:
    """Merge rules, the maximum of columns, the rows to keep: in the pipeline, in the data plane, and after saving."""
    text = """
    sources: {web: {category: cloud, destinations: [wh]}}
    destinations: {wh: {type: BQ, config: {}}}
    warehouses: {idResolution: true, maxColumns: 20, rows: 2}
    """
    workspace = Workspace.loads(Workspace.loads(text).dumps())
    result = Pipeline(workspace, exploring=True).test_source("web", order(n=1))[0]
    wide = Pipeline(workspace, exploring=True).test_destination("wh", order(**{f"p{n}": n for n in range(20)}))
    with DataPlane(workspace, listen=False) as plane:
        for number in (1, 2, 3):
            event = {**order("m1", n=number), "receivedAt": f"2026-03-0{number}T00:00:00Z"}
            plane.send([event, {**event, "messageId": f"m{number + 1}"}], source="web")
        plane.drain()
        ids = plane.warehouse("wh").sql("select id from order_completed").id.tolist()

    assert "rudder_identity_merge_rules" in [row["table"] for row in result.data[0].payloads]
    assert "expected at most 20 columns" in wide.data[0].error
    assert workspace.source("web").category == "cloud"
    assert len(ids) == 2


def test_the_stored_tables_are_bounded(workspace: Workspace, tmp_path: Path) -> None:
    """The file of a warehouse has at most twice the rows to keep; the newest are there after a restart."""
    workspace.warehouses = WarehouseSettings(rows=4)
    with DataPlane(workspace, listen=False, store=tmp_path / "plane.db") as plane:
        plane.send([order(f"m{n}", n=n) for n in range(11)], source="web")
        plane.drain()
    (file,) = (tmp_path / "plane.db-warehouses").iterdir()
    with DataPlane(workspace, listen=False, store=tmp_path / "plane.db") as plane:
        kept = plane.warehouse("wh").sql("select n from order_completed order by n").N.tolist()

    assert 4 <= len(file.read_text().splitlines()) <= 8
    assert kept == [7, 8, 9, 10]
