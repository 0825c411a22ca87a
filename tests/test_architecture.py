"""The event path in the documentation is the one that an event takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.trace import Call, trace, until_sent

PAGE = Path(__file__).parent.parent / "svctoolkit" / "docs" / "architecture.md"
STEP = re.compile(r"^\| [^|]+ \| `(\S+\.py)` \| `(\S+)` \|$", re.MULTILINE)
#: Functions from HTTP to the recorder. A redundant layer would show up here.
MOST_CALLS, MOST_QUICK_CALLS = 298, 196


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    return trace("scripted")


@pytest.fixture(scope="module")
def quick_calls() -> list[Call]:
    return trace()


def _assert_steps(calls: list[Call], text: str, least: int) -> None:
    """Each step of a table is entered after the one above it."""
    steps = STEP.findall(text)
    entered = iter([call[:2] for call in calls])
    reached = [step for step in steps if step in entered]  # `in` continues after the previous step

    assert len(steps) >= least
    assert reached == steps


def test_one_event_takes_the_documented_steps_in_order(calls: list[Call], quick_calls: list[Call]) -> None:
    """From the request to the journal, with a lane and without."""
    lane, _, without = PAGE.read_text(encoding="utf-8").partition("### A destination that answers at once")

    _assert_steps(calls, lane, 21)
    _assert_steps(quick_calls, without, 9)


def test_an_event_uses_three_threads(calls: list[Call], quick_calls: list[Call]) -> None:
    """The event loop, the router and a worker of the lane, if there is one."""
    assert len({call.thread for call in until_sent(calls)}) == 3
    assert len({call.thread for call in until_sent(quick_calls)}) == 2


def test_the_number_of_functions_per_event_is_bounded(calls: list[Call], quick_calls: list[Call]) -> None:
    """It does not depend on the machine: the reply, timers and further workers are left out."""
    assert len(until_sent(calls)) <= MOST_CALLS
    assert len(until_sent(quick_calls)) <= MOST_QUICK_CALLS
