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
    """The state of a lane. Every method is a transition, and is called with the lane's lock.

                    gather()              end_gathering()
         ┌──> OPEN ──────────> GATHERING ────────────────> DUE ──┐
         │                      (a timer runs)                   │
         └──────────────────────── take() ───────────────────────┘

         OPEN, GATHERING, DUE ──throttle()──> THROTTLED ──end_throttle()──> the state before
         any state ──────────────stop()─────> STOPPED

    `OPEN`: a call is made as soon as enough tasks are ready. `GATHERING`: tasks wait for others that may share their
    request; a call is made before the timer ends only if there are as many as a call takes. `DUE`: the next call takes
    what is there. `THROTTLED`: the destination takes no more in this window; tasks go on gathering meanwhile.
    """

    def __init__(self) -> None:
        self.state = State.OPEN
        self._before = State.OPEN

    def gather(self) -> bool:
        """Tasks wait for others from now on. False where they do so already, or where no call may be made."""
        if self.state is not State.OPEN:
            return False
        self.state = State.GATHERING
        return True

    def end_gathering(self) -> None:
        """The tasks have waited long enough."""
        if self.state is State.THROTTLED:
            self._before = State.DUE
        elif self.state is State.GATHERING:
            self.state = State.DUE

    def take(self) -> None:
        """A call is made. Tasks that are left over in `GATHERING` have waited since the timer began: it goes on."""
        if self.state is State.DUE:
            self.state = State.OPEN

    def throttle(self) -> bool:
        """The limit of the window is reached. False where that is known."""
        if self.state in (State.THROTTLED, State.STOPPED):
            return False
        self.state, self._before = State.THROTTLED, self.state
        return True

    def end_throttle(self) -> None:
        """A new window has begun."""
        if self.state is State.THROTTLED:
            self.state = self._before

    def stop(self) -> None:
        """No more calls are made, for good."""
        self.state = State.STOPPED
