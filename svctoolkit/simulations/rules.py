"""The rules of a vendor as data: what a rule does, its limit, where it was read and how certain it is.

A simulation names a rule by its id and never repeats its limit. Rules live in `facts.yaml` next to the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from svctoolkit.errors import ConfigError, Problem, UnknownName
from svctoolkit.json_types import Json
from svctoolkit.simulations.answers import Form
from svctoolkit.simulations.checks import Check, Confidence, Effect, Limit, Words, check_problem
from svctoolkit.simulations.levels import Level
from svctoolkit.yamlfile import check, load, schema

#: what helps against a loss, as one clause each
Fix: TypeAlias = dict[Literal["setting", "code"], str]

LOSSES = ("refused", "dropped", "cut", "folded")
_CERTAIN = ("doc", "rec", "val")
_STALE_DAYS = 548  # 18 months
_WORDS = Words()


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page, specification or recording, and when it was last read."""

    title: Annotated[str, Meta(min_length=1)]
    checked: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}(-\d{2})?$")]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule of a vendor. `says` is the rule in one clause, `source` the code of its source.

    `limit` is its bound, several bounds by name, or the values that it lists. `checks` are the conditions under which
    it applies; a rule without them is applied by the simulation's code. `fix` is what helps: a `setting` of the
    destination, or a change of events in user `code`.
    """

    id: Annotated[str, Meta(pattern=r"^[a-z0-9]+(\.[a-z0-9_]+)+$")]
    effect: Effect
    says: Annotated[str, Meta(min_length=1)]
    source: Annotated[str, Meta(min_length=1)]
    confidence: Confidence
    limit: Limit = None
    checks: list[Check] = []
    fix: Fix = {}

    def is_active(self, level: Level, confidence: Confidence | None = None) -> bool:
        """Whether the rule has an effect at this level; `confidence` replaces the rule's for one part of it."""
        certainty = confidence or self.confidence
        return level != "answers" and (certainty in _CERTAIN or (level == "strict" and certainty == "inf"))


def bound_of(check: Check, rule: Rule, rules: Mapping[str, Rule]) -> Limit:
    """Return the limit of a rule's check: the rule's, the one with the check's name for it, or another rule's."""
    if check.limit in rules:
        return rules[check.limit].limit
    return rule.limit.get(check.limit) if check.limit and isinstance(rule.limit, dict) else rule.limit


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, Source]
    rules: list[Rule]
    answers: dict[str, Form] = {}


class Rules(Mapping[str, Rule]):
    """The rules of one vendor by id, and the `forms` of its answers. Raises `UnknownName` for other rules."""

    def __init__(self, rules: Mapping[str, Rule], sources: Mapping[str, Source], forms: Mapping[str, Form]) -> None:
        self._rules, self.sources, self.forms = rules, sources, forms
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


def load_rules(path: Path, words: Words = _WORDS) -> Rules:
    """Load the rules in a file: `sources` by code, `rules`, and the forms of `answers` by name.

    Raises `ConfigError` with positions for a rule without a source, date, effect or confidence, or with an id twice,
    and for a check that has no condition, several, or one that is not among the `words`.
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
        for number, each in enumerate(rule.checks):
            wrong = check_problem(each, bound_of(each, rule, rules), words) or (
                f"no answer is called {each.form!r}" if each.form not in file.answers and file.answers else None
            )
            if wrong:
                where = document.where(["rules", place, "checks", number])
                problems.append(Problem(f"rule {rule.id!r}: {wrong}", where))
    if problems:
        raise ConfigError(problems)
    return Rules(rules, file.sources, file.answers)
