"""Conditions of checks, `changed>1% or failed>0`: the only parser of `--fail-on`, for every command.

`and` has precedence over `or`, a comma means `or`, and a word alone means `> 0`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from svctoolkit.errors import ConfigError, did_you_mean

_TERM = re.compile(r"\s*+([A-Za-z][\w-]*+)\s*+(?:(>=|<=|==|!=|>|<)\s*+([\d.]++(?:[eE]-?\d++)?)\s*+(%?))?\s*+")
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """A comparison of one number, or of a share in percent."""

    word: str
    compare: str
    bound: float
    is_share: bool

    def holds(self, number: float) -> bool:
        """Return whether a number, or a share in percent, meets the term."""
        return _OPERATORS[self.compare](number, self.bound)


class Clause(NamedTuple):
    """Terms that must hold together, and their text."""

    text: str
    terms: Sequence[Term]


@dataclass(frozen=True, slots=True)
class Words:
    """The words that conditions may use, in the order of messages.

    `shares` are those that may have a `%`; `unlimited` those whose share or number has no bounds, such as a change.
    `unavailable` says of a word what this run lacks, and `least` is the smallest number that a word can have here (0):
    a condition that never holds is a mistake, because its check would never fail.
    """

    known: Sequence[str]
    shares: Collection[str] = ()
    unlimited: Collection[str] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict)
    least: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    example: str = ""


class Met(NamedTuple):
    """A condition that is met, and the numbers as text."""

    condition: str
    text: str


def parse(text: str, words: Words) -> list[Clause]:
    """Return the clauses of conditions. Raises `ConfigError` for text that is invalid, or can never be met."""
    clauses = re.split(r",|\bor\b", text) if text.strip() else []
    return [Clause(clause.strip(), [_term(t, words) for t in re.split(r"\band\b", clause)]) for clause in clauses]


def met(clauses: Sequence[Clause], numbers: Mapping[str, Mapping[str, float]]) -> list[Met]:
    """Return the clauses that numbers meet: those of any place, each with all of its words. "" is the only place."""
    found = []
    for clause in clauses:
        for place, of in numbers.items():
            if all(term.holds(of[term.word]) for term in clause.terms):
                message = ", ".join(f"{of[term.word]:,} {term.word.replace('_', ' ')}" for term in clause.terms)
                found.append(Met(clause.text, f"{message} in {place}" if place else message))
    return found


def _term(text: str, words: Words) -> Term:
    match = _TERM.fullmatch(text)
    if match is None:
        example = words.example or f"{words.known[-1]}>0"
        raise ConfigError(f"{text.strip()!r} is not a condition. Example: {example}")
    word = match[1].replace("-", "_")
    if word in words.unavailable:
        raise ConfigError(f"{match[1]!r} {words.unavailable[word]}")
    if word not in words.known:
        known = ", ".join(words.known)
        hint = did_you_mean(word, words.known)
        raise ConfigError(f"unknown word {match[1]!r} in a condition; known words: {known}.{hint}")
    if match[4] and word not in words.shares:
        raise ConfigError(f"{match[1]!r} has no share: leave out the %")
    try:
        bound = float(match[3] or 0)
    except ValueError:
        raise ConfigError(f"{match[3]} is not a number") from None
    term = Term(word, match[2] or ">", bound, bool(match[4]))
    if word not in words.unlimited and (why := _never_holds(term, words)):
        raise ConfigError(f"{text.strip()!r} never holds: {why}")
    return term


def _never_holds(term: Term, words: Words) -> str:
    """Return why no number can meet the term; empty if one can."""
    bound = term.bound
    if term.is_share and ((bound > 100 and term.compare in (">", ">=", "==")) or (bound, term.compare) == (100, ">")):
        return "a share is at most 100%"
    least, why = words.least.get(term.word, (0, "a number of events is never negative"))
    if (term.compare == "<" and bound <= least) or (term.compare in ("<=", "==") and bound < least):
        return why
    return ""
