"""Failure conditions for a result: `changed>1% or new_failures>0 or lost>0`.

A number counts events over all destinations. A share is relative to the events of one destination, and any destination
can meet the condition. `and` has precedence over `or`, a comma means `or`, and a word alone means `> 0`.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.replay.tally.differences import KINDS, LOST, STATUSES
from svctoolkit.replay.tally.losses import SENT, by_rule
from svctoolkit.replay.tally.tally import Tally

_TERM = re.compile(r"\s*+([A-Za-z][\w-]*+)\s*+(?:(>=|<=|==|!=|>|<)\s*+([\d.]++(?:[eE]-?\d++)?)\s*+(%?))?\s*+")
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_DIFFERENT = tuple(kind for kind in KINDS if kind not in ("same", "accepted"))
#: Word in a condition -> kinds that are counted. `lost`: delivered before, but not any longer.
_OF_COMPARISON: Mapping[str, tuple[str, ...]] = {
    **{kind.replace(" ", "_"): (kind,) for kind in KINDS},
    "new_failures": ("newly failing",),
    "lost": ("newly dropped", "newly failing"),
    "any": _DIFFERENT,
}
_OF_REPLAY: Mapping[str, tuple[str, ...]] = {status: (status,) for status in STATUSES if status != "off"}
_REJECTED = "rejected"
_LOSSY = "lossy"  # of a replay: events with a value that does not arrive as it was returned or sent
#: What simulated destinations do. `lost`: any of the others.
_OF_LOSSES: Mapping[str, tuple[str, ...]] = dict.fromkeys(("lost", "refused", "dropped", "cut", "folded"), ())
_NEWLY_LOST = "newly_lost"  # of a comparison: by a rule by which it was not lost before
_PERSONAL = "personal"  # of a comparison: events with plain personal data that is new


class Breach(NamedTuple):
    """A failure condition that is met, and the numbers as text. Not a violation: no tracking plan is involved."""

    condition: str
    text: str


@dataclass(frozen=True, slots=True)
class _Term:
    word: str
    compare: str
    bound: float
    is_share: bool


class Conditions:
    """The conditions under which a result fails a check. Raises `ConfigError` for invalid text.


    `compares`: about a comparison. `losses`: only about what simulated destinations lose.
    """

    def __init__(self, text: str, *, compares: bool = False, losses: bool = False) -> None:
        if losses:
            self._words = _OF_LOSSES
        else:
            more = {_NEWLY_LOST: (), _PERSONAL: ()}
            self._words = {**_OF_COMPARISON, **more} if compares else {**_OF_LOSSES, **_OF_REPLAY, _LOSSY: ()}
        clauses = re.split(r",|\bor\b", text) if text.strip() else []
        self._clauses = [(clause.strip(), [self._term(t) for t in re.split(r"\band\b", clause)]) for clause in clauses]

    def breaches(self, tally: Tally) -> list[Breach]:
        """Return the conditions that are met, in order."""
        found = []
        for clause, terms in self._clauses:
            texts = [_holds(term, self._words.get(term.word, ()), tally) for term in terms]
            if all(texts):
                found.append(Breach(clause, " and ".join(texts)))
        return found

    def _term(self, text: str) -> _Term:
        match = _TERM.fullmatch(text)
        if match is None:
            raise ConfigError(f"{text.strip()!r} is not a condition. Example: changed>1% or new_failures>0")
        word = match[1].replace("-", "_")
        if word not in self._words and word != _REJECTED:
            words = [*self._words, _REJECTED]
            raise ConfigError(
                f"unknown word {match[1]!r} in a condition; known words: {', '.join(words)}.{did_you_mean(word, words)}"
            )
        try:
            bound = float(match[3] or 0)
        except ValueError:
            raise ConfigError(f"{match[3]} is not a number") from None
        return _Term(word, match[2] or ">", bound, bool(match[4]))


def _holds(term: _Term, kinds: Sequence[str], tally: Tally) -> str:
    """Return the numbers of a term as text if it is met, otherwise an empty string."""
    compare = _OPERATORS[term.compare]
    word = "events with new personal data" if term.word == _PERSONAL else term.word.replace("_", " ")
    if term.word == _REJECTED:
        shares = {"the input": (tally.rejected, tally.records)}
    elif term.word == _PERSONAL:
        of = tally.personal
        shares = {key: (max(of.get(key, {}).values(), default=0), sum(c.values())) for key, c in tally.counts.items()}
    elif term.word == _LOSSY:
        shares = {key: (tally.lossy.get(key, 0), sum(counts.values())) for key, counts in tally.counts.items()}
    elif term.word in _OF_LOSSES and not kinds:
        shares = {key: (_count(of, term.word), of[SENT, ""]) for key, of in by_rule(tally.lost).items()}
    elif term.word == _NEWLY_LOST:
        shares = {key: (_newly_lost(tally, key), sum(of.values())) for key, of in tally.counts.items()}
    else:
        shares = {
            key: (sum(counts.get(kind, 0) for kind in kinds), sum(counts.values()))
            for key, counts in tally.counts.items()
        }
    if not term.is_share:
        total = sum(count for count, _ in shares.values())
        return f"{total:,} {word}" if compare(total, term.bound) else ""
    parts = [(100 * count / total if total else 0.0, count, total, key) for key, (count, total) in shares.items()]
    holding = [part for part in parts if compare(part[0], term.bound)]
    if not holding:
        return ""
    share, count, total, key = max(holding)
    return f"{share:.3g}% {word} at {key} ({count:,} of {total:,})"


def _count(counts: Counter[tuple[str, str]], what: str) -> int:
    return sum(count for (done, _), count in counts.items() if done == what)


def _newly_lost(tally: Tally, destination: str) -> int:
    """Return for how many events a destination newly loses something, counted for each rule."""
    return sum(
        group.count
        for group in tally.groups
        if group.destination == destination
        and group.kind == "changed"
        and group.path.startswith(LOST)
        and group.before == "nothing"
    )
