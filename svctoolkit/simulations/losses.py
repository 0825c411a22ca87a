"""What a vendor does not keep, or keeps otherwise than it was sent."""

from __future__ import annotations

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.simulations.json_text import text_of


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """One record that a vendor refused, dropped, cut or folded (`what`), although the fate may be delivered.

    `rule` is the id of the vendor's rule, `says` the rule, `source` where it was read and when. `table` and `place` say
    which record of the request it was, `value` is the value that broke the rule and `limit` its bound. `request` counts
    the requests to the destination in its run; `events` are the message ids of the events that the record came from.
    """

    what: str
    rule: str
    says: str
    source: str
    confidence: str
    table: str = ""
    place: int | None = None
    value: Json = None
    limit: Json = None
    request: int = 0
    events: tuple[str, ...] = ()
    destination: str = ""
    run: str = ""

    @property
    def value_text(self) -> str:
        """The value as text, shortened; empty without one."""
        return "" if self.value is None else _short(self.value)

    @property
    def text(self) -> str:
        """The loss as a sentence with its rule and source."""
        record = f"{self.table or 'record'} {self.place}" if self.place is not None else self.table or "record"
        value = f", {self.value_text}" if self.value is not None else ""
        return f"{self.what}: {record}{value}: {self.says} ({self.rule}; {self.source})"

    def item(self) -> dict[str, Json]:
        """Return the loss as JSON, with its text."""
        return {**msgspec.to_builtins(self), "text": self.text}


class Change(Loss, frozen=True, kw_only=True):
    """One record that a vendor keeps with another value (`overwritten`) or under another owner or time (`moved`)."""


def _short(value: Json) -> str:
    text = text_of(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
