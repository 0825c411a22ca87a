"""Every public object has an HTML display without scripts and a clean text form, and never shows a secret."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import svctoolkit
from svctoolkit import (
    CATALOGUE,
    DataPlane,
    Pipeline,
    Recorder,
    Secret,
    ServiceClient,
    TestApiClient,
    Workspace,
    errors,
    events,
)
from svctoolkit.delivery import Answer, HttpRequest, HttpResponse
from svctoolkit.destinations import definitions
from svctoolkit.pipeline import Stages
from svctoolkit.replay import compare, replay
from svctoolkit.results import SourceResult
from svctoolkit.results.changes import Diff, changes
from svctoolkit.runner import attempt, open_planes, run, suite_of
from tests.notebooks.controls import words
from tests.notebooks.scripts import without_tools

TOKEN = "s3cr3t-t0ken"
STAGES = Stages(send_to_destination=True)


def shop() -> Workspace:
    workspace = Workspace("shop")
    workspace.transformation("clean", code="def transformEvent(event, metadata):\n    log('seen')\n    return event\n")
    headers = [{"from": "x-key", "to": Secret(TOKEN)}, {"from": "authorization", "to": TOKEN}]
    config = {"webhookUrl": f"https://hook.example/in?key={TOKEN}", "headers": headers}
    workspace.destination("hook", "WEBHOOK", name="Orders <hook>", config=config, transformation="clean")
    workspace.destination("spare", "WEBHOOK", enabled=False, config={"webhookUrl": "https://spare.example"})
    workspace.source("web", destinations=["hook", "spare"], write_key=TOKEN)
    return workspace


@pytest.fixture(scope="module")
def plane() -> Iterator[DataPlane]:
    with DataPlane(shop(), listen=False) as made:
        made.send(events.sample("track"), source="web")
        made.ingest("POST", "/v1/track", headers={"authorization": "Basic bm9ib2R5Og=="}, body=b"{}")
        made.drain()
        yield made


def of_the_pipeline() -> dict[str, Any]:
    workspace = shop()
    pipeline = Pipeline(workspace)
    result = pipeline.test_destination("hook", events.sample("track"), stages=STAGES)
    return {
        "Workspace": workspace,
        "Source": workspace.source("web"),
        "Destination": workspace.destination("hook"),
        "Transformation": workspace.transformation("clean"),
        "Output": workspace.transformation("clean").run(events.sample("track")),
        "Pipeline": pipeline,
        "DestinationResult": result,
        "EventResult": result.data[0],
        "SourceResult": pipeline.test_source("web", events.sample("page"), stages=STAGES),
        "HttpRequest": result.data[0].requests[0],
        "Recorder": pipeline.recorder,
        "Recorded": pipeline.recorder.requests[0],
    }


def of_the_catalogue() -> dict[str, Any]:
    return {
        "CATALOGUE": CATALOGUE,
        "DestinationType": CATALOGUE["WEBHOOK"],
        "Definition": definitions.get("WEBHOOK"),
        "Event": events.Event(events.sample("identify")),
        "Secret": Secret(TOKEN),
        "ToolkitError": errors.ConfigError("unknown destination <b>x</b>"),
        "HttpResponse": HttpResponse(200, {"set-cookie": TOKEN}, b"body"),
        "empty Recorder": Recorder(),
        "Change": next(changes({"a": 1}, {"a": 2})),
        "Diff": Diff({"a": 1}, {"a": 2}),
    }


def of_replays() -> dict[str, Any]:
    workspace, other = shop(), shop()
    other.destination("hook").config["webhookMethod"] = "PUT"
    sample = [events.sample("track")]
    return {"Replayed": replay(sample, workspace), "Comparison": compare(sample, workspace, other)}


def of_suites() -> dict[str, Any]:
    event = {"type": "track", "event": "E", "userId": TOKEN}
    good = {"name": "good", "destination": "hook", "event": event, "expect": {"dest_transform": {"method": "POST"}}}
    bad = {**good, "name": "bad", "expect": {"dest_transform": {"headers": {"x-key": "other"}}}}
    suite = suite_of({"version": 1, "scenarios": [good, bad]}, shop())
    with open_planes(limit=60) as planes:
        notices = list(run(suite.scenarios, planes, coverage=True))
        outcome = attempt(suite.scenarios[1], planes)
    return {
        "Suite": suite,
        "Scenario": suite.scenarios[0],
        "Outcome": notices[1],
        "failed Outcome": outcome,
        "Coverage": notices[-2].coverage,
        "Finished": notices[-1],
    }


def of_the_plane(plane: DataPlane) -> dict[str, Any]:
    return {
        "DataPlane": plane,
        "View": plane.of_run("nothing"),
        "Rows of Received": plane.received,
        "Rows of Rejected": plane.rejected,
        "Rows of Delivery": plane.deliveries,
        "Rows of Fate": plane.fates,
        "no Rows": plane.of_run("nothing").received,
        "Received": plane.received[0],
        "Rejected": plane.rejected[0],
        "Delivery": plane.deliveries[0],
        "Fate": plane.fates[0],
    }


def of_clients() -> dict[str, Any]:
    client = ServiceClient(data_directory=":memory:")
    return {
        "ServiceClient": client,
        "Stats": client.stats(),
        "TestApiClient": TestApiClient("https://api.example", "dev@shop.example", TOKEN),
    }


def checked(name: str, shown: Any) -> None:
    bundle = shown._repr_mimebundle_()
    assert {"text/plain", "text/html"} == set(bundle), name
    html, text = bundle["text/html"], bundle["text/plain"]
    assert type(html) is str, f"{name}: marimo shows no subclass of str"
    whole, html = html, without_tools(html)
    assert (whole != html) == (html.count("<li>") >= 8 and 'class="tree"' in html), name
    assert "<script" not in html.lower(), name
    assert not re.search(r"\son\w+\s*=", re.sub(r"<style>.*?</style>", "", html)), name
    assert TOKEN not in html + text + repr(shown), name
    assert " object at 0x" not in text, name
    assert "<p" not in text, name


@pytest.mark.parametrize("make", [of_the_pipeline, of_the_catalogue, of_replays, of_suites, of_clients])
def test_displays_of_objects_contain_no_secret(make: Any) -> None:
    """HTML without handlers or scripts except for tree tools; a text without a memory address; no secret in either."""
    for name, shown in make().items():
        checked(name, shown)


def test_displays_of_a_data_plane_contain_no_secret(plane: DataPlane) -> None:
    """What was received, rejected and delivered, and the outcomes."""
    for name, shown in of_the_plane(plane).items():
        checked(name, shown)


def test_every_exported_class_has_a_display() -> None:
    """Classes and objects that `svctoolkit` exports have one; functions, modules and texts need none."""
    exported = {name: getattr(svctoolkit, name) for name in svctoolkit.__all__}
    needed = {name: o for name, o in exported.items() if not (inspect.isroutine(o) or inspect.ismodule(o))}

    assert [n for n, o in needed.items() if not isinstance(o, str) and not hasattr(o, "_repr_mimebundle_")] == []


def test_a_result_shows_stages_payloads_and_requests() -> None:
    """The three stages with status and time, the payload as a tree, the request with its answer, the log."""
    html = of_the_pipeline()["DestinationResult"]._repr_mimebundle_()["text/html"]

    assert re.findall(r"<b>(\w+)</b> <span class=\"pill ok\">", html) == list(Stages.__slots__)
    assert all(word in html for word in ("HTTP 200", "x-key", "••••", "info: seen", "Orders &lt;hook&gt;"))


def test_results_of_many_destinations_are_one_table() -> None:
    """One row each: the outcome, its requests, and the reason; every row opens to its stages."""
    workspace = shop()
    workspace.transformation("lossy", code="def transformEvent(event, metadata):\n    return None\n")
    workspace.transformation("broken", code=f"def transformEvent(event, metadata):\n    raise ValueError('{TOKEN}')\n")
    config = {"webhookUrl": "https://hook.example", "headers": [{"from": "authorization", "to": TOKEN}]}
    for key in ("lossy", "broken"):
        workspace.destination(key, "WEBHOOK", config=config, transformation=key)
    workspace.destination("full", "WEBHOOK", config={"webhookUrl": "https://full.example"})
    workspace.source("all", destinations=["hook", "spare", "lossy", "broken", "full"])
    recorder = Recorder()
    recorder.answer("https://full.example", Answer(507, body={"error": "no space"}))
    result = Pipeline(workspace, transport=recorder).test_source("all", events.sample("track"), stages=STAGES)
    html = result._repr_mimebundle_()["text/html"]

    assert "5 destinations: 2 failed, 1 dropped, 1 disabled, 1 delivered" in html
    rows = [words(row) for row in re.findall(r"<tr>(?!<th)(.*?)</tr><tr class=\"inside\">", html)]
    assert rows == [
        "Orders <hook> WEBHOOK ✓ delivered 1: HTTP 200",
        "spare disabled Destination with id spare is disabled",
        "lossy WEBHOOK ⚠ dropped user_transform: event dropped by user_transformation",
        "broken WEBHOOK ✗ failed user_transform: ValueError: •••• (broken.py:2:5)",
        'full WEBHOOK ✗ failed 1: HTTP 507 send_to_destination: HTTP 507: {"error": "no space"}',
    ]
    assert html.count('<tr class="inside"><td colspan="4"><details><summary>') == 5
    assert html.count('class="strip"') == 4
    assert TOKEN not in html


def test_results_of_many_events_name_the_event() -> None:
    """If a destination occurs several times, each row has its event."""
    pipeline = Pipeline(shop())
    results = [pipeline.test_destination("hook", events.sample(name), stages=STAGES) for name in ("track", "page")]
    html = SourceResult(results)._repr_mimebundle_()["text/html"]

    assert "2 results: 2 delivered" in html
    assert "<td>track Order Completed</td>" in html


def test_a_disabled_stage_is_shown() -> None:
    """All three stages are in the strip."""
    result = Pipeline(shop()).test_destination("hook", events.sample("track"), stages=Stages.of("dest_transform"))

    assert result._repr_mimebundle_()["text/html"].count("this stage is off") == 2


def test_a_workspace_has_a_labelled_picture_and_a_table() -> None:
    """The picture has a title and a description for screen readers; without pictures there is the table."""
    html = shop()._repr_mimebundle_()["text/html"]

    assert re.search(r'<svg [^>]*role="img"[^>]*aria-label="Workspace shop: 1 source, 2 destinations', html)
    assert (
        "<title>Workspace shop</title>: <desc>1 source, 2 destinations; the table below shows the same</desc>" in html
    )
    assert html.count('class="edge') == 3
    assert html.count("<tr>") == 3
    assert "spare" in html[html.index("<table") :]


def test_a_large_workspace_has_only_the_table() -> None:
    """A picture of 100 destinations would be unreadable."""
    workspace = Workspace("large")
    for number in range(100):
        workspace.destination(f"d{number}", "WEBHOOK", config={"webhookUrl": "https://hook.example"})

    html = workspace._repr_mimebundle_()["text/html"]
    assert "<svg" not in html
    assert html.count("<tr>") == 101


def test_a_recorder_without_a_workspace_masks_credentials() -> None:
    """It knows no secrets, but it recognizes an Authorization header."""
    recorder = Recorder()
    recorder.answer("*", Answer(200))
    recorder(HttpRequest("POST", "https://x.example/a?api_key=k", {"Authorization": "Bearer abcdef"}), timeout=1)
    html = recorder._repr_mimebundle_()["text/html"] + repr(recorder.requests)

    assert "abcdef" not in html
    assert "api_key=k" not in repr(recorder.requests)


def test_a_thousand_results_are_shown_in_part() -> None:
    """The first ones, and the number left out."""
    workspace = shop()
    source = workspace.source("all", destinations=[])
    for number in range(200):
        key = workspace.destination(f"d{number}", "WEBHOOK", config={"webhookUrl": "https://hook.example"}).key
        source.connections.append(type(workspace.source("web").connections[0])(key))

    html = Pipeline(workspace).test_source("all", events.sample("page"))._repr_mimebundle_()["text/html"]
    assert "150 more destinations are not shown" in html


def test_displays_are_imported_lazily() -> None:
    """Neither the front door nor the stages load what only notebooks need."""
    code = (
        "import sys, svctoolkit.pipeline, svctoolkit.server, svctoolkit.sdk; "
        "names = (['svctoolkit', 'display'], ['ipywidgets']);"
        "print([m for m in sys.modules if m.endswith('_display') or m.split('.')[:2] in names])"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert out.strip() == "[]"
