"""What vendors would lose, as objects, frames, JSON and pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.lost.rules import COLUMNS, LostRule, Received
from svctoolkit.lost.text import markdown
from svctoolkit.replay import Breach, Conditions
from svctoolkit.replay.records.record import Reject
from svctoolkit.replay.results.losses import LossCounts
from svctoolkit.replay.tally.tally import Tally
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.results.page import PageOut

if TYPE_CHECKING:
    import pandas as pd


class LossReport(Displayed, PageOut, ArrowOut):
    """What vendors would lose of some events: a `LostRule` for each destination and rule.

    `received` has the numbers of each destination.
    """

    def __init__(self, rules: Sequence[LostRule], received: Sequence[Received], tally: Tally) -> None:
        self._rules, self.received, self._tally = tuple(rules), tuple(received), tally

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[LostRule]:
        return iter(self._rules)

    @property
    def events(self) -> int:
        """The number of events that were run."""
        return self._tally.events

    @property
    def unread(self) -> Sequence[Reject]:
        """Where files are damaged: the events after these places are missing."""
        return self._tally.unread

    @property
    def rejected(self) -> int:
        """The number of records that are not events."""
        return self._tally.rejected

    @property
    def counts(self) -> LossCounts:
        """The same by event name and day."""
        return LossCounts(self._tally.lost)

    def frame(self) -> pd.DataFrame:
        """Return one row for each destination and rule.

        Columns: `destination`, `type`, `what` (`refused`, `dropped`, `cut`, `folded`), `rule`, `events`, `sent` (events
        that the destination would receive), `share`, `says`, `source`, `path`, `value`, `place` (of an example), `fix`.
        """
        import pandas as pd

        return pd.DataFrame(storable_all([rule.row() for rule in self]), columns=list(COLUMNS)).astype(COLUMNS)

    def breaches(self, conditions: str) -> list[Breach]:
        """Return the conditions that are met: `losses.breaches("lost>1% or refused>0")`.

        Words are `lost` (with any loss), `refused`, `dropped`, `cut`, `folded` and `rejected`. Raises `ConfigError`.
        """
        return Conditions(conditions, losses=True).breaches(self._tally)

    def to_dict(self) -> dict[str, Json]:
        """Return everything as JSON."""
        return {
            "events": self.events,
            "rejected": self.rejected,
            "destinations": [{**asdict(each), "share": each.share} for each in self.received],
            "losses": [{**asdict(rule), "share": rule.share} for rule in self],
        }

    def to_markdown(self) -> str:
        """Return a summary for a pull request."""
        return markdown(self.received, self._rules)
