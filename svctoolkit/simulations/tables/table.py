"""Tables of what a simulated vendor holds: rows with ids, owners, and keys by which rows fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime

from svctoolkit.json_types import Json
from svctoolkit.simulations.json_text import text_of
from svctoolkit.simulations.tables.rows import Alias, Cause, Fold, FoldKey, Key, Row, TableType
from svctoolkit.simulations.tables.spilled import Disk, Spilled

#: the mappings of a table, and the types of their values
_MAPS = {
    "rows": Row, "moved": int, "_keys": int, "_weak": dict[int, None], "_weak_of": tuple[Key, ...], "_folds": int | Row,
}  # fmt: skip
#: ids of merged rows that find one row
_MERGED_KEYS = 1_000
_INDEXED = 16  # attributes by which rows are found, without those that are declared


@dataclass(slots=True, eq=False)
class Table:
    """The rows of one table. `limit` is how many are kept; older ones are removed and counted in `forgotten`.

    With a `disk`, all are kept, but a table whose rows have no ids is a log: it keeps only what later rows fold by.
    That is for many events, of which none is read again.
    """

    type: TableType
    limit: int
    disk: Disk | None = None
    cause: Cause = field(default_factory=Cause)
    rows: MutableMapping[int, Row] = field(default_factory=dict)
    forgotten: int = 0
    #: rows whose rows belong to another one now
    moved: MutableMapping[int, int] = field(default_factory=dict)
    #: numbers of rows that have changed since the last request, each with the record that changed it
    dirty: dict[int, Mapping[str, Json]] = field(default_factory=dict)
    _indexed: list[str] = field(default_factory=list)
    _keys: MutableMapping[Key, int] = field(default_factory=dict)
    _weak: MutableMapping[Key, dict[int, None]] = field(default_factory=dict)
    _weak_of: MutableMapping[int, tuple[Key, ...]] = field(default_factory=dict)
    #: numbers of rows by the keys by which later ones fold into them; of a log, the rows
    _folds: MutableMapping[tuple[Json, ...], int | Row] = field(default_factory=dict)
    #: the number of the next row
    next_number: int = 1
    #: the strong ids if each is one name, as of most tables
    _names: tuple[str, ...] = ()
    _is_log: bool = False

    def __post_init__(self) -> None:
        names = tuple(id for id in self.type.ids if isinstance(id, str))
        self._names = names if len(names) == len(self.type.ids) else ()
        self._indexed = list(self.type.weak)
        self._is_log = self.disk is not None and not self.type.ids
        if self.disk is not None:
            for name, of in _MAPS.items():
                setattr(self, name, self.disk.new_map(of))

    def spill(self) -> None:
        """Move the oldest rows to the disk, if there is one and there are many. No row may be in use."""
        if self.disk is not None:
            for name in _MAPS:
                getattr(self, name).spill()

    @property
    def in_memory(self) -> int:
        """The number of entries in memory of a table with a disk."""
        maps = [getattr(self, name) for name in _MAPS]
        return sum(of.in_memory for of in maps if isinstance(of, Spilled))

    # --- finding

    def find(self, ids: Mapping[str, Json]) -> Row | None:
        """Return the row that the first known strong id belongs to."""
        for key in self._strong(ids):
            number = self._keys.get(key)
            if number is not None:
                return self.rows[number]
        return None

    def find_all(self, ids: Mapping[str, Json]) -> list[Row]:
        """Return the different rows that these strong ids belong to."""
        numbers = dict.fromkeys(n for key in self._strong(ids) if (n := self._keys.get(key)) is not None)
        return [self.rows[number] for number in numbers]

    def find_weak(self, name: str, value: Json) -> list[Row]:
        """Return the rows that have this value of a weak id."""
        return [self.rows[number] for number in self._weak.get((name, text_of(value)), ())]

    def find_by(self, name: str, value: Json) -> list[Row]:
        """Return the rows that have this attribute, in the order in which they got it.

        The first 16 attributes that are asked for get an index; other ones are compared row by row.
        """
        if name not in self._indexed:
            if len(self._indexed) >= _INDEXED:
                text = text_of(value)
                return self.where(
                    lambda row: (
                        (of := (row.values.get("attributes") or {}).get(name)) is not None and text_of(of) == text
                    )
                )
            self._indexed.append(name)
            for row in self.rows.values():
                self._index_weak(row)
        return self.find_weak(name, value)

    def owner_of(self, row: Row) -> int:
        """Return the number under which rows of `row` are kept now."""
        return self.canonical(row.number)

    def canonical(self, number: int) -> int:
        while number in self.moved:
            number = self.moved[number]
        return number

    def shown(self) -> list[Row]:
        return self.where(lambda row: row.shown)

    def where(self, matches: Callable[[Row], bool]) -> list[Row]:
        """Return the rows that match, in their order. Of a table on disk, only these are kept in memory."""
        if self.disk is None:
            return [row for row in self.rows.values() if matches(row)]
        return [self.rows[number] for number in [row.number for row in self.rows.values() if matches(row)]]

    def _strong(self, ids: Mapping[str, Json]) -> Iterable[Key]:
        if not ids:
            return ()
        if self._names:
            return [(name, text_of(value)) for name in self._names if (value := ids.get(name)) is not None]
        return self._composed(ids)

    def _composed(self, ids: Mapping[str, Json]) -> Iterator[Key]:
        for id in self.type.ids:
            if isinstance(id, str):
                if ids.get(id) is not None:
                    yield id, text_of(ids[id])
            elif isinstance(id, tuple):
                if all(ids.get(name) is not None for name in id):
                    yield (*id, *(text_of(ids[name]) for name in id))
            else:
                for alias in ids.get(id.member) or ():
                    yield id.member, text_of(alias.get(id.label)), text_of(alias.get(id.name))

    # --- changing

    def add(
        self,
        ids: Mapping[str, Json],
        values: dict[str, Json],
        *,
        owner: int = 0,
        at: datetime,
        request: int = 0,
        events: tuple[str, ...] = (),
        shown: bool = True,
    ) -> Row:
        """Add a row. It must not have the ids of another one."""
        row = Row(self.next_number, dict(ids), values, owner, at.timestamp(), request, events, (), shown)
        self.next_number += 1
        if self._is_log:
            return row
        self.put(row)
        if self.disk is None and len(self.rows) > self.limit:
            self.remove(next(iter(self.rows.values())))
            self.forgotten += 1
        return row

    def put(self, row: Row) -> None:
        """Add a row with its number, or change it."""
        self.rows[row.number] = row
        for key in (*self._strong(row.ids), *row.also):
            self._keys[key] = row.number
        self.touch(row)

    def clear(self) -> None:
        """Remove all rows."""
        for row in list(self.rows.values()):
            self.remove(row)

    def restore(self, row: Row) -> None:
        """Add a row that was stored. Numbers continue after it."""
        self.put(row)
        self.next_number = max(self.next_number, row.number + 1)

    def touch(self, row: Row) -> None:
        """Note that a row has changed."""
        self.dirty[row.number] = self.cause.record
        if self._indexed:
            self._index_weak(row)
        for id, attribute in self.type.more.items():
            self._index_more(row, id, attribute)

    def _index_weak(self, row: Row) -> None:
        attributes = row.values.get("attributes") or {}
        fresh = tuple((n, text_of(attributes[n])) for n in self._indexed if attributes.get(n) is not None)
        before = self._weak_of.get(row.number, ())
        if fresh == before:
            return
        self._forget_weak(row.number, before)
        for key in fresh:
            self._weak.setdefault(key, {})[row.number] = None
        self._weak_of[row.number] = fresh

    def _forget_weak(self, number: int, keys: Iterable[Key]) -> None:
        for key in keys:
            self._weak[key].pop(number, None)
            if not self._weak[key]:
                del self._weak[key]

    def identify(self, row: Row, ids: Mapping[str, Json]) -> None:
        """Give a row more ids; a strong id replaces its earlier value. Ids of other rows are left to them."""
        for key in [key for key in self._strong(row.ids) if key[0] in ids]:
            if self._keys.get(key) == row.number:
                del self._keys[key]
        row.ids.update(ids)
        for key in self._strong(row.ids):
            self._keys.setdefault(key, row.number)
        self.touch(row)

    def claim(self, row: Row, ids: Mapping[str, Json]) -> None:
        """Give a row these ids, also those that other rows have: these lose them."""
        for key in self._strong(ids):
            other = self.rows.get(self._keys.pop(key, 0))
            if other is not None and other is not row and other.ids.get(key[0]) == ids.get(key[0]):
                del other.ids[key[0]]
                self.touch(other)
        if ids:
            self.identify(row, ids)

    def _index_more(self, row: Row, id: str, attribute: str) -> None:
        """Let a row also be found by the values that an attribute lists; other rows keep theirs."""
        listed = (row.values.get("attributes") or {}).get(attribute)
        fresh = tuple((id, part) for text in str(listed or "").split(";") if (part := text.strip()))
        before = tuple(key for key in row.also if key[0] == id)
        if fresh == before:
            return
        own = set(self._strong(row.ids))
        for key in before:
            if self._keys.get(key) == row.number and key not in own:
                del self._keys[key]
        row.also = (*(key for key in row.also if key[0] != id), *fresh)[-_MERGED_KEYS:]
        for key in row.also:
            self._keys.setdefault(key, row.number)

    def remove(self, row: Row) -> None:
        """Remove a row. Rows that belong to it stay until `without_owner`."""
        self.rows.pop(row.number, None)
        for key in (*self._strong(row.ids), *row.also):
            if self._keys.get(key) == row.number:
                del self._keys[key]
        self._forget_weak(row.number, self._weak_of.pop(row.number, ()))
        for fold in self.type.folds:
            key_of_fold = fold.key(row, row.owner)
            if key_of_fold is not None and self._folds_into(key_of_fold, row):
                del self._folds[key_of_fold]
        self.dirty[row.number] = self.cause.record

    def move_rows(self, source: Row, target: Row) -> None:
        """Let the rows that belong to `source` belong to `target`, including those that arrive later."""
        if self.canonical(source.number) != self.canonical(target.number):
            self.moved[self.canonical(source.number)] = self.canonical(target.number)
            self.touch(source)

    def merge(self, source: Row, target: Row, *, with_ids: bool = True) -> None:
        """Merge a row into another one: its ids and rows move, and the row is removed.

        An id that the target has already (or an alias with a label that it has) only finds it from now on. Without
        `with_ids` the ids of the source are free afterwards.
        """
        if not with_ids:
            self.move_rows(source, target)
            self.remove(source)
            self.touch(target)
            return
        keys = (*self._strong(source.ids), *source.also)
        self.move_rows(source, target)
        self.remove(source)
        for id in self.type.ids:
            if isinstance(id, Alias):
                taken = {alias.get(id.label) for alias in target.ids.get(id.member) or ()}
                more = [a for a in source.ids.get(id.member) or () if a.get(id.label) not in taken]
                if more:
                    target.ids[id.member] = [*(target.ids.get(id.member) or ()), *more]
            elif isinstance(id, str) and id in source.ids:
                target.ids.setdefault(id, source.ids[id])
        own = set(self._strong(target.ids))
        also = (*target.also, *(key for key in keys if key not in own))
        for key in also[:-_MERGED_KEYS]:
            self._keys.pop(key, None)
        target.also = also[-_MERGED_KEYS:]
        for key in (*own, *target.also):
            self._keys[key] = target.number
        self.touch(target)

    def forget_merges(self, owned: Iterable[Table]) -> None:
        """Bound `moved`: if it has more than twice `limit` entries, drop those of rows that do not exist any more.

        The rows of the `owned` tables get the numbers of their present owners before, so none loses its owner.
        """
        if len(self.moved) <= 2 * self.limit:
            return
        for table in owned:
            for row in table.where(lambda row: self.canonical(row.owner) != row.owner):
                table.reown(row, self.canonical(row.owner))
        self.dirty.update(dict.fromkeys(self.moved, self.cause.record))
        # A row that still exists passes on rows that arrive later, too.
        self.moved = {number: self.canonical(number) for number in self.moved if number in self.rows}

    def reown(self, row: Row, owner: int) -> None:
        """Let a row belong to another owner. Later rows of that owner fold into it as before."""
        keys = [(fold.key(row, row.owner), fold.key(row, owner)) for fold in self.type.folds]
        for before, now in keys:
            if before is not None and now is not None and self._folds_into(before, row):
                del self._folds[before]
                self._folds.setdefault(now, row.number)
        row.owner = owner
        self.touch(row)

    def lean(self, values: dict[str, Json], keys: list[FoldKey]) -> dict[str, Json]:
        """Return what is kept of a row with these values: in a log, only the members by which it folds."""
        if not self._is_log:
            return values
        return {name: values[name] for fold, _ in keys for name in (*fold.members, *fold.needs) if name in values}

    def fold_keys(self, row: Row, owner: int, *, active: Callable[[str], bool] = lambda _: True) -> list[FoldKey]:
        """Return the keys by which a row folds, of the rules that are active."""
        keys = [(fold, fold.key(row, owner)) for fold in self.type.folds if active(fold.rule)]
        return [(fold, key) for fold, key in keys if key is not None]

    def fold(self, keys: Iterable[FoldKey], at: datetime) -> tuple[Fold, Row] | None:
        """Return the rule by which a row with these keys folds into an earlier one, and that row, if it does."""
        for fold, key in keys:
            found = self._folds.get(key, 0)
            earlier = self.rows.get(found) if isinstance(found, int) else found
            if earlier is not None and fold.is_within(earlier.at, at.timestamp()):
                return fold, earlier
        return None

    def refold(self, keys: Iterable[FoldKey], row: Row) -> None:
        """Remember a row as the one that later rows with these keys fold into."""
        for _, key in keys:
            self._folds[key] = row if self._is_log else row.number

    def _folds_into(self, key: tuple[Json, ...], row: Row) -> bool:
        found = self._folds.get(key)
        return (found.number if isinstance(found, Row) else found) == row.number

    def rows_of(self, owners: Table, numbers: Iterable[int]) -> list[Row]:
        """Return the rows that belong to one of these rows of `owners`."""
        wanted = set(numbers)
        return self.where(lambda row: bool(row.owner) and owners.canonical(row.owner) in wanted)
