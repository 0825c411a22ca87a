"""What the documentation says of the way of an event is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.trace import Call, trace, until_sent

PAGE = Path(__file__).parent.parent / "svctoolkit" / "docs" / "architecture.md"
STEP = re.compile(r"^\| [^|]+ \| `(\S+\.py)` \| `(\S+)` \|$", re.MULTILINE)
#: Functions from HTTP to the recorder. One more layer that asks what another has asked before shows here.
MOST_CALLS = 275


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    return trace()


def test_one_event_takes_the_documented_steps_in_order(calls: list[Call]) -> None:
    """Each step of the page is entered after the one above it, from the request to the journal."""
    steps = STEP.findall(PAGE.read_text(encoding="utf-8"))
    entered = iter([call[:2] for call in calls])
    reached = [step for step in steps if step in entered]  # `in` goes on behind the step before

    assert len(steps) > 20
    assert reached == steps


def test_three_threads_take_part(calls: list[Call]) -> None:
    """The event loop, the router and a worker of the lane."""
    assert len({call.thread for call in until_sent(calls)}) == 3


def test_an_event_runs_through_no_more_functions_than_it_did(calls: list[Call]) -> None:
    """The number does not depend on the machine: timers and further workers are left out."""
    assert len(until_sent(calls)) <= MOST_CALLS
