"""Results as the specified JSON, as frames, text and HTML."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from svctoolkit import Pipeline, Secret, Workspace, events, frame
from svctoolkit.pipeline import Stages
from svctoolkit.results import DestinationResult, EventResult, SourceResult, flatten
from tests.notebooks.scripts import without_tools
from tests.pace import within

ALL = Stages(send_to_destination=True)
TOKEN = "tok-5ecret-9"


def run(event: dict[str, Any] | None = None, **config: Any) -> SourceResult:
    workspace = Workspace("shop")
    workspace.transformation("twice", lambda e: [e, {**e, "event": "Copy"}])
    headers = [{"from": "Authorization", "to": Secret(f"Bearer {TOKEN}")}]
    workspace.destination(
        "hook", "WEBHOOK", name="Orders <hook>", config={"webhookUrl": "https://hook.example/in", "headers": headers}
    )
    workspace.destination("twice", "WEBHOOK", config={"webhookUrl": "https://b.example"}, transformation="twice")
    workspace.destination("off", "WEBHOOK", config={"webhookUrl": "https://c.example"}, enabled=False)
    workspace.source("web", destinations=["hook", "twice", "off"])
    return Pipeline(workspace).test_source("web", event or events.sample("track"), stages=ALL)


def test_a_result_survives_json() -> None:
    """The answer of a remote Test API becomes the same object."""
    event = events.sample("track")
    for result in run(event):
        again = DestinationResult.from_dict(result.to_dict(), event)

        assert again.to_dict() == result.to_dict()
        assert again.ok == result.ok


def test_fields_are_in_the_specified_order() -> None:
    """`destinationId`, `destination`, `destinationName`, `data`; a disabled destination has three fields."""
    first, _, off = run().to_dict()

    assert list(first) == ["destinationId", "destination", "destinationName", "data"]
    assert list(off) == ["destinationId", "destinationName", "error"]


def test_a_frame_has_one_row_per_event_destination_and_stage() -> None:
    """Three for the first destination, six for one whose transformation doubles events, one for the disabled one."""
    table = run().frame()

    counts = table.groupby("destination_id", sort=False).size().to_dict()
    assert counts == {"hook": 3, "twice": 6, "off": 1}
    assert table["status"].tolist()[:4] == ["none", "ok", "ok", "ok"]
    assert table["status"].iloc[-1] == "disabled"
    assert table.loc[2, "http_status"] == 200


def test_a_frame_is_flat_and_typed() -> None:
    """Dotted names of the outputs, nullable dtypes, categories for stage and status."""
    table = run().frame()

    assert table["output.body.JSON.properties.revenue"].dtype == pd.Float64Dtype()
    assert isinstance(table["status"].dtype, pd.CategoricalDtype)
    assert isinstance(table["output.endpoint"].dtype, pd.StringDtype)
    assert [c for c in table if isinstance(table[c].dropna().head(1).squeeze(), dict)] == []


def test_dots_in_keys_are_distinguished() -> None:
    """`{"a.b": 1}` and `{"a": {"b": 2}}` are two columns; huge integers and mixed values are kept."""
    event = {"type": "track", "properties": {"a.b": 1, "a": {"b": 2}, "big": 10**30, "mixed": [1, "x"]}}
    workspace = Workspace()
    workspace.transformation("same", lambda e: e)
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://b.example"}, transformation="same")
    table = Pipeline(workspace).test_destination("hook", event).frame()

    row = table.iloc[0]
    assert (row[r"output.properties.a\.b"], row["output.properties.a.b"]) == (1, 2)
    assert (row["output.properties.big"], row["output.properties.mixed"]) == (10**30, [1, "x"])


def test_texts_in_a_frame_have_no_half_of_a_character() -> None:
    """Whatever stores texts in this version of pandas: Jupyter cannot show a frame with a half."""
    frame = flatten([{"cut": "Nice \ud83d"}, {"cut": "Nice 😀"}])

    assert frame["cut"].tolist() == ["Nice ?", "Nice 😀"]
    assert "Nice ?" in frame.to_html()


def test_no_results_are_an_empty_frame() -> None:
    """It has all columns."""
    table = frame([])

    assert (len(table), "status" in table) == (0, True)


def test_ten_thousand_results_are_a_frame_in_a_second() -> None:
    """Sample events through one stage, CPU time; pandas is imported before the clock starts."""
    event = events.sample("track")
    results = [DestinationResult("d", "D", "WEBHOOK", [EventResult(event, event)]) for _ in range(10_000)]
    frame(results[:1])
    with within(1):
        table = frame(results)

    assert len(table) == 10_000


@pytest.mark.parametrize("view", [repr, lambda r: r._repr_mimebundle_()["text/html"], lambda r: r.frame().to_csv()])
def test_no_display_shows_a_secret(view: Any) -> None:
    """Neither text, nor HTML, nor frame; the payload itself contains it, because it is sent."""
    result = run()

    assert TOKEN not in view(result)
    assert TOKEN in str(result.to_dict())
    assert TOKEN not in str(result.to_masked_dict())


def test_html_escapes_outside_values() -> None:
    """Names, errors and payloads of users are text, not markup."""
    html = run({"type": "track", "event": "<script>alert(1)</script>"})._repr_mimebundle_()["text/html"]

    assert "<script" not in without_tools(html)
    assert "Orders &lt;hook&gt;" in html


def test_text_describes_each_stage() -> None:
    """One line per stage: status, time and result."""
    lines = repr(run()[0]).splitlines()

    assert lines[0] == "Orders <hook> (WEBHOOK)"
    assert [line.split()[:2] for line in lines[1:]] == [
        ["user_transform", "none"],
        ["dest_transform", "ok"],
        ["send_to_destination", "ok"],
    ]


def test_an_event_with_an_error_field_is_not_an_error() -> None:
    """Only `{"error": text}` alone is the stage's error."""
    entry = EventResult({}, {"error": "E42", "type": "track"})

    assert entry.error == ""
