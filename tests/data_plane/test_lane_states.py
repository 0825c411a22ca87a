"""The states of a lane and the transitions between them."""

from __future__ import annotations

import pytest

from svctoolkit.server.worker.lanes.flow import Flow, State

#: event -> the states that it leads to from `OPEN`, `GATHERING`, `DUE`, `THROTTLED` and `STOPPED`
TRANSITIONS = {
    "gather": "GATHERING GATHERING DUE THROTTLED STOPPED",
    "end_gathering": "OPEN DUE DUE THROTTLED STOPPED",
    "take": "OPEN GATHERING OPEN THROTTLED STOPPED",
    "throttle": "THROTTLED THROTTLED THROTTLED THROTTLED STOPPED",
    "end_throttle": "OPEN GATHERING DUE OPEN STOPPED",
    "stop": "STOPPED STOPPED STOPPED STOPPED STOPPED",
}
#: how each state is reached
WAYS = {
    State.OPEN: [],
    State.GATHERING: ["gather"],
    State.DUE: ["gather", "end_gathering"],
    State.THROTTLED: ["throttle"],
    State.STOPPED: ["stop"],
}


def flow_after(*steps: str) -> Flow:
    """The state machine after these transitions."""
    flow = Flow()
    for step in steps:
        getattr(flow, step)()
    return flow


@pytest.mark.parametrize("step", TRANSITIONS)
@pytest.mark.parametrize("state", State)
def test_every_event_leads_from_every_state_to_exactly_one(state: State, step: str) -> None:
    """No event leaves `STOPPED`, and only the end of its window leaves `THROTTLED`."""
    expected = dict(zip(State, TRANSITIONS[step].split(), strict=True))[state]

    assert flow_after(*WAYS[state]).state is state
    assert flow_after(*WAYS[state], step).state is State[expected]


@pytest.mark.parametrize("state", [State.OPEN, State.GATHERING, State.DUE])
def test_a_throttled_lane_resumes_where_it_was(state: State) -> None:
    """Tasks that have waited for a full batch need not wait again."""
    assert flow_after(*WAYS[state], "throttle", "end_throttle").state is state


def test_gathering_time_continues_while_a_lane_is_throttled() -> None:
    """Tasks that became due meanwhile are sent as soon as the window opens."""
    assert flow_after("gather", "throttle", "end_gathering", "end_throttle").state is State.DUE


def test_a_timer_is_started_once() -> None:
    """The transitions that start a timer are marked as such."""
    flow = Flow()

    assert (flow.gather(), flow.gather()) == (True, False)
    assert (flow.throttle(), flow.throttle()) == (True, False)
    assert flow_after("stop").throttle() is False
    assert flow_after("stop").gather() is False
