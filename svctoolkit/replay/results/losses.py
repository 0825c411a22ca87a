"""What simulated destinations lost in a replay, as lines, a frame and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import Displayed, render, shows
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.replay.tally.losses import LOST, SENT, LossCount, RuleDays, by_day, by_rule, shares

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = {
    "destination": "string", "side": "category", "what": "category", "rule": "string", "event": "string",
    "day": "datetime64[us]", "events": "int64", "sent": "int64", "share": "float64",
}  # fmt: skip


_FEW = 3  # days that a line lists
_RULES = 5  # of one destination


class LossCounts(Displayed):
    """How many events simulated destinations lost, by destination, rule, event name and day."""

    def __init__(self, counts: Sequence[LossCount]) -> None:
        self.counts = counts

    def frame(self) -> pd.DataFrame:
        """Return one row for each destination, rule, event name and day (UTC).

        Columns: `destination`, `side` (`before` or `after` in a comparison), `what` (`refused`, `dropped`, `cut`,
        `folded`; `lost` for events with any loss), `rule`, `event`, `day`, `events`, `sent` (events of this name and
        day that the destination received), `share`.
        """
        import pandas as pd

        table = pd.DataFrame(storable_all(self.rows()), columns=list(_COLUMNS))
        return table.assign(day=pd.to_datetime(table["day"], errors="coerce")).astype(_COLUMNS)

    def rows(self) -> list[list[Json]]:
        """Return the rows of the frame."""
        return [
            [c.destination, c.side, c.what, c.rule, c.event, c.day or None, c.events, sent, c.events / (sent or 1)]
            for c, sent in shares(self.counts)
        ]

    def days(self) -> list[RuleDays]:
        """Return on which days (UTC) each rule lost how many of the received events, by destination, largest first."""
        return by_day(self.counts)

    def lines(self) -> Iterator[str]:
        """Yield a line for each destination, `mp loses something of 412 of 48,210 events (0.85%)`, and its rules.

        The line of a rule has the share of the events of its days: `mp.id.format: dropped 4.10% since 2026-05-17`.
        """
        sides = {count.side for count in self.counts}
        texts: dict[str, list[str]] = {}
        for side in ("", "before", "after"):
            for destination, counts in by_rule(self.counts, side).items() if side in sides else ():
                sent, lost = counts[SENT, ""], counts[LOST, ""]
                text = f"{lost:,} of {sent:,} events ({lost / (sent or 1):.2%})"
                texts.setdefault(destination, []).append(f"{side}: {text}" if side else text)
        for destination, of in texts.items():
            if not all(text.startswith(("0 ", "before: 0 ", "after: 0 ")) for text in of):
                yield f"{destination} loses something of {', '.join(of)}"
                yield from self._rule_lines(destination, sides)

    def _rule_lines(self, destination: str, sides: set[str]) -> Iterator[str]:
        rules: dict[str, dict[str, list[str]]] = {}
        for found in self.days():
            if found.destination == destination:
                rules.setdefault(found.rule, {}).setdefault(found.side, []).append(_days_text(found))
        for rule, of in list(rules.items())[:_RULES]:
            texts = {side: ", ".join(of.get(side, ["nothing"])) for side in ("before", "after") if side in sides}
            yield f"  {rule}: " + (", ".join(f"{side}: {text}" for side, text in texts.items()) or ", ".join(of[""]))
        if len(rules) > _RULES:
            yield f"  and {len(rules) - _RULES:,} more rules"

    def __repr__(self) -> str:
        return render(self, "text")


def _days_text(found: RuleDays) -> str:
    """Return what a rule did, the share of the events of its days, and these days."""
    every = list(found.days)
    lost = [day for day, (events, _) in found.days.items() if events]
    if not lost:
        return f"{found.what} {display.quantity(found.undated, 'event')} without a day"
    events, sent = (sum(found.days[day][place] for day in lost) for place in (0, 1))
    share = f"{found.what} {events / (sent or 1):.2%}"
    if lost == every and len(every) > 1:
        return f"{share} on all {len(every):,} days"
    if len(lost) > 1 and lost == every[-len(lost) :]:
        return f"{share} since {lost[0]}"
    if len(lost) > 1 and lost == every[: len(lost)]:
        return f"{share} until {lost[-1]}"
    if len(lost) <= _FEW:
        return f"{share} on {', '.join(lost)}"
    return f"{share} on {len(lost):,} of {len(every):,} days, {lost[0]} to {lost[-1]}"


@shows(LossCounts, "text")
def text(counts: LossCounts) -> str:
    """Return a line for each destination."""
    return "\n".join(counts.lines()) or "nothing lost"


@shows(LossCounts)
def page(counts: LossCounts) -> Html:
    """Return a table of all counts."""
    return display.page(display.table(list(_COLUMNS), counts.rows()))
