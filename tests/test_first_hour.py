"""Mistakes and plain inputs of the first hour: each gets a result, or a message that helps."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import svctoolkit
from svctoolkit import ToolkitError, Workspace, record, runner
from svctoolkit.cli import main
from svctoolkit.errors import InvalidCall
from svctoolkit.runner.coverage.collector import _event_names
from svctoolkit.server import running
from svctoolkit.workspace import Person

PLAIN = {"type": "track", "event": "Order Completed", "userId": "u1", "properties": {"revenue": 12.5}}
WORKSPACE = """
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/}}}
sources: {web: {destinations: [hook]}}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    (tmp_path / "plain.json").write_text(json.dumps(PLAIN))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_plain_event_is_completed_as_an_sdk_and_the_gateway_do(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And `test` says what it added; members that the event has are kept; `--as-is` and `--json` add nothing."""
    (shop / "plain.json").write_text(json.dumps({**PLAIN, "anonymousId": "a1", "timestamp": "2026-01-01T10:00:00Z"}))

    assert main(["test", "destination", "hook", "--event", "plain.json"]) == 0
    completed = capsys.readouterr()
    assert main(["test", "destination", "hook", "--event", "plain.json", "--as-is"]) == 0
    plain = capsys.readouterr()
    assert main(["test", "destination", "hook", "--event", "plain.json", "--json"]) == 0
    as_json: dict[str, Any] = json.loads(capsys.readouterr().out)

    for member in ("messageId", "originalTimestamp", "sentAt", "receivedAt", "rudderId"):
        assert f'"{member}"' in completed.out
        assert f'"{member}"' not in plain.out
        assert member not in as_json["data"][0]["dest_transformed_payload"][0]["body"]["JSON"]
    assert '"anonymousId": "a1"' in completed.out
    assert '"timestamp": "2026-01-01T10:00:00Z"' in completed.out
    assert "added to the event, as an SDK and the gateway do: messageId, originalTimestamp" in completed.out
    assert plain.err == ""

    assert main(["test", "destination", "hok", "--event", "plain.json"]) == 4
    failed = capsys.readouterr()
    assert failed.out == "", "nothing was added to an event that was not tested"
    assert "id hok not found" in failed.err


def test_the_tour_shows_a_result_for_a_plain_event(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At destinations that require a `messageId` or an `anonymousId`, too."""
    (shop / "plain.json").write_text('{"type": "page", "name": "Home", "userId": "u1"}')

    assert main(["tour", "--event", "plain.json"]) == 0
    said = capsys.readouterr()
    assert "Google Analytics" in said.out
    assert "rejects the event" not in said.out
    assert "messageId, anonymousId, originalTimestamp, sentAt" in " ".join(said.out.split())


def test_an_event_without_a_type_is_not_completed(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing accepts it: the message is about the type."""
    (shop / "plain.json").write_text('{"userId": "u1"}')

    assert main(["test", "destination", "hook", "--event", "plain.json"]) != 0
    assert "added" not in str(capsys.readouterr())


@pytest.mark.parametrize(
    ("query", "status"), [("forse=true", 400), ("Force=true", 400), ("force=true", 200), ("x=1", 200)]
)
def test_a_misspelt_query_parameter_of_the_test_api_is_refused(query: str, status: int) -> None:
    """With the nearest name; others are ignored, as RudderStack does. The in-process way in does the same."""
    workspace = Workspace.loads(WORKSPACE)
    workspace.users.append(Person.with_token("dev@example.com", "t0ken"))
    with running(workspace) as server:
        answer = httpx.post(
            f"{server.url}/v0/testDestination/hook?{query}",
            json={"message": PLAIN},
            auth=("dev@example.com", "t0ken"),
            timeout=60,
        )
    suite = {
        "scenarios": [
            {
                "name": "s",
                "request": {"method": "POST", "path": f"/v0/testDestination/hook?{query}", "json": {"message": PLAIN}},
                "expect": {"status": status},
            }
        ]
    }
    scenarios = runner.loads(json.dumps(suite), workspace).scenarios
    with runner.open_planes(limit=60) as planes:
        passed = [runner.attempt(scenario, planes).status for scenario in scenarios]

    assert (answer.status_code, passed) == (status, ["passed"])
    if status == 400:
        assert answer.json()["message"].endswith("Did you mean 'force'?")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["definitions", "Mixpannel"], "unknown destination type 'Mixpannel'. Did you mean 'MP' (Mixpanel)?"),
        (["definitions", "webhok"], "unknown destination type 'webhok'. Did you mean 'WEBHOOK'"),
        (["definitions", "--search", "facebok"], "no destination type matches 'facebok'. Did you mean 'FACEBOOK_"),
        (["run", "--env", "prod"], "unknown environment 'prod'. The workspace has no environments. To add one, write"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(
    shop: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    """In the spelling of the user, by the names and display names of types."""
    suite = "workspace: workspace.yaml\nscenarios: [{name: one, destination: hook, event: {type: track}, expect: {}}]\n"
    (shop / "one.suite.yaml").write_text(suite)

    assert main(arguments) == 4
    assert text in capsys.readouterr().err


def test_an_unknown_environment_lists_the_existing_ones(shop: Path) -> None:
    """Those in the file and those next to it."""
    (shop / "workspace.yaml").write_text(WORKSPACE + "environments: {staging: {}}\n")
    (shop / "workspace.dev.yaml").write_text("{}")

    with pytest.raises(ToolkitError, match=r"Environments: staging, dev\. To add one, write `environments: \{prod:"):
        Workspace.load("workspace.yaml", environment="prod")


def test_an_excerpt_of_compact_json_shows_the_keys(shop: Path) -> None:
    """Values are masked: in a file that cannot be parsed, any of them could be a secret."""
    (shop / "bad.json").write_text('{"apiSecret":"s3cr3t-value","sources":[{"name":"Web""id":1}]}')

    with pytest.raises(ToolkitError) as caught:
        Workspace.load("bad.json")
    excerpt = str(caught.value).splitlines()[1]
    assert '"sources":[{"name":' in excerpt
    assert "s3cr3t" not in excerpt
    assert "Web" not in excerpt


def test_coverage_takes_event_names_from_mappings_of_names_only() -> None:
    """`eventProperties` maps properties; the name of a HubSpot event is in `rsEventName`."""
    hubspot = {
        "hubspotEvents": [
            {"rsEventName": "Order Completed", "eventProperties": [{"from": "total", "to": "t"}]},
        ],
        "eventsMapping": [{"from": "Signed Up", "to": "x"}],
        "eventToAttributesMap": [{"from": "currency", "to": "c"}],
        "eventTypeToTopicMap": [{"from": "identify", "to": "t"}],
    }

    assert list(_event_names(hubspot)) == ["Order Completed", "Signed Up"]


def test_python_code_without_an_entry_point_lists_its_functions() -> None:
    """Not those that every transformation has, such as `fetch`."""
    workspace = Workspace("shop")
    code = "import json\ndef transform_event(event, metadata):\n    return event\ndef helper(): pass\n"
    transformation = workspace.transformation("t", code=code, language="python")

    said = str(transformation.run(PLAIN).error)

    assert "Expected one of transformEvent,transformBatch. Found . The code defines helper, transform_event" in said


def test_a_recorded_suite_leaves_out_destinations_that_get_no_events() -> None:
    """Device mode only and disabled: but a destination that is switched on later is still noticed."""
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/"})
    workspace.destination("tags", "HOTJAR", config={"siteID": "1"})
    workspace.destination("off", "WEBHOOK", config={"webhookUrl": "https://off.example/"}, enabled=False)
    workspace.source("web", destinations=["hook", "tags", "off"])

    (scenario,) = record([PLAIN], workspace).scenarios
    expect = scenario["expect"]
    assert list(expect) == ["delivered"]
    assert list(expect["delivered"]["$only"]) == ["hook"]

    def status() -> str:
        freeze = {"time": "2026-01-01T12:00:00Z", "ids": "sequence"}
        suite = runner.loads(json.dumps({"freeze": freeze, "scenarios": [scenario]}), workspace)
        with runner.open_planes(limit=60) as planes:
            return runner.attempt(suite.scenarios[0], planes).status

    assert status() == "passed"
    workspace.destinations["off"].enabled = True
    assert status() == "failed"


def test_a_scope_needs_one_of_the_two_ids() -> None:
    """A server knows the user, seldom an anonymous id."""
    from svctoolkit import DataPlane, ServiceClient

    with DataPlane(Workspace.loads(WORKSPACE)) as plane:
        client = ServiceClient(data_plane_url=plane.url, data_directory=":memory:", track_lifecycle_events=False)
        client.initialize("web").wait(60)
        with client.scope(user_id="u7"):
            client.track("Room Booked")
        assert client.flush()
        with pytest.raises(InvalidCall, match="give user_id or anonymous_id"), client.scope():
            pass
        client.shutdown(60)
        plane.drain()
        (received,) = plane.received

    assert received.event["userId"] == "u7"
    assert not received.event.get("anonymousId")


@pytest.mark.parametrize(("command", "block"), [(["tour"], 0), (["init", "shop"], 1)])
def test_the_first_minute_shows_what_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str], block: int
) -> None:
    """Line by line, in the same order; a reader compares them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    page = (Path(svctoolkit.__file__).parent / "docs" / "first-minute.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```text\n(.*?)^```", page, re.M | re.S)[block].splitlines()

    assert main(command) == 0
    printed = iter(capsys.readouterr().out.splitlines())

    assert [line for line in shown if line not in printed] == []


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_tour_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    """Also a narrow one."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "argv", ["svctoolkit", "tour"])

    assert main(["tour"]) == 0
    lines = capsys.readouterr().out.splitlines()

    # The name of the program is not cut, because a reader copies it.
    assert [line for line in lines if len(line) > columns and "is installed as" not in line] == []
