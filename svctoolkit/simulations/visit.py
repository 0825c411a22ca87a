"""One request at a simulated server: what its handler reads, changes and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime

from svctoolkit.json_types import Json
from svctoolkit.simulations.account import Account
from svctoolkit.simulations.losses import Change, Loss
from svctoolkit.simulations.messages import About
from svctoolkit.simulations.rules import LOSSES, Confidence, Effect, Level, Rule, Rules
from svctoolkit.simulations.table import Row, Table


class Visit:
    """What a handler works with. `tables` are those of the destination and run, `now` is the time of the request."""

    def __init__(
        self,
        config: Mapping[str, Json],
        account: Account,
        level: Level,
        tables: Mapping[str, Table],
        rules: Rules,
        now: datetime,
        number: int,
        events: tuple[str, ...],
        destination: str,
        run: str,
        about: About | None,
        note: Callable[[Loss], None],
    ) -> None:
        self.config, self.account, self.level, self.tables = config, account, level, tables
        self.now, self.number = now, number
        self._rules, self._destination, self._run, self._about, self._note = rules, destination, run, about, note
        #: the record that is being handled, of a request that several events share
        self.record_of: Mapping[str, Json] = {}
        #: message ids of the record that is being handled; by default all of the request
        self.events = events

    # --- rules

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
        self._note(self._finding(broken, effect, table, place, value, confidence, events))
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
            destination=self._destination,
            run=self._run,
        )

    def _events_of_record(self) -> tuple[str, ...]:
        if len(self.events) <= 1 or self._about is None or not self.record_of:
            return self.events
        return self._about(self.record_of)

    # --- rows

    def create(self, table: str, ids: Mapping[str, Json], *, shown: bool = True) -> Row:
        """Add a row with these ids, and those that the vendor gives it, without an owner."""
        declared = self.tables[table].type
        made = declared.makes(self.tables[table].next_number)
        values = declared.new_values()
        ids = {**made, **ids}
        return self.tables[table].add(ids, values, at=self.now, request=self.number, events=self.events, shown=shown)

    def record(self, table: str, values: dict[str, Json], owner: Row | None, place: int | None = None) -> Row:
        """Add an event, or fold it into an earlier one by the table's keys. Returns the row that is kept.

        That an event is folded is a loss, unless both are the same event of ours, which was sent again.
        """
        of = self.tables[table]
        owners = self.tables.get(of.type.owner)
        number = owners.owner_of(owner) if owners and owner else 0
        row = Row(0, {}, values, number, events=self.events)
        folded = of.fold(row, number, self.now, active=self.applies) if of.type.folds else None
        if folded is None:
            return self._insert(of, row, number)
        fold, earlier = folded
        if not (self.events and self.events == earlier.events):
            self.report(fold.rule, table, place, what="folded", value=values.get("name"))
        if fold.keeps == "first":
            return earlier
        if fold.keep_older:
            earlier.shown = False
            of.touch(earlier)
        else:
            of.remove(earlier)
        added = self._insert(of, row, number)
        of.refold(fold, added, number)
        return added

    def _insert(self, table: Table, row: Row, owner: int) -> Row:
        added = table.add(row.ids, row.values, owner=owner, at=self.now, request=self.number, events=self.events)
        for fold in table.type.folds:
            if self.applies(fold.rule):
                table.refold(fold, added, owner)
        return added

    def touch(self, table: str, row: Row) -> None:
        """Note that the values of a row have changed."""
        self.tables[table].touch(row)

    def visible(self, row: Row, lag: float) -> bool:
        """Whether a read sees a row: at level `strict` only after `lag` seconds."""
        return row.shown and (self.level != "strict" or self.now.timestamp() - row.at >= lag)

    def delete(self, table: str, row: Row) -> None:
        """Remove a row, and the rows of other tables that belong to it."""
        owners = self.tables[table]
        numbers = [row.number]
        for other in self.tables.values():
            if other.type.owner == table:
                for owned in other.rows_of(owners, numbers):
                    other.remove(owned)
        owners.remove(row)


class Items:
    """The records of a request in several lists: which were refused, with details, and how many are good."""

    def __init__(self) -> None:
        self.refused: list[tuple[str, int, dict[str, Json]]] = []
        self.good: Counter[str] = Counter()

    def refuse(self, name: str, place: int, **details: Json) -> None:
        """Note a refused record."""
        self.refused.append((name, place, details))
