"""The rules of a vendor at one request: what they make of its records, what is reported, and the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from svctoolkit.json_types import Json
from svctoolkit.simulations.checks import FINE, Confidence, Effect, ReadyCheck
from svctoolkit.simulations.json_text import text_of
from svctoolkit.simulations.levels import Level
from svctoolkit.simulations.losses import Change, Loss
from svctoolkit.simulations.messages import About, Response, events_of
from svctoolkit.simulations.rates import Rates
from svctoolkit.simulations.rulebook import Rulebook
from svctoolkit.simulations.rules import LOSSES, Rule
from svctoolkit.simulations.tables.rows import Cause


class Broken(NamedTuple):
    """A record that a vendor does not keep: the check, the record's kind and place, and the value that broke it."""

    check: ReadyCheck
    kind: str
    place: int | None
    value: Json

    @property
    def values(self) -> dict[str, Json]:
        """The values of its answer: those that the check names, and `value`, `limit`, `kind`, `place`, `at`."""
        own = {"value": self.value, "limit": self.check.limit, "kind": self.kind, "place": self.place}
        own["at"] = self.check.member
        return {**own, **self.check.answer(own)}

    @property
    def is_refused(self) -> bool:
        """Whether the vendor's answer says so; otherwise the record is dropped silently."""
        return self.check.effect == "refused"


class RequestContext(NamedTuple):
    """What a simulated server knows about a request before it reads it.

    `number` counts its requests, `events` are message ids. `about` finds those of one record, `rates` count for
    limits, `note` gets what is lost or changed, and `cause` is what changes of rows refer to.
    """

    level: Level
    rulebook: Rulebook
    now: datetime
    number: int
    events: tuple[str, ...]
    destination: str
    run: str
    about: About | None
    rates: Rates
    note: Callable[[Loss], None]
    cause: Cause


class Judge:
    """Applies rules to the records of a request, and answers it. `now` is the time of the request."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self.level, self.now, self.number = context.level, context.now, context.number
        self._book, self._rules = context.rulebook, context.rulebook.rules
        self.record_of = {}
        #: message ids of the record that is being handled; by default all of the request
        self.events = context.events

    @property
    def record_of(self) -> Mapping[str, Json]:
        """The record that is being handled, of a request that several events share."""
        return self._context.cause.record

    @record_of.setter
    def record_of(self, record: Mapping[str, Json]) -> None:
        self._context.cause.record = record

    def answer(self, form: str, /, **values: Json) -> Response:
        """Return the answer of this form, with these values."""
        return self._book.forms[form](values)

    def has_answer(self, form: str) -> bool:
        """Whether there is a form of answers with this name."""
        return form in self._book.forms

    def refusal(self, broken: Broken) -> Response:
        """Return the answer to a request that is refused because of a record."""
        return self._book.forms[broken.check.check.form](broken.values)

    def judge(self, kind: str, record: Json, place: int | None = None) -> tuple[Json, Broken | None]:
        """Apply the checks of a kind of record, in the order of the file.

        Returns the record as it is kept, and the check by which it is refused or dropped as a whole, if any.
        """
        for check in self._book.checks(kind, self.level):
            # Most members that rules are about are missing in most records: skip these checks before any call.
            if check.first and type(record) is dict:
                if check.first not in record:
                    continue
                if check.second and type(inner := record[check.first]) is dict and check.second not in inner:
                    continue
            value = check.value_of(record, self.now)
            if value is FINE:
                continue
            declared = check.check
            table = "" if kind.startswith("request") else kind.partition(".")[0]
            self.report(check.rule, table, place, value=value, what=declared.effect, confidence=declared.confidence)
            if not declared.becomes:
                return record, Broken(check, kind, place, value)
            record = check.repair(record, self.now)
        return record, None

    def refuse(self, kind: str, record: Json, place: int | None = None) -> Response | None:
        """Return the refusal of a record, or None if it is valid."""
        _, broken = self.judge(kind, record, place)
        return self.refusal(broken) if broken else None

    def problems(self, kind: str, record: Json) -> list[Broken]:
        """Return all checks that a record breaks, without reporting them: what a validating endpoint answers."""
        checks = self._book.checks(kind, self.level)
        values = [(check, check.value_of(record, self.now)) for check in checks]
        return [Broken(check, kind, None, value) for check, value in values if value is not FINE]

    def throttle(self, rule: str, key: Json, count: int, seconds: int) -> int | None:
        """Count records of a user, device or account, at level `strict` only: a test's clock may not advance.

        Returns how many there are in the present window of `seconds`, if they are more than the rule allows in it.
        """
        if self.level != "strict" or not self.applies(rule):
            return None
        total = self._context.rates.add((rule, text_of(key)), count, seconds, self.now.timestamp())
        return total if total > self.limit(rule) else None

    def batch(self) -> Batch:
        """Return a collection of records that are refused one by one."""
        return Batch(self)

    def applies(self, rule: str, confidence: Confidence | None = None) -> bool:
        """Whether a rule has an effect at this level."""
        return self._rules[rule].is_active(self.level, confidence)

    def limit(self, rule: str, name: str = "") -> int:
        """Return the bound of a rule, or the one with this name."""
        bound = self._rules[rule].limit
        if name and isinstance(bound, dict):
            bound = bound[name]
        if not isinstance(bound, int):
            raise TypeError(f"rule {rule} has no number as its limit")
        return bound

    def values(self, rule: str) -> list[str]:
        """Return the values that a rule lists."""
        bound = self._rules[rule].limit
        if not isinstance(bound, list):
            raise TypeError(f"rule {rule} has no list as its limit")
        return bound

    def over(self, rule: str, size: int, table: str = "", place: int | None = None, *, name: str = "") -> bool:
        """Whether `size` exceeds the rule's limit (the one with this name); if so, report it."""
        return size > self.limit(rule, name) and self.report(rule, table, place, value=size)

    def report(
        self,
        rule: str,
        table: str = "",
        place: int | None = None,
        *,
        value: Json = None,
        what: Effect | None = None,
        confidence: Confidence | None = None,
        events: tuple[str, ...] | None = None,
    ) -> bool:
        """Report that a record broke a rule: as a loss or a change, by the effect of the rule (or `what`).

        Returns False, and reports nothing, if the rule has no effect at this level.
        """
        broken = self._rules[rule]
        if not broken.is_active(self.level, confidence):
            return False
        effect = what or broken.effect
        self._context.note(self._finding(broken, effect, table, place, value, confidence, events))
        return True

    def report_each(self, rule: str, table: str, records: Iterable[Json], *, value: Json = None) -> bool:
        """Report each record of a request that is lost as a whole. Returns False if the rule has no effect here."""
        if not self.applies(rule):
            return False
        for place, record in enumerate(records):
            self.record_of = record if isinstance(record, Mapping) else {}
            self.report(rule, table, place, value=value)
        return True

    def _finding(
        self,
        rule: Rule,
        effect: Effect,
        table: str,
        place: int | None,
        value: Json,
        confidence: Confidence | None,
        events: tuple[str, ...] | None,
    ) -> Loss:
        kind = Loss if effect in LOSSES else Change
        return kind(
            what=effect,
            rule=rule.id,
            says=rule.says,
            source=self._rules.source_of(rule),
            confidence=confidence or rule.confidence,
            table=table,
            place=place,
            value=value,
            limit=rule.limit if isinstance(rule.limit, int) else None,
            request=self.number,
            events=self._events_of_record() if events is None else events,
            destination=self._context.destination,
            run=self._context.run,
        )

    def _events_of_record(self) -> tuple[str, ...]:
        return events_of(self.record_of, self.events, self._context.about)


class Batch:
    """The records of a request that are judged one by one: those that are refused, and how many are not."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.refused: list[Broken] = []
        self.good: Counter[str] = Counter()

    def judge(self, kind: str, records: Iterable[Json]) -> Iterator[tuple[int, Json]]:
        """Yield place and content of each record that is kept. The judge reports for the events that it comes from."""
        for place, given in enumerate(records):
            self._judge.record_of = given if isinstance(given, Mapping) else {}
            record, broken = self._judge.judge(kind, given, place)
            if broken is not None and broken.is_refused:
                self.refused.append(broken)
                continue
            self.good[kind] += 1
            if broken is None:
                yield place, record

    def report_others(self, rule: str, kind: str, records: Iterable[Json]) -> None:
        """Report the records that are valid, but lost with the refused ones."""
        refused = {broken.place for broken in self.refused}
        for place, record in enumerate(records):
            if place not in refused:
                self._judge.record_of = record if isinstance(record, Mapping) else {}
                self._judge.report(rule, kind, place)

    @property
    def errors(self) -> list[dict[str, Json]]:
        """The values of the answers for the refused records."""
        return [broken.values for broken in self.refused]
