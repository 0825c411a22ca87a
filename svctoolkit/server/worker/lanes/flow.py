"""When a lane makes calls: an explicit state machine."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """See the diagram of `Flow`."""

    OPEN = "open"
    GATHERING = "gathering"
    DUE = "due"
    THROTTLED = "throttled"
    STOPPED = "stopped"


class Flow:
    """The state of a lane. Every method is a transition and must be called with the lane's lock.

                    gather()              end_gathering()
         ┌──> OPEN ──────────> GATHERING ────────────────> DUE ──┐
         │                      (a timer runs)                   │
         └──────────────────────── take() ───────────────────────┘

         OPEN, GATHERING, DUE ──throttle()──> THROTTLED ──end_throttle()──> the state before
         any state ──────────────stop()─────> STOPPED

    `OPEN`: a call is made as soon as enough tasks are ready. `GATHERING`: tasks wait for others that may share their
    request; a call is made before the timer ends only if there are enough tasks to fill it. `DUE`: the next call takes
    whatever is ready. `THROTTLED`: the destination accepts no more in this window; tasks keep gathering meanwhile.
    """

    def __init__(self) -> None:
        self.state = State.OPEN
        self._before = State.OPEN

    def gather(self) -> bool:
        """Start to wait for more tasks. Return False if the lane does so already, or may not make calls."""
        if self.state is not State.OPEN:
            return False
        self.state = State.GATHERING
        return True

    def end_gathering(self) -> None:
        """End the wait: the tasks have waited long enough."""
        if self.state is State.THROTTLED:
            self._before = State.DUE
        elif self.state is State.GATHERING:
            self.state = State.DUE

    def take(self) -> None:
        """Make a call. Tasks left over in `GATHERING` have waited since the timer began, so the timer keeps running."""
        if self.state is State.DUE:
            self.state = State.OPEN

    def throttle(self) -> bool:
        """Stop calls: the limit of the window is reached. Return False if they are stopped already."""
        if self.state in (State.THROTTLED, State.STOPPED):
            return False
        # Remembered because a gathering timer keeps running while the lane is throttled.
        self.state, self._before = State.THROTTLED, self.state
        return True

    def end_throttle(self) -> None:
        """Allow calls again: a new window has begun."""
        if self.state is State.THROTTLED:
            self.state = self._before

    def stop(self) -> None:
        """Stop all calls for good."""
        self.state = State.STOPPED
