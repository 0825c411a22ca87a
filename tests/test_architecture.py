"""The event path in the documentation is the one that an event takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.trace import Call, trace, until_sent

PAGE = Path(__file__).parent.parent / "svctoolkit" / "docs" / "architecture.md"
STEP = re.compile(r"^\| [^|]+ \| `(\S+\.py)` \| `(\S+)` \|$", re.MULTILINE)
#: Functions from HTTP to the recorder. A redundant layer would show up here.
MOST_CALLS = 270


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    return trace()


def test_one_event_takes_the_documented_steps_in_order(calls: list[Call]) -> None:
    """Each step of the page is entered after the one above it, from the request to the journal."""
    steps = STEP.findall(PAGE.read_text(encoding="utf-8"))
    entered = iter([call[:2] for call in calls])
    reached = [step for step in steps if step in entered]  # `in` continues after the previous step

    assert len(steps) > 20
    assert reached == steps


def test_an_event_uses_three_threads(calls: list[Call]) -> None:
    """The event loop, the router and a worker of the lane."""
    assert len({call.thread for call in until_sent(calls)}) == 3


def test_the_number_of_functions_per_event_is_bounded(calls: list[Call]) -> None:
    """It does not depend on the machine: timers and further workers are left out."""
    assert len(until_sent(calls)) <= MOST_CALLS
