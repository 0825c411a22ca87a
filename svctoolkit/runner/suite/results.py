"""The results that an expectation may name."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TypeGuard

from svctoolkit.json_types import Json

STAGES = ("user_transform", "dest_transform", "send_to_destination")
ENDS = ("dropped", "failed", "attempts")
SIMULATED = ("holds", "lost")
CODE = ("fetched", "logs", "losses")
#: The results that an expectation may name, by kind of step.
EXPECTED: Mapping[str, tuple[str, ...]] = {
    "verify": ("status", "headers", "body", "error", *STAGES, *SIMULATED, *CODE),
    "request": ("status", "headers", "body", "error", *STAGES, "delivered", *ENDS, *SIMULATED, *CODE),
    "transformation": ("user_transform", "error", *CODE),
    "python": ("result",),
    "delete": ("deleted", *SIMULATED),
    "wait": (),
    "send": (
        *("response", "received", "user_transform", "dest_transform", "delivered", *ENDS, "warehouse", "violations"),
        *(*SIMULATED, *CODE),
    ),
}
DOES = {
    "verify": "verifies with the Test API",
    "request": "sends a raw request",
    "transformation": "tests a transformation alone",
    "send": "sends through the data plane",
    "python": "calls a Python step",
    "delete": "deletes users",
    "wait": "only waits",
}
#: Results that are written by destination if the source has several.
BY_DESTINATION = (*STAGES, "delivered", "dropped", "failed", "attempts", *CODE)


def is_by_destination(expected: Json, keys: Container[str]) -> TypeGuard[Mapping[str, Json]]:
    """Return whether an expectation is a map by destination; `keys` are those of the destinations."""
    return isinstance(expected, Mapping) and bool(expected) and all(key in keys for key in expected)
