"""All tools by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from svctoolkit.agents.destinations import explain_destination, list_destination_types, list_destinations
from svctoolkit.agents.events import find_failures, lineage, run_event
from svctoolkit.agents.replays import query_replay, replay
from svctoolkit.agents.suites import explain_failure, run_suites, write_scenario
from svctoolkit.agents.tool import LONG, Tool

TOOLS: Final[Mapping[str, Tool]] = {
    tool.name: tool
    for tool in (
        Tool(list_destinations),
        Tool(list_destination_types),
        Tool(explain_destination),
        Tool(run_event),
        Tool(lineage),
        Tool(find_failures, seconds=LONG),
        Tool(run_suites, seconds=LONG),
        Tool(explain_failure),
        Tool(replay, seconds=LONG),
        Tool(query_replay, seconds=LONG),
        Tool(write_scenario, writes=True),
    )
}
