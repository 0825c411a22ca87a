"""A policy that does not hold for an event."""

from __future__ import annotations

from typing import Literal

import msgspec

from svctoolkit.json_types import Json

Severity = Literal["error", "warn"]


class PolicyBreach(msgspec.Struct, frozen=True, kw_only=True):
    """A policy that does not hold for one event at one destination.

    `policy` is its name, `kind` its kind, `path` the place in a payload, and `value` the value there, masked. `text`
    says what is wrong. `owner` is who decides about it.
    """

    policy: str
    kind: str
    destination: str
    path: str
    text: str
    value: Json = None
    event: str = ""
    event_id: str = ""
    severity: Severity = "error"
    owner: str = ""

    def to_dict(self) -> dict[str, Json]:
        """Return the breach as JSON."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if value not in ("", None)}

    def __str__(self) -> str:
        where = f"{self.path} " if self.path else ""
        of = f" ({self.event})" if self.event else ""
        return f"{self.policy}: {self.destination}: {where}{self.text}{of}"
