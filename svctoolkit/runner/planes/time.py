"""The clock and ids of a scenario, frozen or real; waiting takes no real time."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svctoolkit.runner.suite.format import Freeze


class Times:
    """The clock and the ids of a data plane; each scenario resets them.

    The clock shows the time that the scenario freezes, or its start, and only advances by the time waited for
    (`advance_clock`). So the delays between attempts are exact on any machine, and destinations that wait at the same
    time wait together.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.set(None)

    def set(self, freeze: Freeze | None) -> None:
        """Restart at the frozen time, or now, with the first id."""
        with self._lock:
            # Without `freeze.time` the clock starts now, but does not run either: only waiting advances it.
            self._start = datetime.fromisoformat(freeze.time) if freeze and freeze.time else datetime.now(UTC)
            self._waited = timedelta()
            self._new_id = sequence() if freeze and freeze.ids == "sequence" else _random_id

    def advance_clock(self, seconds: float) -> None:
        """Advance the clock by this much time."""
        with self._lock:
            self._waited += timedelta(seconds=seconds)

    def now(self) -> datetime:
        with self._lock:
            return self._start + self._waited

    def new_id(self) -> str:
        with self._lock:
            return self._new_id()


def sequence() -> Callable[[], str]:
    """Return a function that counts up ids in the form of UUIDs: 00000000-0000-4000-8000-000000000001 and so on."""
    numbers = count(1)
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012x}"


def _random_id() -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))
