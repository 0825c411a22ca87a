"""A chunk through two pipelines: what is different for each event and destination."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from svctoolkit import personal
from svctoolkit.replay.engine.noise import without_noise
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.tally.differences import (
    OFF,
    SAME,
    Difference,
    Outcome,
    difference,
    general,
    json_type,
    outcome,
    short,
)
from svctoolkit.replay.tally.tally import Example, Group
from svctoolkit.results import ABSENT
from svctoolkit.results.changes import Change
from svctoolkit.results.failures import template_of
from svctoolkit.secrets import Masker

if TYPE_CHECKING:
    from svctoolkit.replay.engine.engine import Batch, Engine
    from svctoolkit.replay.engine.sides import Side

_SHOWN = 30  # changes of one example
_Key = tuple[str, str, str, str]  # kind, path, before, after
_Listed = list[tuple[str, str, str]]


def runner(engine: Engine) -> Callable[[str, Batch], None]:
    before, after = engine.sides
    shared = {key: after.share(key, before) for key in engine.job.destinations}

    def run(destination: str, batch: Batch) -> None:
        events, source = batch.events, batch.source
        old = new = _outcomes(engine, before, destination, batch, events)
        if not shared[destination] or before.identity(destination, source) != after.identity(destination, source):
            new = _outcomes(engine, after, destination, batch, events)
        with engine.timer("compare"):
            differences = [SAME if o is n else difference(o, n) for o, n in zip(old, new, strict=True)]
        if any(d.kind != "same" for d in differences):
            run_before = partial(_outcomes, engine, before, destination, batch, events)
            run_after = partial(_outcomes, engine, after, destination, batch, events)
            count = partial(_count, engine, destination)
            differences = without_noise(differences, old, new, run_before, run_after, count)
        with engine.timer("rows"):
            _Ledger(engine, destination).all(batch.records, zip(old, new, differences, strict=True))

    return run


def _outcomes(engine: Engine, side: Side, destination: str, batch: Batch, events: Sequence[Any]) -> list[Outcome]:
    passages = engine.run_side(side, destination, batch, events)
    if passages is None:
        return [OFF] * len(events)
    return [outcome(passage, engine.job.stages) for passage in passages]


def _count(engine: Engine, destination: str, path: str) -> None:
    """One more event in which what is at a path varies."""
    counts = engine.sum.tally.unstable.setdefault(destination, {})
    counts[path] = counts.get(path, 0) + 1


class _Ledger:
    """Counts, groups and rows of one destination."""

    def __init__(self, engine: Engine, destination: str) -> None:
        self._engine, self._destination, self._review = engine, destination, engine.review
        routes = [route for side in engine.sides if (route := side.route(destination)) is not None]
        self._maskers: tuple[Masker, ...] = tuple(route.masker for route in routes)
        self._of = {
            "destination_id": routes[-1].destination.id if routes else destination,
            "destination_name": routes[-1].destination.name if routes else destination,
            "destination": routes[-1].destination.type if routes else "",
        }

    def all(self, records: Sequence[Record], outcomes: Any) -> None:
        for record, (before, after, how) in zip(records, outcomes, strict=True):
            if before.status == after.status == "off":
                continue
            head = self._engine.head(record)
            how, patterns = self._review.reduce(how)
            for path in patterns:
                self._engine.sum.ignore(self._destination, path)
            changes = [self._hide(change) for change in how.changes]
            kind = how.kind if how.kind == "same" else self._group(head, before, after, how, changes)
            self._engine.sum.count(self._destination, kind)
            if self._engine.job.rows:
                self._row(head, before, after, kind, changes)

    def _hide(self, change: Change) -> Change:
        """A change without secrets and, on request, personal data."""
        return Change(change.path, self._value(change, change.before), self._value(change, change.after))

    def _value(self, change: Change, value: Any) -> Any:
        if value is ABSENT:
            return value
        for masker in self._maskers:
            value = masker.mask(value)
        return personal.replace_at(change.path, value, personal.mask) if self._engine.job.personal else value

    def _group(
        self, head: dict[str, str], before: Outcome, after: Outcome, how: Difference, changes: Sequence[Change]
    ) -> str:
        """Put the event into its groups; its kind, `accepted` where all of them are."""
        listed = [(c.path, short(c.before), short(c.after)) for c in changes[:_SHOWN]]
        if how.kind != "changed":
            texts = [self._words(before), self._words(after)]
            old, new = (template_of(t) if side.reason else t for t, side in zip(texts, (before, after), strict=True))
            return self._add(head, (how.kind, "", old, new), texts[0], texts[1], listed)[0]
        kinds: dict[_Key, str] = {}
        for change, clear in zip(how.changes, changes, strict=True):
            key = _key(change, clear, fixed=change.path in how.fixed)
            if key not in kinds:
                kinds[key], group = self._add(head, key, short(clear.before), short(clear.after), listed)
                if group is not None and {json_type(clear.before), json_type(clear.after)} == {"number"}:
                    group.measure(clear.before, clear.after)
        return "accepted" if set(kinds.values()) == {"accepted"} else "changed"

    def _words(self, side: Outcome) -> str:
        if side.status == "failed":
            return self._engine.words(side.reason, *self._maskers)
        reason = self._engine.words(side.reason, *self._maskers) if side.status == "filtered" else ""
        return f"{side.status}: {reason}" if reason else side.status

    def _add(
        self, head: dict[str, str], key: _Key, before: str, after: str, listed: _Listed
    ) -> tuple[str, Group | None]:
        event = head["event_name"] or head["event_type"]
        kind, *what = key
        if self._review.accepts((self._destination, *key), event):
            kind = "accepted"
        group = self._engine.sum.group(self._destination, kind, *what)
        if group is not None:
            group.add(event, Example(head["place"], head["event_id"], before, after, listed))
        return kind, group

    def _row(self, head: dict[str, str], before: Outcome, after: Outcome, kind: str, changes: Sequence[Change]) -> None:
        columns = self._engine.rows
        for name, value in (head | self._of).items():
            columns[name].append(value)
        columns["kind"].append(kind)
        for name, side in (("before", before), ("after", after)):
            columns[name].append(side.status)
            error = self._engine.words(side.reason, *self._maskers) if side.reason else None
            columns[f"{name}_error"].append(error)
        columns["changes"].append(self._engine.text([_plain(c) for c in changes]) if changes else None)


def _key(change: Change, clear: Change, *, fixed: bool) -> _Key:
    """The group of a change; `clear` is the change as it may be shown."""
    types = json_type(change.before), json_type(change.after)
    if change.path in ("error", "reason", "fate"):
        types = template_of(str(clear.before)), template_of(str(clear.after))
    elif fixed:
        types = f"varying {types[0]}", f"fixed {types[1]}"
    return ("changed", general(change.path), *types)


def _plain(change: Change) -> dict[str, Any]:
    sides = {"before": change.before, "after": change.after}
    return {"path": change.path, **{name: value for name, value in sides.items() if value is not ABSENT}}
