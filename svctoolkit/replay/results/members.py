"""The events of a group, one by one, and the original event of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from svctoolkit.causes import CodeError, text_template
from svctoolkit.errors import ConfigError
from svctoolkit.lexical import storable_all
from svctoolkit.replay.inputs import Events, input_of, records
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.record import Chunk, Record, split_place
from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.tally.differences import json_type
from svctoolkit.replay.tally.rows import Columns as RowColumns
from svctoolkit.replay.tally.tally import Group
from svctoolkit.results import ABSENT
from svctoolkit.results.changes import general

if TYPE_CHECKING:
    import pandas as pd

_BLOCK = 50_000  # events converted at once
#: The columns of rows that identify events and the groups to which they belong, of a replay and of a comparison.
COLUMNS = (
    "place", "event_id", "event_type", "event_name", "user_id", "destination_id", "stage", "status", "error", "rule",
    "field", "where", "kind", "before", "after", "before_error", "after_error", "before_rule", "after_rule", "changes",
)  # fmt: skip
#: The kind of groups of events that arrive, in a replay.
ARRIVING = "delivered"
_HEAD = ("place", "event_id", "event_type", "event_name", "user_id")


class Member(NamedTuple):
    """One event of a group: its place, id, name and user, and the error or change."""

    place: str
    event_id: str
    event: str
    user: str
    text: str


class Members(Sequence[Member]):
    """Events of a group, also a million of them. `frame` has a row for each, with the columns of `Member`."""

    def __init__(self, found: Iterable[Member]) -> None:
        import pandas as pd

        remaining, blocks = iter(found), list[pd.DataFrame]()
        while block := list(islice(remaining, _BLOCK)):
            blocks.append(_frame(block))
        self.frame = pd.concat(blocks, ignore_index=True) if blocks else _frame([])

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [Member(*row) for row in self.frame.iloc[index].itertuples(index=False)]
        return Member(*self.frame.iloc[index])


def _frame(found: Sequence[Member]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(storable_all(found), columns=list(Member._fields), dtype="string")


def members(
    result: Replayed | Comparison, group: Group, most: int, *, destination_id: str = ""
) -> tuple[Members, bool]:
    """Return at most `most` events of the group, in the order of the input, and whether there are more.

    `destination_id` is the id of the group's destination, if it differs from its key. If the rows say nothing about the
    group (`lossy`), or no rows were kept, the examples of the group are returned.
    """
    found = Members(())
    with suppress(ConfigError):  # no rows were kept
        found = Members(islice(_events(_matching(result, group, destination_id or group.destination)), most))
    if found:
        return found, len(found) == most < group.count
    name = group.event if len(group.events) == 1 else ""
    examples = [Member(e.place, e.event_id, name, "", e.after) for e in group.examples[:most]]
    return Members(examples), len(examples) < group.count


def _events(rows: Iterable[Member]) -> Iterator[Member]:
    """Each event once: its rows are next to each other."""
    last = None
    for member in rows:
        if member.place != last:
            yield member
        last = member.place


def arriving(result: Replayed | Comparison) -> list[Group]:
    """The events that arrive, as a group for each destination; in a comparison, those that are the same."""
    kind = "same" if isinstance(result, Comparison) else ARRIVING
    return [
        Group(key, kind, "", "", "", count=counts[kind], events={"…": counts[kind]})
        for key, counts in result.counts.items()
        if counts.get(kind)
    ]


def text_of_member(result: Replayed | Comparison, group: Group) -> Callable[[RowColumns, int], str | None]:
    """Return a function of a row of the group's destination: its error or change if it is in the group, else None."""
    texts: dict[str, bool] = {}
    match = _match_change if isinstance(result, Comparison) else _match_status
    return lambda block, n: match(block, n, group, texts)


def _matching(result: Replayed | Comparison, group: Group, destination: str) -> Iterator[Member]:
    text_of = text_of_member(result, group)
    for block in result.blocks(COLUMNS):
        for n, owner in enumerate(block["destination_id"]):
            if owner != destination:
                continue
            text = text_of(block, n)
            if text is not None:
                place, event_id, kind, name, user = (str(block[column][n] or "") for column in _HEAD)
                if (name or kind) in group.events or "…" in group.events:
                    yield Member(place, event_id, name or kind, user, text)


def _match_status(block: RowColumns, n: int, group: Group, texts: dict[str, bool]) -> str | None:
    """Return the error of a row of a replay, if it is in the group; `texts` caches which errors are."""
    if group.kind == ARRIVING:
        return "" if (block["stage"][n], block["status"][n]) == ("dest_transform", "ok") else None
    if block["status"][n] != group.kind:
        return None
    error, rule = block["error"][n] or "", block["rule"][n] or ""
    if rule.startswith("code."):
        is_same = (rule, block["where"][n] or "") == (group.before, group.path) and _is_code_error(error, group)
        return error if is_same else None
    if rule:
        return error if (rule, block["field"][n] or "") == (group.before, group.path) else None
    if error not in texts:
        texts[error] = not error or text_template(error) == group.after
    return error if texts[error] else None


def _is_code_error(error: str, group: Group) -> bool:
    """Return whether the error of user code at a group's place has the group's message."""
    name, _, message = error.removesuffix(f" ({group.path})").partition(": ")
    return CodeError(name, message).template == group.after


def _match_change(block: RowColumns, n: int, group: Group, texts: dict[str, bool]) -> str | None:
    """Return the change in a row of a comparison, if it is in the group."""
    if block["kind"][n] != group.kind:
        return None
    if not group.path:
        broken = block["before_rule"][n], block["after_rule"][n]
        if any(rule and rule != key for rule, key in zip(broken, (group.before, group.after), strict=True)):
            return None
        return " → ".join(block[f"{side}_error"][n] or block[side][n] or "" for side in ("before", "after"))
    rules: tuple[str | None, str | None] = block["before_rule"][n], block["after_rule"][n]
    for change in json.loads(block["changes"][n] or "[]"):
        before, after = (change.get(side, ABSENT) for side in ("before", "after"))
        if general(change["path"]) == group.path and _fits(group, before, after, rules, texts):
            return f"{_text(before)} → {_text(after)}"
    return None


def _fits(group: Group, before: Any, after: Any, rules: tuple[str | None, str | None], texts: dict[str, bool]) -> bool:
    """Return whether a change at the group's path belongs to it, by broken rules, types, or templates of reasons."""
    if group.path == "error" and all(rules):
        return rules == (group.before, group.after)
    if group.path in ("error", "reason", "fate"):
        pair = f"{before}\n{after}"
        if pair not in texts:
            texts[pair] = (text_template(str(before)), text_template(str(after))) == (group.before, group.after)
        return texts[pair]
    return (json_type(before), json_type(after)) in ((group.before, group.after), ("number", "number")) or (
        {group.before, group.after} & {"varying", "fixed"} != set()
    )


def _text(value: Any) -> str:
    return "nothing" if value is ABSENT else json.dumps(value, ensure_ascii=False, default=str)


class Reader:
    """Reads single events again, by place. `events` and `columns` are the arguments of the replay.

    Raises `ConfigError` for events that can be read only once.
    """

    def __init__(self, events: Events, columns: Mapping[str, str] | None = None) -> None:
        if isinstance(events, Iterator):
            raise ConfigError("these events can be read only once: give a file, a list or a frame")
        self._input: Callable[[], Any] = lambda: input_of(events)
        self._columns = Columns(columns)

    def record(self, place: str) -> Record:
        """Return the event at a place (`file:line`, `[row]`), and its source. Raises `ConfigError` for other places."""
        for record in self.records([place]):
            return record
        raise ConfigError("there is no event at this place", where=place)

    def records(self, places: Iterable[str]) -> Iterator[Record]:
        """Yield the events at these places, in the order of the input. Others are not decoded."""
        lines: dict[str, set[int]] = {}
        for text in places:
            name, line = split_place(text)
            lines.setdefault(name, set()).add(line)
        for chunk in self._input().chunks():
            if isinstance(chunk, Chunk) and chunk.name in lines:
                for record in records(chunk, self._columns, lines[chunk.name]):
                    if isinstance(record, Record):
                        yield record
