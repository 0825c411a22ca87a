"""Count and record differences, for two pipelines as well as for two existing outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

from svctoolkit import personal
from svctoolkit.causes import text_template
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Passage
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.review.fingerprints import Seen, identified
from svctoolkit.replay.review.review import Review
from svctoolkit.replay.tally.differences import LOST, Difference, Outcome, json_type
from svctoolkit.replay.tally.exposure import delivered_personal_data, new_personal_data
from svctoolkit.replay.tally.rows import Columns
from svctoolkit.replay.tally.tally import NEWLY_LOST, Example, Group, Sum, add_counts
from svctoolkit.results import ABSENT
from svctoolkit.results.changes import Change, general
from svctoolkit.secrets import Masker

_SHOWN = 30  # changes per example
_Key: TypeAlias = tuple[str, str, str, str]  # kind, path, before, after
_Listed: TypeAlias = list[tuple[str, str, str]]


class Facts(NamedTuple):
    """The columns about a destination in rows."""

    destination_id: str
    destination_name: str
    destination: str


class Book(Protocol):
    """Collects the sum and the rows, masks values and texts, and has the rules for ignored differences."""

    sum: Sum
    rows: Columns
    review: Review

    def head(self, record: Record) -> dict[str, str]: ...
    def words(self, text: str, *maskers: Masker) -> str: ...
    def text(self, value: Json, *maskers: Masker) -> str: ...


class Ledger:
    """Adds the counts, groups and rows of one destination to a book.

    `source` is the source of its events, if known. `maskers` hide secrets; with `personal`, personal data is hidden,
    too. `decides` returns what decides that an event
    does not arrive on the later side, if that can be determined.
    """

    def __init__(
        self,
        book: Book,
        destination: str,
        facts: Facts,
        maskers: Sequence[Masker] = (),
        *,
        keeps_rows: bool,
        source: str = "",
        personal: bool = False,
        decides: Callable[[Record, Passage], str] | None = None,
    ) -> None:
        self._book, self._destination, self._of = book, destination, facts
        self._maskers, self._keeps_rows, self._personal = maskers, keeps_rows, personal
        self._decides, self._source = decides, source

    def add(self, records: Sequence[Record], outcomes: Iterable[tuple[Outcome, Outcome, Difference]]) -> None:
        """Add events, with their outcomes on both sides and the difference."""
        for record, (before, after, how) in zip(records, outcomes, strict=True):
            # The event reaches neither side's destination: there is nothing to compare.
            if before.status == after.status == "off":
                continue
            head = self._book.head(record)
            how, patterns = self._book.review.reduce(how)
            for path in patterns:
                self._book.sum.ignore(self._destination, path)
            changes = [self._hide(change) for change in how.changes]
            kind = how.kind if how.kind == "same" else self._group(record, before, after, how, changes)
            self._book.sum.count(self._destination, kind, record.stratum)
            event = head["event_name"] or head["event_type"]
            self._book.sum.flows.shift(self._source, event, self._destination, _end(before), _end(after), kind)
            if self._keeps_rows:
                self._row(head, before, after, kind, changes)

    def _hide(self, change: Change) -> Change:
        """Return a change without secrets and, on request, personal data."""
        return Change(change.path, self._value(change, change.before), self._value(change, change.after))

    def _value(self, change: Change, value: Any) -> Any:
        if value is ABSENT:
            return value
        for masker in self._maskers:
            value = masker.mask(value)
        return personal.replace_at(change.path, value, personal.mask) if self._personal else value

    def _group(
        self, record: Record, before: Outcome, after: Outcome, how: Difference, changes: Sequence[Change]
    ) -> str:
        """Add the event to its groups; return its kind, `accepted` if all of them are."""
        listed = [(c.path, *c.sides()) for c in changes[:_SHOWN]]
        if how.kind != "changed":
            texts = [self._words(before), self._words(after)]
            old, new = (
                side.key if side.rule else text_template(t) if side.reason else t
                for t, side in zip(texts, (before, after), strict=True)
            )
            ended = after.passage if after.status != "delivered" else None
            seen = Seen(stage=ended.fate.by if ended else "")
            kind, group = self._add(record, (how.kind, "", old, new), (texts[0], texts[1]), listed, seen, ended)
            _name_rules(group, before, after)
            if kind != "accepted" and after.lost.keys() - before.lost.keys():
                self._book.sum.lose_newly(self._destination, record.stratum)
            # No difference to look at, but the whole payload is new at this destination, and so is its personal data.
            if kind == "newly delivered":
                self._expose(record, {kind: group}, {kind: delivered_personal_data(after.output)})
            return kind
        kinds: dict[_Key, str] = {}
        groups: dict[_Key, Group | None] = {}
        exposed: dict[_Key, list[str]] = {}
        for change, clear in zip(how.changes, changes, strict=True):
            # Grouped by types, not by values: `number -> text` in a thousand events is one finding.
            key = _key(change, clear, before, after, fixed=change.path in how.fixed)
            exposed.setdefault(key, []).extend(new_personal_data(change, before.output))
            if key not in kinds:
                kinds[key], group = self._add(record, key, clear.sides(), listed, Seen(clear.before, clear.after))
                groups[key] = group if kinds[key] != "accepted" else None
                if change.path == "error":
                    _name_rules(group, before, after)
                if group is not None:
                    group.show(identified(clear.before), identified(clear.after))
                if group is not None and {json_type(clear.before), json_type(clear.after)} == {"number"}:
                    group.measure(clear.before, clear.after)
        self._expose(record, groups, exposed)
        for key in groups:
            if key[1].startswith(LOST) and key[2] == "nothing":  # counted for each rule
                self._book.sum.mark(self._destination, NEWLY_LOST, record.stratum)
        # One change that is not accepted is enough to report the event.
        return "accepted" if set(kinds.values()) == {"accepted"} else "changed"

    def _expose(self, record: Record, groups: Mapping[Any, Group | None], exposed: Mapping[Any, Sequence[str]]) -> None:
        """Count new personal data of an event, by group, and once for the destination. Accepted groups do not count."""
        for key, group in groups.items():
            if group is not None:
                group.personal = add_counts(group.personal, dict.fromkeys(exposed[key], 1))
        kinds = {kind for key, of_key in exposed.items() if groups[key] is not None for kind in of_key}
        self._book.sum.expose(self._destination, kinds, record.stratum)

    def _words(self, side: Outcome) -> str:
        if side.status == "failed":
            return self._book.words(side.reason, *self._maskers)
        if side.status == "dropped" and side.passage is not None:
            return f"dropped in {side.passage.fate.by}"
        reason = self._book.words(side.reason, *self._maskers) if side.status == "filtered" else ""
        return f"{side.status}: {reason}" if reason else side.status

    def _add(
        self,
        record: Record,
        key: _Key,
        sides: tuple[str, str],
        listed: _Listed,
        seen: Seen,
        ended: Passage | None = None,
    ) -> tuple[str, Group | None]:
        head = self._book.head(record)
        event = head["event_name"] or head["event_type"]
        kind, *what = key
        accepting = self._book.review.accepting((self._destination, *key), event, seen)
        if accepting is not None:
            kind = "accepted"
            self._book.sum.accept(self._destination, accepting)
        group = self._book.sum.group(self._destination, kind, *what)
        if group is not None:
            if ended is not None and self._decides is not None:
                self._book.sum.decide(group, ended.fate.by, partial(self._decides, record, ended))
            self._book.sum.show(group, record, event, Example(head["place"], head["event_id"], *sides, listed))
        return kind, group

    def _row(self, head: dict[str, str], before: Outcome, after: Outcome, kind: str, changes: Sequence[Change]) -> None:
        columns = self._book.rows
        for name, value in (head | self._of._asdict()).items():
            columns[name].append(value)
        columns["kind"].append(kind)
        for name, side in (("before", before), ("after", after)):
            columns[name].append(side.status)
            error = self._book.words(side.reason, *self._maskers) if side.reason else None
            columns[f"{name}_error"].append(error)
            columns[f"{name}_rule"].append(side.rule or None)
        columns["changes"].append(self._book.text([_plain(c) for c in changes]) if changes else None)


def _end(side: Outcome) -> tuple[str, str]:
    """Return the fate of an event, and the stage where it stopped."""
    stopped = side.passage is not None and side.status != "delivered"
    return side.status, side.passage.fate.by if stopped and side.passage is not None else ""


def _name_rules(group: Group | None, before: Outcome, after: Outcome) -> None:
    """Set the sentences to show for the rules in the key of a group."""
    if group is not None:
        group.before_text = before.template if before.rule else ""
        group.after_text = after.template if after.rule else ""


def _key(change: Change, clear: Change, before: Outcome, after: Outcome, *, fixed: bool) -> _Key:
    """Return the key of a change's group; `clear` is the change with masked values."""
    types = json_type(change.before), json_type(change.after)
    if change.path == "error" and before.rule and after.rule:
        types = before.rule, after.rule
    elif change.path in ("error", "reason", "fate"):
        types = text_template(str(clear.before)), text_template(str(clear.after))
    elif fixed:
        types = f"varying {types[0]}", f"fixed {types[1]}"
    return ("changed", general(change.path), *types)


def _plain(change: Change) -> dict[str, Any]:
    sides = {"before": change.before, "after": change.after}
    return {"path": change.path, **{name: value for name, value in sides.items() if value is not ABSENT}}
