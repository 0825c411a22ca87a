"""Time and ids of a scenario: frozen or real, and waiting that takes no time."""

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
    """The clock and the ids of a data plane, which each scenario sets anew.

    The clock stands still, at the time that the scenario freezes or at its beginning, and goes on only by what is
    waited for (`pass_by`): so the times between attempts are exact, however busy the machine is, and destinations that
    wait at once wait together.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.set(None)

    def set(self, freeze: Freeze | None) -> None:
        """Begin anew, at the time that is frozen or now, with the first id."""
        with self._lock:
            self._start = datetime.fromisoformat(freeze.time) if freeze and freeze.time else datetime.now(UTC)
            self._waited = timedelta()
            self._new_id = sequence() if freeze and freeze.ids == "sequence" else _random_id

    def pass_by(self, seconds: float) -> None:
        """Let this much time pass."""
        with self._lock:
            self._waited += timedelta(seconds=seconds)

    def now(self) -> datetime:
        with self._lock:
            return self._start + self._waited

    def new_id(self) -> str:
        with self._lock:
            return self._new_id()


def sequence() -> Callable[[], str]:
    """Ids that look like UUIDs and count: 00000000-0000-4000-8000-000000000001 and so on."""
    numbers = count(1)
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012x}"


def _random_id() -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))
