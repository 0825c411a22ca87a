"""The progress of a magic."""

from __future__ import annotations

from time import monotonic
from typing import Any

from IPython.display import HTML, display

from svctoolkit.display import message, page
from svctoolkit.replay.engine.progress import is_shown

_PATIENCE = 0.5  # seconds before progress is shown; updates come five times as often


class Progress:
    """Shows the progress of a run in the output of the cell, but not for short runs or in a terminal."""

    # Any: IPython's shell
    def __init__(self, shell: Any) -> None:
        self._next = monotonic() + _PATIENCE if hasattr(shell, "kernel") and is_shown() else float("inf")
        self._handle: Any = None

    def show(self, text: str) -> None:
        if monotonic() < self._next:
            return
        self._next = monotonic() + _PATIENCE / 5
        self._put(page(message(text, "info")))

    def _put(self, text: str) -> None:
        if self._handle is None:
            self._handle = display(HTML(text), display_id=True)
        else:
            self._handle.update(HTML(text))

    def end(self) -> None:
        if self._handle is not None:
            self._put("")
