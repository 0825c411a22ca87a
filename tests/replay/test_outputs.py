"""Compares two outputs: of two runs, two machines, two versions, or payloads from production."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.replay import compare, replay
from tests.replay.shops import ndjson, order, orders, revenue_as_text, shop
from tests.replay.test_cli_replay import project
from tests.replay.test_review import keep, worse

__all__ = ["project"]  # a fixture
DAY = [{**order(n), "context": {"library": {"name": "lib", "version": "1.0"}}} for n in range(30)]


@pytest.mark.parametrize("form", ["results", "folders", "frames"])
def test_two_outputs_differ_as_their_workspaces(form: str, tmp_path: Path) -> None:
    """Fates, groups and rows equal those of a comparison that runs the events."""

    def output(name: str, code: Callable[..., Any]) -> Any:
        folder = tmp_path / name if form == "folders" else None
        result = replay(DAY, shop(code), out=folder)
        return {"results": result, "folders": folder, "frames": None}[form] or result.frame()

    before, after = output("a", keep), output("b", worse)
    whole, result = compare(DAY, shop(keep), shop(worse)), compare(before, after)

    assert result.kinds == whole.kinds
    assert (result.events, result.different) == (30, 9)
    assert {(g.kind, g.path, g.count) for g in result.groups} == {(g.kind, g.path, g.count) for g in whole.groups}
    assert sorted(result.frame().kind) == sorted(whole.frame().kind)
    assert compare(before, before).kinds["same"] == 30
    assert compare(before, after, ignore="**.library").kinds["changed"] == 3


def test_events_in_only_one_output_are_reported() -> None:
    """Events are not paired by position: one additional event is one difference."""
    day = orders(5)
    less, more = (replay(events, shop()) for events in (day, [order(9), *day]))

    assert compare(less, more).kinds == {**compare(less, less).kinds, "newly delivered": 1}
    assert compare(more, less).kinds["newly dropped"] == 1


def test_repeated_ids_are_paired_in_order() -> None:
    """Events with the same id are paired in their order."""
    first = order(1)
    second, other = ({**first, "properties": {"note": note}} for note in ("second", "other"))
    result = compare(replay([first, second], shop()), replay([first, other], shop()))

    assert (result.kinds["same"], result.kinds["changed"]) == (1, 1)
    assert [group.path for group in result.groups] == ["body.JSON.properties.note"]


def test_payloads_are_compared_with_production() -> None:
    """A frame with an id, a destination and the payload is enough; two requests of one event belong together."""
    ours = replay(orders(3), shop(lambda e: [e, {**e, "event": "Copy"}]))
    frame = ours.frame()
    sent = frame[frame.stage == "dest_transform"][["event_id", "destination_id", "output"]].reset_index(drop=True)
    payload = json.loads(sent.output[0])
    payload["headers"]["x-version"] = "1"
    recorded = pd.DataFrame({**sent, "output": [json.dumps(payload), *sent.output[1:]]})
    result = compare(recorded, ours, ignore=["headers.accept"])

    assert (result.kinds["same"], result.kinds["changed"]) == (2, 1)
    assert [(g.path, g.before, g.after) for g in result.groups] == [("headers.x-version", "text", "nothing")]


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (("/nowhere", "/nowhere"), "contains no replay rows"),
        ((pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]})), "column 'event_id' is missing"),
        (([1], [2]), "an output is the result of a replay"),
        ((replay(orders(1), shop(), rows=False), replay(orders(1), shop())), "were not kept"),
    ],
)
def test_an_invalid_output_is_an_error(outputs: tuple[Any, Any], said: str) -> None:
    """The error says what to pass instead."""
    with pytest.raises(ConfigError, match=said):
        compare(*outputs)


def test_two_folders_are_compared_on_the_command_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output of another interpreter is compared with that of this one."""
    assert main(["replay", "events.ndjson", "--out", "old"]) == 0
    events = [json.loads(line) for line in (project / "events.ndjson").read_text().splitlines()]
    ndjson(project / "events.ndjson", [*events[:4], {**events[4], "more": 1}])
    assert main(["replay", "events.ndjson", "--out", "new"]) == 0
    capsys.readouterr()

    assert main(["replay", "--outputs", "old", "new", "--fail-on", "changed>1"]) == 0
    assert main(["replay", "--outputs", "old", "new", "--fail-on", "any"]) == 1
    assert "body.JSON.more: nothing -> number in 1 event" in capsys.readouterr().out
    assert main(["replay", "--outputs", "old"]) == 4


def test_a_result_converts_to_arrow_and_duckdb(tmp_path: Path) -> None:
    """The same rows from memory and from a folder; other tables in the database are kept."""
    import duckdb
    import pyarrow as pa

    file = tmp_path / "replay.duckdb"
    with duckdb.connect(str(file)) as database:
        database.execute("CREATE TABLE mine AS SELECT 1 AS n")
    events = [*orders(3), {"type": "purchase"}]
    for result in (replay(events, shop()), replay(events, shop(), out=tmp_path / "out")):
        result.to_duckdb(file)
        with duckdb.connect(str(file)) as database:
            ids = database.sql("SELECT event_id FROM replay_rows WHERE stage = 'dest_transform'").fetchall()
            counts = database.sql("SELECT destination, fate, events FROM replay_counts").fetchall()
            rejects = database.sql("SELECT place FROM replay_rejects").fetchall()
            assert database.sql("SELECT n FROM mine").fetchall() == [(1,)]
        assert ids == [("m0",), ("m1",), ("m2",)]
        assert (counts, rejects) == ([("hook", "delivered", 3)], [("[3]",)])
        assert pa.table(result).equals(result.to_arrow())
        assert result.to_arrow().column("event_id").to_pylist() == list(result.frame().event_id)
        assert duckdb.sql("SELECT count(*) FROM result").fetchall() == [(6,)]
    difference = compare(events, shop(), shop(revenue_as_text))
    difference.to_duckdb(file)
    with duckdb.connect(str(file)) as database:
        assert database.sql("SELECT DISTINCT kind FROM replay_rows").fetchall() == [("changed",)]
        assert database.sql("SELECT path, count FROM replay_groups").fetchall() == [("body.JSON.properties.revenue", 3)]
    with pytest.raises(ConfigError, match="cannot be written"):
        difference.to_duckdb(file / "x.duckdb")
    difference.to_duckdb(tmp_path / "new" / "x.duckdb")
    assert (tmp_path / "new" / "x.duckdb").exists()
    with pytest.raises(ConfigError, match="were not kept"):
        replay(events, shop(), rows=False).to_duckdb(file)
