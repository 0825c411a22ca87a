"""Checks: the conditions of rules, as data next to their limits.

A check belongs to kinds of records (`on`), such as the rows of a table, and looks at a member of it (`at`). Kinds like
`events.old` are records of the same table; kinds that begin with `request` are whole requests. It has one condition:

| condition | the rule is broken if |
|---|---|
| `needs: [a, b]` | none of these members has a value; empty ones have none |
| `has: [a, b]` | all of these members are missing or null |
| `is: email` | the value does not have this form, see `FORMATS` |
| `most: items` | this measure of the value is more than the rule's limit, see `MEASURES` |
| `least: letters` | it is less |
| `among: true`, `among: false` | the value is not one that the limit lists, or is one of them |
| `matches: "[a-z]+"` | the whole text does not match |
| `absent: true` | there is a value other than 0 and false |

A missing member breaks only `needs` and `has`. `when: {kind: [a, b]}` limits a check to records with one of these
values. A broken rule means the whole record; with `becomes: lower` the value is replaced instead, see `CONVERSIONS`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.simulations.answers import Values, filler
from svctoolkit.simulations.formats import FORMATS, Format, is_filled
from svctoolkit.simulations.json_text import text_of
from svctoolkit.simulations.measures import MEASURES, OF_CONTAINERS, Measure, cut_texts
from svctoolkit.simulations.paths import REMOVED, SEVERAL, convert, getter, selector, steps_of

#: What a rule does to a record. `refused`, `dropped`, `cut` and `folded` are losses, `overwritten` and `moved` changes.
Effect: TypeAlias = Literal[
    "refused", "dropped", "cut", "folded", "overwritten", "moved", "ignored", "kept", "answer", "unsure"
]
#: documented, recorded, validator, inferred, general knowledge, contradictory sources
Confidence: TypeAlias = Literal["doc", "rec", "val", "inf", "gen", "unsure"]
Limit: TypeAlias = int | list[str] | dict[str, int | list[str]] | None
#: `(value, limit, time of the request)` -> what is kept instead; `REMOVED` leaves it out
Conversion: TypeAlias = Callable[[Json, Any, datetime], Json]
#: `(value, time of the request)` -> what broke the rule, or `FINE`
_Condition: TypeAlias = Callable[[Json, datetime], Json]

#: no value breaks the rule
FINE: Final = object()
#: what `becomes` may name
CONVERSIONS: Final[Mapping[str, Conversion]] = {
    "nothing": lambda _value, _limit, _now: REMOVED,
    "cut": lambda value, limit, _now: cut_texts(value, limit),
    "first": lambda value, limit, _now: dict(list(value.items())[:limit]) if isinstance(value, dict) else value[:limit],
    "lower": lambda value, _limit, _now: value.lower(),
    "trimmed": lambda value, _limit, _now: value.strip(),
    "now": lambda _value, _limit, now: now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
}


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"is_": "is"}):
    """The condition of a rule, see above. `limit` chooses one of several limits, or the rule whose limit it shares;
    `effect` and `confidence` replace the rule's. `answer` are values for the form of the answer, `form` its name.
    """

    on: str | list[str]
    at: str = ""
    needs: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    is_: str = ""
    most: str = ""
    least: str = ""
    among: bool | None = None
    matches: str = ""
    absent: bool = False
    when: dict[str, list[str]] = {}
    limit: str = ""
    becomes: str = ""
    effect: Effect | None = None
    confidence: Confidence | None = None
    form: str = "refused"
    answer: dict[str, Json] = {}

    @property
    def kinds(self) -> list[str]:
        """The kinds of records that it belongs to."""
        return [self.on] if isinstance(self.on, str) else self.on

    def conditions(self) -> list[str]:
        """Return the conditions that are given."""
        given: dict[str, object] = {"needs": self.needs, "has": self.has, "is": self.is_, "matches": self.matches}
        given |= {"most": self.most, "least": self.least, "among": self.among is not None, "absent": self.absent}
        return [name for name, value in given.items() if value]


class Words(NamedTuple):
    """The words that the checks of one vendor may use: those of all simulations, and its own."""

    formats: Mapping[str, Format] = FORMATS
    measures: Mapping[str, Measure] = MEASURES
    conversions: Mapping[str, Conversion] = CONVERSIONS


class ReadyCheck:
    """A check that is ready to run. `limit` is its bound."""

    def __init__(self, rule: str, effect: Effect, check: Check, limit: Limit, words: Words) -> None:
        self.rule, self.effect, self.check, self.limit = rule, check.effect or effect, check, limit
        self._steps = steps_of(check.at)
        self._condition = _condition(check, limit, words)
        self._conversion = words.conversions[check.becomes] if check.becomes else None
        self._answer = filler(check.answer)
        names = tuple(itertools.takewhile(lambda step: step not in SEVERAL, self._steps))
        #: the names of the first members on the path: a record without them cannot break the rule
        self.first, self.second = (*names, "", "")[:2] if not (check.needs or check.has) else ("", "")
        #: returns the first value of a record that breaks the rule; `FINE` if none does
        self.value_of = _when(check, _presence(check) if check.needs or check.has else _values(check, self._condition))

    @property
    def member(self) -> str:
        """The member that it looks at."""
        return self.check.at or next(iter(self.check.needs or self.check.has), "")

    def repair(self, record: Json, now: datetime) -> Json:
        """Return the record as it is kept: values that break the rule are replaced. Without `becomes`, the record."""
        conversion = self._conversion
        if conversion is None:
            return record

        def change(value: Json) -> Json:
            is_fine = value is None or self._condition(value, now) is FINE
            return value if is_fine else conversion(value, self.limit, now)

        return convert(record, self._steps, change)

    def answer(self, values: Values) -> dict[str, Json]:
        """Return the values of the answer."""
        filled: dict[str, Json] = self._answer(values)
        return filled


def _when(check: Check, value_of: _Condition) -> _Condition:
    if not check.when:
        return value_of
    conditions = [(selector(path), frozenset(values)) for path, values in check.when.items()]

    def limited(record: Json, now: datetime) -> Json:
        for select, values in conditions:
            if not any(isinstance(value, str) and value in values for value in select(record)):
                return FINE
        return value_of(record, now)

    return limited


def _presence(check: Check) -> _Condition:
    paths, has_value = check.needs or check.has, is_filled if check.needs else _is_given
    get = getter(paths[0]) if len(paths) == 1 else None
    if get is not None:
        return lambda record, _: FINE if has_value(get(record)) else paths[0]
    selectors = [selector(path) for path in paths]
    return lambda record, _: (
        FINE if any(has_value(value) for select in selectors for value in select(record)) else paths[0]
    )


def _values(check: Check, condition: _Condition) -> _Condition:
    get, select = getter(check.at), selector(check.at)
    if not check.at:
        # A whole record is too much to report as the value.
        return lambda record, now: None if (broken := condition(record, now)) is record else broken
    if get is not None:
        return lambda record, now: FINE if (value := get(record)) is None else condition(value, now)

    # Most members of a record are scalars: do not measure those that have no size.
    kinds = (dict, list) if check.most in OF_CONTAINERS else object

    def first(record: Json, now: datetime) -> Json:
        for value in select(record):
            if value is not None and isinstance(value, kinds) and (broken := condition(value, now)) is not FINE:
                return broken
        return FINE

    return first


def _condition(check: Check, limit: Limit, words: Words) -> _Condition:
    if check.most or check.least:
        measure = words.measures[check.most or check.least]
        bound: Any = limit
        if check.most:
            return lambda value, now: size if (size := measure(value, now)) > bound else FINE
        return lambda value, now: size if (size := measure(value, now)) < bound else FINE
    if check.is_:
        has_form = words.formats[check.is_]
        return lambda value, _: FINE if has_form(value) else value
    if check.among is not None:
        values, expected = frozenset(limit) if isinstance(limit, list) else frozenset(), check.among
        return lambda value, _: FINE if (text_of(value) in values) is expected else value
    if check.matches:
        pattern = re.compile(check.matches)
        return lambda value, _: FINE if pattern.fullmatch(text_of(value)) else value
    return lambda value, _: value or FINE


def _is_given(value: Json) -> bool:
    return value is not None


def check_problem(check: Check, bound: Limit, words: Words) -> str | None:
    """Return what is wrong with a check that has this bound, or None."""
    conditions = check.conditions()
    if len(conditions) != 1:
        return f"a check has exactly one condition, not {', '.join(conditions) or 'none'}"
    named = [
        (check.is_, words.formats, "format"),
        (check.most or check.least, words.measures, "measure"),
        (check.becomes, words.conversions, "conversion"),
    ]
    for name, known, what in named:
        if name and name not in known:
            return f"no {what} is called {name!r}; there are {', '.join(known)}"
    if (check.most or check.least) and not isinstance(bound, int):
        return "the rule's limit is not a number; name one of several with `limit`"
    if check.among is not None and not isinstance(bound, list):
        return "the rule's limit does not list values"
    return None
