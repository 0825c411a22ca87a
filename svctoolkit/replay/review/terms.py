"""Failure conditions for a result: `changed>1% or new_failures>0 or lost>0`.

A number counts events over all destinations. A share is relative to the events of one destination, and any destination
can meet the condition. What events cost is an amount of all destinations together: `cost>100`, `cost_change>10%`.

The numbers of a sample are estimates for all events. A condition is undecided if it is met at one end of the 95%
interval and not at the other. An undecided condition is a breach: a check never passes by the luck of a sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from svctoolkit.conditions import Term, Words, parse
from svctoolkit.replay.review.amounts import AMOUNTS, COST_CHANGE, Amounts
from svctoolkit.replay.review.measures import LOSSES, REJECTED, Measure, measure
from svctoolkit.replay.tally.differences import KINDS, STATUSES
from svctoolkit.replay.tally.estimates import Estimate
from svctoolkit.replay.tally.tally import LOSSY, NEWLY_LOST, PERSONAL, Tally

_DIFFERENT = tuple(kind for kind in KINDS if kind not in ("same", "accepted"))
#: Word in a condition -> kinds that are counted. `lost`: delivered before, but not any longer.
_OF_COMPARISON: Mapping[str, tuple[str, ...]] = {
    **{kind.replace(" ", "_"): (kind,) for kind in KINDS},
    "new_failures": ("newly failing",),
    "lost": ("newly dropped", "newly failing"),
    "any": _DIFFERENT,
}
#: How a word is read after a number, as in "3 different", if not as it is written.
_NOUNS: Mapping[str, str] = {"any": "different", PERSONAL: "events with new personal data"}
_OF_REPLAY: Mapping[str, tuple[str, ...]] = {status: (status,) for status in STATUSES if status != "off"}
_OF_LOSSES: Mapping[str, tuple[str, ...]] = dict.fromkeys(LOSSES, ())
#: What only simulated destinations do: `dropped` is also a fate.
_ONLY_SIMULATED = tuple(word for word in LOSSES if word not in _OF_REPLAY)
NOT_SIMULATED = (
    "needs a simulated destination, and this run has none, so the condition never holds. Set `simulate: simulated` at "
    "a destination or in the workspace, or use --simulate"
)
_MARGIN = 1.2  # of the share that should decide: the next estimate differs from this one
_LARGEST_SAMPLE = 0.5  # a larger one is not worth it: run all events


class Breach(NamedTuple):
    """A failure condition that is met, and the numbers as text. Not a violation: no tracking plan is involved.

    `needs` is 0 for a condition that is met for certain. A sample may leave a condition undecided: then `needs` is the
    share of the events that probably decides it, 1 for all of them.
    """

    condition: str
    text: str
    needs: float = 0.0


class Conditions:
    """The conditions under which a result fails a check. Raises `ConfigError` for invalid text.

    `compares`: about a comparison. `losses`: only about what simulated destinations lose. `priced`: there are prices.
    `simulates`: a destination is simulated, so the run counts what it loses. `accepts`: there are accepted differences.
    """

    def __init__(
        self,
        text: str,
        *,
        compares: bool = False,
        losses: bool = False,
        priced: bool = False,
        simulates: bool = True,
        accepts: bool = True,
    ) -> None:
        if losses:
            self._kinds = _OF_LOSSES
        else:
            more = {NEWLY_LOST: (), PERSONAL: ()}
            self._kinds = {**_OF_COMPARISON, **more} if compares else {**_OF_LOSSES, **_OF_REPLAY, LOSSY: ()}
        self._amounts = AMOUNTS[compares] if priced else ()
        simulated = (NEWLY_LOST,) if compares else _ONLY_SIMULATED
        unavailable = {} if simulates else dict.fromkeys(simulated, NOT_SIMULATED)
        if compares and not accepts:
            unavailable |= {"accepted": "needs accepted differences (--accept FILE), so the condition never holds"}
        self._clauses = parse(text, self._words(unavailable))

    def _words(self, unavailable: Mapping[str, str]) -> Words:
        known = [*self._kinds, REJECTED, *self._amounts]
        needs = {
            word: "needs prices and an earlier side" if word == COST_CHANGE else "needs prices"
            for word in AMOUNTS[True]
        }
        usual = ("changed", "new_failures", "failed", "lost", "refused")
        first, second, *_ = (word for word in usual if word in self._kinds)
        return Words(
            [word for word in known if word not in unavailable],
            shares={*self._kinds, REJECTED, COST_CHANGE},
            unlimited={*self._amounts},
            unavailable={**{word: text for word, text in needs.items() if word not in known}, **unavailable},
            example=f"{first}>1% or {second}>0",
        )

    def breaches(self, tally: Tally, sample: float = 1.0, amounts: Amounts | None = None) -> list[Breach]:
        """Return the conditions that are met or undecided, in order. `sample` is the share that the run was to have."""
        found = []
        for clause, terms in self._clauses:
            answers = [
                _of_amount(term, amounts)
                if amounts is not None and term.word in self._amounts
                else _answer(term, measure(term.word, self._kinds.get(term.word, ()), tally))
                for term in terms
            ]
            if any(answer.is_met is False for answer in answers):
                continue
            needs = max((_needed(sample, answer) for answer in answers if answer.is_met is None), default=0.0)
            text = " and ".join(answer.text for answer in answers)
            found.append(Breach(clause, f"not sure: {text}; {_advice(needs)}" if needs else text, needs))
        return found


class _Answer(NamedTuple):
    """Whether a term is met (None: undecided), the numbers as text, and the estimate with its bound in events."""

    is_met: bool | None
    text: str
    number: Estimate
    bound: float


def _of_amount(term: Term, amounts: Amounts) -> _Answer:
    number, text = amounts.amount(term.word, is_share=term.is_share)
    return _Answer(term.holds(number), text, Estimate(number, 0.0), term.bound)


def _answer(term: Term, measures: Sequence[Measure]) -> _Answer:
    word = _NOUNS.get(term.word, term.word.replace("_", " "))
    if not term.is_share:
        return _of_total(term, word, measures)
    # Any destination can meet a share: one that does speaks for all, the one with the largest share first.
    by_share = sorted(measures, key=lambda each: each.number.events / max(each.total, 1), reverse=True)
    answers = [_of_share(term, word, each) for each in by_share]
    for wanted in (True, None):
        for answer in answers:
            if answer.is_met is wanted:
                return answer
    return _Answer(False, "", Estimate(0.0, 0.0), 0.0)


def _of_total(term: Term, word: str, measures: Sequence[Measure]) -> _Answer:
    low, high = (sum(each.interval[end] for each in measures) for end in (0, 1))
    number = Estimate(sum(each.number.events for each in measures), sum(each.number.error for each in measures))
    estimated = "about " if low != high else ""
    return _Answer(_compared(term, low, high), f"{estimated}{number} {word}", number, term.bound)


def _of_share(term: Term, word: str, of: Measure) -> _Answer:
    low, high = (100 * end / of.total if of.total else 0.0 for end in of.interval)
    share = 100 * of.number.events / of.total if of.total else 0.0
    numbers = f"({of.number} of {of.total:,.0f})"
    if low != high:
        text = f"about {share:.3g}% {word} at {of.key}, {low:.3g}% to {high:.3g}% {numbers}"
    else:
        text = f"{share:.3g}% {word} at {of.key} {numbers}"
    return _Answer(_compared(term, low, high), text, of.number, term.bound / 100 * of.total)


def _compared(term: Term, low: float, high: float) -> bool | None:
    """Return whether every number of an interval meets the term; None if some do and some do not."""
    if low < term.bound < high:
        return None
    ends = {term.holds(low), term.holds(high)}
    return ends.pop() if len(ends) == 1 else None


def _needed(sample: float, answer: _Answer) -> float:
    """Return the share of the events whose estimate probably is on one side of the bound."""
    distance = abs(answer.number.events - answer.bound)
    # The error shrinks with the square root of the number of events.
    factor = max(2.0, _MARGIN * (answer.number.error / distance) ** 2) if distance else math.inf
    share = sample * factor
    return float(f"{share:.1g}") if share < _LARGEST_SAMPLE else 1.0


def _advice(needs: float) -> str:
    return "needs all events" if needs == 1 else f"needs a sample of {100 * needs:.3g}%"
