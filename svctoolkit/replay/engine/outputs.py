"""Compare two outputs: of replays by two versions of the toolkit or on two machines, or payloads of another system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from svctoolkit.causes import text_template
from svctoolkit.errors import ConfigError
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.replay.engine.ledger import Facts, Ledger
from svctoolkit.replay.records.json_text import decode
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.review.review import Review
from svctoolkit.replay.tally.differences import OFF, Outcome, difference
from svctoolkit.replay.tally.rows import COMPARISON, Columns, empty
from svctoolkit.replay.tally.tally import Sum, Tally
from svctoolkit.secrets import Masker

_NEEDED = ("event_id", "destination_id", "output")
_HEAD = ("place", "event_id", "event_type", "event_name", "user_id")
#: The outcome of an event is the first of these statuses that one of its rows has.
_ENDS = ("failed", "filtered", "unmapped", "dropped")
_Key: TypeAlias = tuple[str, str, int]  # destination, event, number of earlier events with this id
_Row: TypeAlias = Mapping[str, Any]


def compare_outputs(before: Iterable[Columns], after: Iterable[Columns], review: Review) -> tuple[Tally, Columns]:
    """Return the differences between the rows of two replays, and a row for each event and destination.

    Events are paired by id (by place if they have none), and by their order if several have the same id. The rows of
    both outputs are loaded into memory. Raises `ConfigError` if a column of a replay's rows is missing.
    """
    old, new = _events(before), _events(after)
    book = _Book(review)
    ledgers: dict[str, Ledger] = {}
    for key in dict.fromkeys([*old, *new]):
        rows = (new.get(key) or old[key])[0]
        if key[0] not in ledgers:
            facts = Facts(*(str(rows.get(name) or key[0]) for name in Facts._fields))
            ledgers[key[0]] = Ledger(book, key[0], facts, keeps_rows=True)
        sides = (_outcome(old[key]) if key in old else OFF, _outcome(new[key]) if key in new else OFF)
        record = Record("", {name: _text(rows.get(name)) for name in _HEAD})
        ledgers[key[0]].add([record], [(*sides, difference(*sides))])
    book.sum.tally.events = len({key[1:] for key in [*old, *new]})
    book.sum.tally.records = book.sum.tally.events
    return book.sum.finish(), book.rows


class _Book:
    """A book for outputs, whose values are masked already."""

    def __init__(self, review: Review) -> None:
        self.sum, self.rows, self.review = Sum(), empty(COMPARISON), review

    def head(self, record: Record) -> dict[str, str]:
        return dict(record.event)

    def words(self, text: str, *_: Masker) -> str:
        return text

    def text(self, value: Json, *_: Masker) -> str:
        return encode(value).decode()


def _events(blocks: Iterable[Columns]) -> dict[_Key, list[_Row]]:
    """Group the rows by event and destination. The rows of one event are adjacent, in the order of the events."""
    events: dict[_Key, list[_Row]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    last: tuple[str, str, str] | None = None
    for row in _rows(blocks):
        event = _text(row.get("event_id")) or _text(row.get("place"))
        destination = _text(row["destination_id"])
        here = destination, event, _text(row.get("place"))
        if here != last and (here[2] or not seen[here[:2]]):  # without places, all rows with the same id are one event
            seen[here[:2]] += 1
        last = here
        events.setdefault((destination, event, seen[here[:2]]), []).append(row)
    return events


def _rows(blocks: Iterable[Columns]) -> Iterator[_Row]:
    for block in blocks:
        missing = [name for name in _NEEDED if name not in block]
        if missing:
            raise ConfigError(f"not a replay result: column {missing[0]!r} is missing")
        names = list(block)
        for values in zip(*block.values(), strict=True):
            yield dict(zip(names, values, strict=True))


def _outcome(rows: Iterable[_Row]) -> Outcome:
    """Return the outcome of an event, from its rows. If they have no stage, each is a payload."""
    output: list[Any] = []
    ends: dict[str, _Row] = {}
    events: list[Any] = []
    for row in rows:
        status = _text(row.get("status"))
        # The first row of each status has the reason.
        ends.setdefault(status, row)
        text = _text(row.get("output"))
        if not text:
            continue
        stage = row.get("stage") or "dest_transform"
        if stage == "dest_transform":
            output.append(_value(text, row))
        elif stage == "user_transform":
            events.append(_value(text, row))
    # In this order: an event that failed after a dropped item has failed.
    for end in _ENDS:
        if end in ends:
            return _ended(end, output, ends[end])
    return Outcome("delivered", output or events)


def _ended(status: Any, output: list[Any], row: _Row) -> Outcome:
    """Return the outcome of an event that did not arrive. The error position is left out: lines of user code move."""
    reason, where = _text(row.get("error")), _text(row.get("where"))
    detail = reason.removesuffix(f" ({where})") if where else reason
    if not row.get("rule"):
        return Outcome(status, output, detail)
    return Outcome(status, output, reason, rule=_text(row.get("rule")), template=text_template(detail), detail=detail)


def _value(text: str, row: _Row) -> Any:
    try:
        return decode(text.encode())
    except ValueError as error:
        raise ConfigError(f"output of {_text(row.get('event_id')) or _text(row.get('place'))}: {error}") from error


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None or value != value else str(value)
