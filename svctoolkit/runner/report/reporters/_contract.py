"""What a reporter is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TextIO

from svctoolkit.runner.attempts.outcome import Notice


@dataclass(frozen=True, slots=True)
class Output:
    """Where a report goes. `terminal`: somebody watches, so progress may be shown; `colour`: escapes are welcome."""

    stream: TextIO
    terminal: bool = False
    colour: bool = False
    width: int = 100


class Reporter(Protocol):
    """Hears what happens in a run. What it writes has no secrets: texts go through `suite.masker`."""

    def __init__(self, output: Output) -> None: ...

    def __call__(self, notice: Notice) -> None: ...
