"""The last stage of lineage: in which cells a simulated destination holds a value, or by which rule it loses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Pipeline, Workspace, events
from svctoolkit.cli import main
from svctoolkit.results.lineage import Cell

KEY = "s3cr3t-braze-key"
WORKSPACE = """
sources: {web: {destinations: [mp, br, hook]}}
destinations:
  mp: {type: MP, config: {token: t1, strictMode: true}}
  br: {type: BRAZE, config: {restApiKey: s3cr3t-braze-key, dataCenter: US-01}}
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example}}
"""


@pytest.fixture
def pipeline() -> Pipeline:
    return Pipeline(Workspace.loads(WORKSPACE), simulate="simulated")


def sample(name: str, **members: Any) -> dict[str, Any]:
    return {**events.sample(name), **members}


def test_a_value_is_followed_to_its_table_row_and_column(pipeline: Pipeline) -> None:
    """From the event and from the payload's field; each product is its own row."""
    lineage = pipeline.lineage("br", sample("order completed"))

    assert lineage.level == "simulated"
    assert lineage.held("properties.products.1.price") == (Cell("purchases", 2, "price"),)
    assert lineage.held("context.traits.plan") == (Cell("profiles", 1, "attributes.plan"),)
    assert Cell("profiles", 1, "ids.external_id") in lineage.held("userId")
    fields = {origin.field: origin.held for origin in lineage.fields}
    assert fields["body.JSON.purchases.0.time"] == (Cell("purchases", 1, "time"),)
    assert fields["headers.Authorization"] == fields["method"] == ()
    # Without a currency Braze refuses the purchase: its other cells are not where the currency is.
    assert {cell.column for cell in fields["body.JSON.purchases.0.currency"]} == {"currency"}
    assert "body.JSON.purchases.0.price <- properties.products.0.price, if event -> purchases 1: price" in str(lineage)
    assert lineage.event_frame().set_index("path").held["context.traits.plan"] == "profiles 1: attributes.plan"
    with pytest.raises(KeyError):
        lineage.held("properties.nothing")


def test_a_refused_event_is_lost_at_the_last_stage(pipeline: Pipeline) -> None:
    """Its fields are lost there by the rule, and one of them breaks it."""
    lineage = pipeline.lineage("mp", sample("track", userId="anonymous"))
    by_path = {destiny.path: destiny for destiny in lineage.event}

    assert [loss.rule for loss in lineage.losses] == ["mp.import.distinct_id"]
    assert [path for path, destiny in by_path.items() if destiny.breaks] == ["userId"]
    total = by_path["properties.total"]
    assert (total.lost_at, total.held) == ("held", ())
    assert total.fields  # it is in a payload
    assert "Mixpanel docs" in total.losses[0].source
    assert total in lineage.lost
    row = lineage.event_frame().set_index("path").loc["properties.total"]
    assert (row["rule"], "Mixpanel docs" in row["source"]) == ("mp.import.distinct_id", True)
    text = str(lineage)
    assert "some values are never accepted as distinct_id" in text
    assert text.endswith(", by userId")
    assert "mp.import.distinct_id" in lineage._repr_mimebundle_()["text/html"]


def test_a_cut_value_is_held_and_lost(pipeline: Pipeline) -> None:
    """The cell has what is left of it, and the rule says what is not."""
    lineage = pipeline.lineage("mp", sample("track", properties={"note": "n" * 300}))
    note = next(destiny for destiny in lineage.event if destiny.path == "properties.note")

    assert [loss.what for loss in note.losses] == ["cut"]
    assert (note.lost_at, note.held) == ("", (Cell("events", 1, "properties.note"),))
    assert note.breaks == (note.losses[0].rule,)


def test_without_simulation_there_is_no_last_stage(pipeline: Pipeline) -> None:
    """Values end in payloads; types without a simulation never have one."""
    for lineage in (
        Pipeline(pipeline.workspace).lineage("br", sample("track")),
        pipeline.lineage("br", sample("track"), simulate="answers"),
        pipeline.lineage("hook", sample("track")),
    ):
        assert (lineage.level, lineage.losses) == ("answers", ())
        assert not any(destiny.held or destiny.losses for destiny in lineage.event)


def test_lineage_leaves_the_state_alone(pipeline: Pipeline) -> None:
    """It measures with an account that holds nothing; what is held is unchanged, and does not matter."""
    event = sample("track")
    before = pipeline.lineage("br", event).event_frame()
    pipeline.test_destination("br", event, simulate="simulated")
    held = pipeline.simulation("br").held()

    assert pipeline.lineage("br", event).event_frame().equals(before)
    assert pipeline.simulation("br").held() == held


def test_a_lineage_of_many_events_has_any_row(pipeline: Pipeline) -> None:
    """Rows have no number, and each rule is named once."""
    lineage = pipeline.lineage("mp", [sample("track", userId=user) for user in ("anonymous", "ada")] * 2)

    assert [loss.rule for loss in lineage.losses] == ["mp.import.distinct_id"]
    orders = pipeline.lineage("br", [sample("order completed"), sample("order completed")])
    prices = next(destiny for destiny in orders.event if destiny.path == "properties.products.*.price")
    assert prices.held == (Cell("purchases", 0, "price"),)
    assert "purchases: price" in str(orders)


def test_secrets_are_masked(pipeline: Pipeline) -> None:
    """A key that an event contains by mistake is masked in cells and losses."""
    event = sample("identify", traits={"email": "a@shop.example", "note": KEY}, context={})
    event["traits"][KEY] = "x"
    lineage = pipeline.lineage("br", event)

    shown = f"{lineage!r}{lineage._repr_mimebundle_()}{lineage.event_frame().to_csv()}{lineage.frame().to_csv()}"
    assert KEY not in shown


def test_a_results_lineage_has_the_level_of_the_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In Python, and on the command line."""
    shop = Workspace.loads(WORKSPACE)
    result = Pipeline(shop).test_destination("mp", sample("track", userId="anonymous"), simulate="simulated")
    assert [loss.rule for loss in result.lineage().losses] == ["mp.import.distinct_id"]

    (tmp_path / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    (tmp_path / "event.json").write_text(json.dumps(sample("order completed")), encoding="utf-8")
    words = ["test", "destination", "br", "--workspace", str(tmp_path / "workspace.yaml")]
    assert main([*words, "--event", str(tmp_path / "event.json"), "--simulate", "--lineage"]) == 0
    assert "-> purchases 2: price" in capsys.readouterr().out


def test_the_page_shows_the_last_stage(pipeline: Pipeline) -> None:
    """The timeline names losses next to the fate; the lineage has cells."""
    with DataPlane(pipeline.workspace, simulate="simulated", listen=False) as plane:
        plane.send(sample("track", userId="anonymous"), source="web")
        plane.drain()
        headers = {"authorization": f"Bearer {plane.token}"}
        timeline = plane.ingest("GET", "/console/events/1", headers=headers).text
        lineages = {
            key: plane.ingest("GET", f"/console/events/1/lineage/{key}", headers=headers).text for key in ("br", "hook")
        }

    assert "some values are never accepted as distinct_id" in timeline
    assert "held as" in lineages["br"]
    assert "purchases 1: price" in lineages["br"]
    assert "held as" not in lineages["hook"]
