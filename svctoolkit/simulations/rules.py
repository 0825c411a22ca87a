"""The rules of a vendor as data: what a rule does, its limit, where it was read and how certain it is.

A simulation names a rule by its id and never repeats its limit. Rules live in `facts.yaml` next to the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from svctoolkit.errors import ConfigError, Problem, UnknownName, did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.yamlfile import check, load, schema

#: What a rule does to a record. `refused`, `dropped`, `cut` and `folded` are losses, `overwritten` and `moved` changes.
Effect: TypeAlias = Literal[
    "refused", "dropped", "cut", "folded", "overwritten", "moved", "ignored", "kept", "answer", "unsure"
]
#: documented, recorded, validator, inferred, general knowledge, contradictory sources
Confidence: TypeAlias = Literal["doc", "rec", "val", "inf", "gen", "unsure"]
#: `answers` responds without judging; `simulated` applies certain rules; `strict` also applies inferred ones and delays
Level: TypeAlias = Literal["answers", "simulated", "strict"]

LEVELS: tuple[Level, ...] = ("answers", "simulated", "strict")
LOSSES = ("refused", "dropped", "cut", "folded")
_CERTAIN = ("doc", "rec", "val")
_STALE_DAYS = 548  # 18 months


def check_level(level: str) -> Level:
    """Return the level with this name. Raises `ConfigError` for an unknown one."""
    for known in LEVELS:
        if level == known:
            return known
    near = did_you_mean(level, LEVELS) or f" The levels are {', '.join(LEVELS)}."
    raise ConfigError(f"no level is called {level!r}.{near}")


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page, specification or recording, and when it was last read."""

    title: Annotated[str, Meta(min_length=1)]
    checked: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}(-\d{2})?$")]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule of a vendor. `says` is the rule in one clause, `source` the code of its source.

    `limit` is its bound, several bounds by name, or the values that it lists.
    """

    id: Annotated[str, Meta(pattern=r"^[a-z0-9]+(\.[a-z0-9_]+)+$")]
    effect: Effect
    says: Annotated[str, Meta(min_length=1)]
    source: Annotated[str, Meta(min_length=1)]
    confidence: Confidence
    limit: int | list[str] | dict[str, int] | None = None

    def is_active(self, level: Level, confidence: Confidence | None = None) -> bool:
        """Whether the rule has an effect at this level; `confidence` replaces the rule's for one part of it."""
        certainty = confidence or self.confidence
        return level != "answers" and (certainty in _CERTAIN or (level == "strict" and certainty == "inf"))


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, Source]
    rules: list[Rule]


class Rules(Mapping[str, Rule]):
    """The rules of one vendor by id. Raises `UnknownName` for others."""

    def __init__(self, rules: Mapping[str, Rule], sources: Mapping[str, Source]) -> None:
        self._rules, self.sources = rules, sources
        self._where = {id: _where(sources[rule.source]) for id, rule in rules.items() if rule.source in sources}

    def __getitem__(self, id: str) -> Rule:
        if id not in self._rules:
            raise UnknownName("rule", id, self._rules)
        return self._rules[id]

    def __iter__(self) -> Json:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def source_of(self, rule: Rule) -> str:
        """Return where a rule was read, and when: `Mixpanel: Import Events, checked 2026-08-21`."""
        return self._where[rule.id]

    def stale(self, today: date) -> list[Rule]:
        """Return the rules whose source was last read more than 18 months ago."""
        return [rule for rule in self.values() if (today - _day(self.sources[rule.source].checked)).days > _STALE_DAYS]


def _where(source: Source) -> str:
    return f"{source.title}, checked {source.checked}"


def _day(text: str) -> date:
    return date.fromisoformat(text if len(text) > 7 else f"{text}-01")


@cache
def load_rules(path: Path) -> Rules:
    """Load the rules in a file: `sources` by code, and `rules`.

    Raises `ConfigError` with positions for a rule without a source, date, effect or confidence, or with an id twice.
    """
    document = load(path)
    check(document, schema(_File), ConfigError)
    file = msgspec.convert(document.data, _File)
    problems = []
    rules: dict[str, Rule] = {}
    for place, rule in enumerate(file.rules):
        if rule.source not in file.sources:
            message = f"rule {rule.id!r} names source {rule.source!r}, which is not in `sources`"
            problems.append(Problem(message, document.where(["rules", place, "source"])))
        if rule.id in rules:
            problems.append(Problem(f"rule {rule.id!r} is defined twice", document.where(["rules", place, "id"])))
        rules[rule.id] = rule
    if problems:
        raise ConfigError(problems)
    return Rules(rules, file.sources)
