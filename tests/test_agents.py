"""Coding agents use the toolkit over the Model Context Protocol: its tools, limits and errors."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

import svctoolkit
from svctoolkit.agents import worker
from svctoolkit.agents.server import mcp_server
from svctoolkit.agents.tools import TOOLS
from svctoolkit.agents.worker import MOST, Answer, Worker
from svctoolkit.cli import main

ORDER = {"type": "track", "event": "Order Completed", "userId": "u1", "properties": {"order_id": "o1", "revenue": 22.5}}
TOKEN = "c4nary-t0ken-71"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project that `init` writes, with a secret and two events."""
    assert main(["init", str(tmp_path / "shop")]) == 0
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("MIXPANEL_TOKEN", TOKEN)
    lines = [json.dumps({**ORDER, "messageId": f"m{n}", "properties": {"revenue": n}}) for n in (10, 5)]
    Path("orders.ndjson").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path / "shop"


def use(tool: str, **arguments: Any) -> Answer:
    """Use a tool in this process, in the current folder."""
    return worker.run(tool, arguments, Path.cwd(), Path("workspace.yaml"))


def value(tool: str, **arguments: Any) -> Any:
    answer = use(tool, **arguments)
    assert not answer.is_error, answer.text
    return json.loads(answer.text)


def error(tool: str, **arguments: Any) -> str:
    answer = use(tool, **arguments)
    assert answer.is_error, answer.text
    return answer.text


async def ask(client: Client, tool: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
    result = await client.call_tool(tool, dict(arguments))
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text, bool(result.is_error)


def test_the_sdk_s_client_uses_the_command(shop: Path) -> None:
    """`svctoolkit mcp` over standard input and output: the tools with their arguments, answers, errors."""
    command = StdioServerParameters(command=sys.executable, args=["-m", "svctoolkit", "mcp"], cwd=shop)

    async def session() -> None:
        async with Client(command) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == set(TOOLS)
            schema = tools["lineage"].input_schema
            assert schema["required"] == ["destination", "event"]
            assert schema["properties"]["destination"]["description"] == "key or id of a destination of the workspace"
            assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["write_scenario"]

            text, failed = await ask(client, "run_event", {"destination": "hook", "event": ORDER})
            (result,) = json.loads(text)["results"]
            assert (failed, result["ok"]) == (False, True)
            assert result["data"][0]["dest_transformed_payload"][0]["endpoint"] == "https://hook.example/orders"
            text, failed = await ask(client, "lineage", {"destination": "hoook", "event": ORDER})
            assert (text, failed) == ("unknown destination 'hoook'. Did you mean 'hook'?", True)

    asyncio.run(session())


def test_a_tool_that_takes_too_long_is_stopped(shop: Path) -> None:
    """Its process ends. The next call gets a new one."""
    here = Worker(shop, Path("workspace.yaml"))
    try:
        late = here.call("list_destinations", {}, 0)
        assert late == Answer(
            "list_destinations did not finish within 0 s and was stopped; give it less to do", is_error=True
        )

        async def session() -> tuple[str, bool]:
            async with Client(mcp_server(here)) as client:
                return await ask(client, "list_destinations", {})

        text, failed = asyncio.run(session())
        assert (failed, json.loads(text)["sources"]["web"]["destinations"]) == (False, ["hook", "mixpanel"])
    finally:
        here.close()


def test_an_answer_has_a_limit() -> None:
    """What is left out is said."""
    assert worker.short("x" * MOST) == "x" * MOST
    assert worker.short("x" * (MOST + 1)).endswith("... cut here: the answer has 40,001 characters. Ask for less.")
    assert len(worker.short("x" * (MOST + 1))) == MOST


def test_without_the_sdk_the_command_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The package is imported only by the server."""
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.delitem(sys.modules, "svctoolkit.agents.server")

    assert main(["mcp"]) == 4
    assert "the MCP server needs the package mcp: pip install 'svctoolkit[mcp]'" in capsys.readouterr().err


def test_a_destination_is_explained(shop: Path) -> None:
    """One of the workspace with its settings, without secrets; a type with its quirks and examples."""
    mixpanel, webhook = value("explain_destination", name="mixpanel"), value("explain_destination", name="webhook")
    found = value("explain_destination", name="MP", example="revenue")

    assert mixpanel["config"] == {"token": "••••", "strictMode": True, "identityMergeApi": "simplified"}
    assert "mp.import.distinct_id" in mixpanel["rules"]
    assert mixpanel["quirks"]
    assert webhook["settings"]["webhookUrl"]["required"]
    assert 0 < len(found["examples"]) <= 3
    assert "Did you mean 'mixpanel'?" in error("explain_destination", name="mixpanl")
    assert "GA4" in value("list_destination_types", search="google")


def test_an_event_runs_through_every_destination_of_a_source(shop: Path) -> None:
    """Also what the transformation logs, and what the simulated server loses."""
    results = value("run_event", source="web", event={**ORDER, "userId": "anonymous"})["results"]
    lost = {result["destinationId"]: result["lost"] for result in results}

    assert lost["hook"] == []
    assert "anonymous" in lost["mixpanel"][0]
    assert error("run_event", event=ORDER) == "give exactly one of destination and source"


def test_failures_have_their_rule_and_field(shop: Path) -> None:
    """Of events or a file; an invalid event does not stop the others."""
    events = [{**ORDER, "type": "trakc"}, {**ORDER, "userId": "anonymous"}]
    found = value("find_failures", events=events)
    (failure,) = found["failures"]

    assert found["invalid"] == ["event 1: message type is unsupported"]
    assert (failure["destination"], failure["events"]) == ("Product analytics", 1)
    assert failure["stage"] == "send_to_destination"
    assert value("find_failures", file="orders.ndjson", destinations=["hook"])["failures"] == []


def test_a_failing_scenario_is_explained(shop: Path) -> None:
    """With the difference, its origin, and the values of each stage."""
    suite = shop / "suites" / "orders.suite.yaml"
    suite.write_text(suite.read_text("utf-8").replace("properties: {revenue: 22.5}", "properties: {revenue: 23}"))
    ran = value("run_suites", words="order")
    (name,) = ran["failures"]
    explained = value("explain_failure", scenario=name)

    assert ran["counts"] == {"failed": 1, "passed": 7}
    assert "expected 23, got 22.5" in explained["explanation"][0]
    assert explained["scenarios"][0]["steps"][0]["results"]["dest_transform"]
    assert "expected FILE::ID" in error("explain_failure", scenario="orders")
    assert error("run_suites", words="nothing") == "no scenario is selected"


def test_a_scenario_is_written_only_if_it_passes(shop: Path) -> None:
    """Recorded from an event, or as given; in a new file or an existing one."""
    suite = "suites/new.suite.yaml"
    scenario: dict[str, Any] = {"name": "an order", "destination": "hook", "event": ORDER}
    scenario["expect"] = {"dest_transform": {"method": "PUT"}}

    text = error("write_scenario", file=suite, scenario=scenario)
    assert 'expected "PUT", got "POST". Nothing was written.' in text
    assert not Path(suite).exists()
    scenario["expect"] = {"dest_transform": {"method": "POST"}}
    assert value("write_scenario", file=suite, scenario=scenario)["added"] == 1
    assert value("write_scenario", file=suite, event=ORDER)["added"] == 1
    written = yaml.safe_load(Path(suite).read_text("utf-8"))
    assert [one["name"] for one in written["scenarios"]] == ["an order", "track Order Completed"]


def test_a_replay_is_queried(shop: Path) -> None:
    """With SQL that can only read."""
    sql = 'select event, sum("properties.revenue") from hook group by event'
    found = value("query_replay", file="orders.ndjson", sql=sql)

    assert (found["events"], found["rows"]) == (2, [["Order Completed", 15]])
    assert value("replay", file="orders.ndjson")["counts"]["hook"] == {"delivered": 2}
    assert "A query is one SELECT" in error("query_replay", file="orders.ndjson", sql="drop table hook")
    assert "has 'prise'" in error("query_replay", file="orders.ndjson", sql="select prise from hook")


@pytest.mark.parametrize("name", ["../secrets.ndjson", "/etc/passwd", "https://data.example/e.ndjson", "s3://b/e.json"])
def test_tools_stay_in_the_project(shop: Path, name: str) -> None:
    """Neither other folders nor the network are read or written."""
    for text in (
        error("replay", file=name),
        error("find_failures", file=name),
        error("run_suites", paths=[name]),
        error("write_scenario", file=name, event=ORDER),
    ):
        assert "is not in the project" in text


def test_nothing_is_sent_in_any_mode(shop: Path) -> None:
    """A workspace that delivers is used in mode record."""
    file = shop / "workspace.yaml"
    file.write_text(file.read_text("utf-8").replace("{mode: record}", "{mode: live}"), encoding="utf-8")
    (result,) = value("run_event", destination="hook", event=ORDER)["results"]

    assert result["data"][0]["dest_transformed_payload"][0]["endpoint"] == "https://hook.example/orders"
    assert result["ok"]  # the recorder has answered: this host does not exist


def test_init_writes_a_guide_for_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its commands works in the new project, and it names every tool but one that lists types."""
    assert main(["init", str(tmp_path), "--agents"]) == 0
    monkeypatch.chdir(tmp_path)
    text = Path("AGENTS.md").read_text("utf-8")

    assert {name for name in TOOLS if f"`{name}`" not in text} == {"list_destination_types"}
    for line in _commands(text):
        assert main(shlex.split(line, comments=True)[1:]) == 0, line


PAGE = Path(svctoolkit.__file__).parent / "docs" / "agents.md"


def _commands(text: str) -> list[str]:
    return [line for block in re.findall(r"^```sh\n(.*?)^```$", text, re.S | re.M) for line in block.splitlines()]


def test_the_page_about_agents_is_true(shop: Path) -> None:
    """Its session: each call in it works, and gives what the page shows."""
    text = PAGE.read_text("utf-8")
    calls = re.findall(r"^```json tool=(\w+)\n(.*?)^```\n\n```text\n(.*?)^```$", text, re.S | re.M)

    assert {name for name in TOOLS if f"| `{name}` |" not in text} == set()
    assert len(calls) >= 2
    for tool, arguments, shown in calls:
        answer = use(tool, **json.loads(arguments))
        assert not answer.is_error, answer.text
        assert answer.text.splitlines() == shown.splitlines()
    assert json.loads(re.findall(r"^```json\n(.*?)^```$", text, re.S | re.M)[0])["mcpServers"]["svctoolkit"]
