"""The interface of a reporter."""

from __future__ import annotations

from typing import Protocol, TextIO

import msgspec

from svctoolkit.runner.attempts.outcome import Notice


class Output(msgspec.Struct, frozen=True):
    """Where a report goes. `terminal`: it is interactive and may show progress; `colour`: ANSI escapes are allowed."""

    stream: TextIO
    terminal: bool = False
    colour: bool = False
    width: int = 100


class Reporter(Protocol):
    """Receives the notices of a run. Its output must not contain secrets: pass texts through `suite.masker`."""

    def __init__(self, output: Output) -> None: ...

    def __call__(self, notice: Notice) -> None: ...
