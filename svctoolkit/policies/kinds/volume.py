"""`volume`: as many events are delivered as on the same days before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Finding, PolicyKind, Whole, WholeCheck
from svctoolkit.policies.shares import share

_DAYS_BEFORE: Final = {"yesterday": (1,), "last_week": (7,), "last_4_weeks": (7, 14, 21, 28)}
_WORDS: Final = {"yesterday": "the day before", "last_week": "a week before", "last_4_weeks": "on average before"}


def make(options: Json) -> WholeCheck:
    """Return the check. A day of which the history has nothing to compare with holds."""
    within, per = share(options.get("within", "10%")), options.get("per", "destination")
    of = options.get("of", "last_week")

    def check(whole: Whole) -> Iterator[Finding]:
        counts = Counter[tuple[object, str, str]]()
        for (day, destination, event), count in whole.delivered.items():
            counts[day, destination, event if per == "event" else ""] += count
        known = {day for day, _, _ in whole.delivered}
        series = sorted({(destination, event) for _, destination, event in counts})
        alone = list[date]()
        for day in whole.days:
            earlier = [before for days in _DAYS_BEFORE[of] if (before := day - timedelta(days=days)) in known]
            if not earlier:
                alone.append(day)
                continue
            for destination, event in series:
                now = counts[day, destination, event]
                expected = sum(counts[before, destination, event] for before in earlier) / len(earlier)
                if expected and abs(now - expected) > within * expected:
                    change = (now - expected) / expected
                    text = (
                        f"{now:,} delivered on {day}, {expected:,.0f} {_WORDS[of]} ({change:+.1%}, within {within:.0%})"
                    )
                    missing = day if now < expected else None
                    events = max(1, round(abs(now - expected)))
                    yield Finding(destination, "", text, event=event, events=events, missing=missing)

        if alone:
            span = f"{alone[0]}" if len(alone) == 1 else f"{len(alone)} days from {alone[0]} on"
            whole.unchecked.append(f"volume: the history has no earlier day to compare {span} with")

    return WholeCheck(check, needs_history=True)


kind = PolicyKind(
    "as many events are delivered as on earlier days",
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "per": {"enum": ["destination", "event"]},
            "within": {"type": ["number", "string"]},
            "of": {"enum": list(_DAYS_BEFORE)},
        },
    },
    make,
)
