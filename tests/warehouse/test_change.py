"""Effects of a change on tables: replay, comparison, diff; and the database for dbt."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import svctoolkit.accessor  # noqa: F401 - `df.svc`
from svctoolkit import Workspace
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.pipeline import Stages
from svctoolkit.profile import profile
from svctoolkit.replay import compare, replay
from svctoolkit.warehouse import Warehouse, diff
from svctoolkit.warehouse.dbt import export
from tests.interrupts import ctrl_c_as_usual

EVENTS: list[dict[str, Any]] = [
    {"type": "track", "messageId": f"m{n}", "userId": "u1", "event": "Order Completed",
     "receivedAt": "2026-03-01T00:00:00Z", "properties": {"orderId": f"A-{n}", "price": n * 1.5 + 0.5, "user_id": "x"}}
    for n in range(4)
]  # fmt: skip


def workspace(**transformation: Any) -> Workspace:
    shop = Workspace("shop")
    shop.destination("wh", "POSTGRES", config={})
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    shop.source("web", destinations=["wh", "hook"])
    if transformation:
        shop.transformation("change", **transformation)
        shop.destination("wh").transformation = "change"
    return shop


def text_price(event: Any) -> Any:
    """The change: prices of some events become texts, and there is one more field."""
    properties = event["properties"]
    if properties["orderId"] == "A-2":
        properties = {**properties, "price": "n/a"}
    return {**event, "properties": {**properties, "currency": "EUR"}}


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_replay_has_rows_and_tables(workers: int) -> None:
    """Rows are stage 2, staged ones stage 3; the tables can be queried afterwards, whichever process made the rows."""
    result = replay(EVENTS, workspace(), stages=Stages(send_to_destination=True), workers=workers, destinations=["wh"])
    frame = result.frame()

    assert frame[frame.stage == "dest_transform"].output.map(json.loads).map(lambda row: row["table"]).nunique() == 2
    assert '"staged"' in frame[frame.stage == "send_to_destination"].output.iloc[0]
    assert result.warehouse("wh").sql("select sum(price) as s from order_completed").s.tolist() == [11]
    with pytest.raises(UnknownName, match="WEBHOOK"):
        result.warehouse("hook")


def test_losses_are_in_the_summary() -> None:
    """Grouped, with the number of events and an example."""
    result = replay(EVENTS, workspace(), destinations=["wh"])

    (group,) = result.groups
    assert (group.kind, group.path, group.count) == ("lossy", "properties.user_id", 4)
    assert "properties.user_id shadowed in 4 events" in repr(result)
    assert "properties.user_id" in result.to_html()


def test_frames_can_be_run_through_warehouses() -> None:
    """`df.svc.run` gives rows per table."""
    frame = pd.DataFrame([{"type": "track", "event": "Signed Up", "userId": "u1", "properties.plan": "pro"}])
    result = frame.svc.run("SNOWFLAKE")

    assert result["output.table"].dropna().tolist() == ["TRACKS", "SIGNED_UP"]
    assert result["output.data.PLAN"].dropna().tolist() == ["pro"]


def test_a_comparison_reports_changed_tables() -> None:
    """New columns, type conflicts with both events, discards, changed rows with samples."""
    result = compare(EVENTS, workspace(), workspace(function=text_price), destinations=["wh"])
    change = result.warehouse("wh")
    orders = next(table for table in change.tables if table.table == "order_completed")

    assert result.kinds["changed"] == 4
    assert [(c.column, c.change, c.after) for c in change.columns] == [("currency", "new", "text")]
    assert [(c.column, c.type, c.made_by.event_id, c.first.event_id) for c in change.conflicts] == [
        ("price", "string", "m0", "m2")
    ]
    assert change.discards == (0, 1)
    assert (orders.before, orders.after, orders.changed) == (4, 4, 1)
    assert orders.samples == [{"id": "m2", "price": ("3.5", None)}]
    assert not change.same
    for text in (repr(change), change._repr_mimebundle_()["text/html"]):
        assert "currency" in text
        assert "m2" in text


def test_equal_tables_have_no_differences() -> None:
    """Neither with itself, nor with a provider whose names differ only in case, except for types."""
    assert compare(EVENTS, workspace(), workspace(), destinations=["wh"]).warehouse("wh").same

    one, two = Warehouse("POSTGRES"), Warehouse("SNOWFLAKE")
    one.load(EVENTS)
    two.load(EVENTS)
    change = diff(one, two)
    assert {c.change for c in change.columns} == {"type"}
    assert not any(table.differs for table in change.tables)


def test_one_pass_inputs_cannot_be_compared_in_tables() -> None:
    """The error says what to pass instead."""
    result = compare(iter(EVENTS), workspace(), workspace(), destinations=["wh"])

    with pytest.raises(ConfigError, match="only once"):
        result.warehouse("wh")


def test_missing_tables_and_rows_are_reported() -> None:
    """All rows of a table that exists on one side only are listed."""
    one, two = Warehouse("POSTGRES"), Warehouse("POSTGRES")
    one.load(EVENTS[:3])
    two.load([*EVENTS[1:], {**EVENTS[0], "event": "Renamed", "messageId": "r"}])
    rows = {t.table: (t.only_before, t.only_after) for t in diff(one, two).tables}

    assert rows == {"order_completed": (1, 1), "renamed": (0, 1), "tracks": (1, 2)}


def test_an_export_for_dbt_is_complete(tmp_path: Path) -> None:
    """Database, profile, sources and a project; a second export does not change the project."""
    one, two = Warehouse("POSTGRES", name="shop"), Warehouse("SNOWFLAKE", name="other shop")
    for warehouse in (one, two):
        warehouse.load(EVENTS)
    export({"wh": one, "flake": two}, tmp_path)
    (tmp_path / "dbt_project.yml").write_text("mine")
    export({"wh": one, "flake": two}, tmp_path)

    with duckdb.connect(str(tmp_path / "warehouse.duckdb"), read_only=True) as database:
        names = database.execute("select schema_name, count(*) from duckdb_tables() group by 1 order by 1").fetchall()
    sources = (tmp_path / "models" / "sources.yml").read_text()
    assert names == [("OTHER_SHOP", 3), ("shop", 3)]
    assert 'schema: "OTHER_SHOP"' in sources
    assert 'data_type: "double precision"' in sources
    assert 'description: "from properties.price"' in sources
    assert (tmp_path / "dbt_project.yml").read_text() == "mine"


def test_the_command_reports_tables_and_losses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And it writes the files."""
    workspace().save(tmp_path / "workspace.yaml")
    events = tmp_path / "events.ndjson"
    events.write_text("".join(json.dumps(event) + "\n" for event in [*EVENTS, {**EVENTS[0], "messageId": "bad",
                      "properties": {"price": "n/a"}}]))  # fmt: skip
    options = ["--workspace", str(tmp_path / "workspace.yaml"), "--events", str(events)]

    assert main(["warehouse", "export", str(tmp_path / "dbt"), *options]) == 0
    shown = capsys.readouterr().out
    assert "order_completed 5" in shown
    assert "warning: order_completed.price: 1 null" in shown
    assert (tmp_path / "dbt" / "warehouse.duckdb").exists()
    assert main(["warehouse", "export", str(tmp_path / "dbt")]) == 4


def interrupt(event: Any) -> Any:
    """Ctrl-C while the third event is under way."""
    if event["messageId"] == "m2":
        signal.raise_signal(signal.SIGINT)
    return event


@pytest.mark.parametrize(
    "ask",
    [
        lambda shop: compare(EVENTS, workspace(), shop).warehouse("wh"),
        lambda shop: pd.DataFrame({"event": EVENTS}).svc.run("wh", workspace=shop),
        lambda shop: profile(EVENTS, shop),
    ],
    ids=["compare", "accessor", "profile"],
)
def test_an_interrupted_run_that_needs_all_events_gives_no_result(ask: Callable[[Workspace], object]) -> None:
    """A partial result could be mistaken for the complete one."""
    with ctrl_c_as_usual(), pytest.raises(KeyboardInterrupt):
        ask(workspace(function=interrupt))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes as files")
def test_ctrl_c_keeps_the_previous_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """During the events: status 2, and the earlier database remains."""
    workspace().save(tmp_path / "workspace.yaml")
    events, database = tmp_path / "events.ndjson", tmp_path / "dbt" / "warehouse.duckdb"
    command = ["warehouse", "export", str(database.parent), "--workspace", str(tmp_path / "workspace.yaml"), "--events"]
    events.write_text(json.dumps(EVENTS[0]) + "\n")
    assert main([*command, str(events)]) == 0
    before = database.read_bytes()
    os.mkfifo(tmp_path / "more.ndjson")

    def write() -> None:
        with (tmp_path / "more.ndjson").open("w") as pipe:  # waits for the reader
            pipe.write((json.dumps(EVENTS[1]) + "\n") * 20_000)  # more than a pipe holds: the reader is running
            pipe.flush()
            os.kill(os.getpid(), signal.SIGINT)

    writer = threading.Thread(target=write)
    writer.start()
    with ctrl_c_as_usual():
        assert main([*command, str(tmp_path / "more.ndjson")]) == 2
    writer.join()
    assert capsys.readouterr().err.endswith("svctoolkit: interrupted\n")
    assert database.read_bytes() == before
    assert sorted(path.name for path in database.parent.iterdir()) == [
        "dbt_project.yml", "models", "profiles.yml", "warehouse.duckdb",
    ]  # fmt: skip


@pytest.mark.slow
def test_dbt_builds_models_on_recorded_events(tmp_path: Path) -> None:
    """`dbt build` offline: a model on an exported source, with one test that passes and one that fails as it should."""
    dbt = _dbt(tmp_path)
    warehouse = Warehouse("POSTGRES", name="shop")
    warehouse.load(EVENTS)
    folder = tmp_path / "project"
    export({"wh": warehouse}, folder)
    (folder / "models" / "revenue.sql").write_text(
        "select user_id, sum(price) as revenue from {{ source('wh', 'order_completed') }} group by 1"
    )
    (folder / "models" / "revenue.yml").write_text(
        "version: 2\nmodels:\n  - name: revenue\n    columns:\n"
        "      - {name: user_id, data_tests: [unique, not_null]}\n"
        "      - {name: revenue, data_tests: [{accepted_values: {arguments: {values: [1]}}}]}\n"
    )
    command = [str(dbt), "build", "--profiles-dir", ".", "--no-use-colors"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)

    assert "PASS=3" in result.stdout, result.stdout + result.stderr
    assert "ERROR=1" in result.stdout, result.stdout
    with duckdb.connect(str(folder / "warehouse.duckdb"), read_only=True) as database:
        assert database.execute("select * from models.revenue").fetchall() == [("u1", 11.0)]


def _dbt(tmp_path: Path) -> Path:
    """The command, installed into a separate environment."""
    python = tmp_path / "venv" / "bin" / "python"
    uv = pytest.importorskip("uv").find_uv_bin()  # pip takes five times as long
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, tmp_path / "venv"], check=True)
    packages = ["dbt-core>=1.10,<1.11", "dbt-duckdb>=1.10,<1.11"]
    install = subprocess.run(
        [uv, "pip", "install", "-q", "--python", python, *packages], capture_output=True, text=True
    )
    if install.returncode or shutil.which("dbt", path=str(python.parent)) is None:
        pytest.skip(f"dbt cannot be installed here: {install.stderr.strip().splitlines()[-1:]}")
    return python.parent / "dbt"
