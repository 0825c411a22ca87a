"""`REMOVED`: the absence of a value, which None cannot stand for."""

from __future__ import annotations

from typing import Any


class _Removed:
    def __repr__(self) -> str:
        return "REMOVED"


REMOVED: Any = _Removed()  # Any: takes the place of any JSON value
