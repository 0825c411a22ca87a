"""Spread JSON objects into columns: the values at each dotted name, and the rows that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, compress
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.lexical import storable

_MAX_INT = 2**63
#: Rows to spread at a time: few enough for the CPU cache, and to avoid a garbage collection.
_BLOCK = 512

_Cells: TypeAlias = tuple[list[int], list[Any]]  # rows, in order, and the value in each


class Column:
    """The values at one dotted name, and the names below it.

    `rows` has the row of each of `values`, in ascending order; other rows have no value.
    """

    __slots__ = ("below", "kinds", "name", "rows", "values")

    def __init__(self, name: str) -> None:
        self.name = name
        self.below: dict[str, Column] = {}
        self.rows: list[int] = []
        self.values: list[Json] = []
        self.kinds: set[type] = set()

    def extend(self, rows: list[int], values: list[Json], kinds: set[type]) -> None:
        """Append values of these types."""
        self.rows += rows
        self.values += values
        self.kinds |= kinds

    # Any: an array of numpy or pandas
    def array(self, length: int) -> Any:
        """Return the column of a frame with `length` rows, with a nullable dtype if all values have the same type."""
        import numpy as np
        import pandas as pd

        dtype = self._dtype()
        cells: Any = self.values
        if not (dtype == "string" and len(cells) == length):
            # `fromiter`, because an assignment of lists would create a two-dimensional array
            cells = np.fromiter(cells, dtype=object, count=len(cells))
        if len(cells) < length:
            full = np.full(length, None, dtype=object)
            full[self.rows] = cells
            cells = full
        if dtype == "string":
            return pd.array(_texts(cells), dtype=dtype)
        return pd.array(cells, dtype=dtype) if dtype else cells

    def _dtype(self) -> Literal["string", "boolean", "Int64", "Float64", ""]:
        kinds = self.kinds - {type(None)}
        if kinds == {str}:
            return "string"
        if kinds == {bool}:
            return "boolean"
        if kinds == {float}:
            return "Float64"
        numbers: list[Any] = [number for number in self.values if number is not None] if kinds <= {int, float} else []
        if kinds == {int} and min(numbers) >= -_MAX_INT and max(numbers) < _MAX_INT:
            return "Int64"
        return "Float64" if kinds == {int, float} and all(abs(number) < 2**53 for number in numbers) else ""


def _texts(cells: Any) -> Any:
    """Return strings and None in the form that pandas converts fastest: a pyarrow array if pandas uses pyarrow strings.

    Lone surrogates, which JSON allows but string columns do not, become a question mark.
    """
    import pandas as pd

    if pd.StringDtype().storage != "pyarrow":
        return [cell and storable(cell) for cell in cells]
    import pyarrow as pa

    try:
        return pa.array(cells, type=pa.large_string())
    except UnicodeEncodeError:
        return [cell and storable(cell) for cell in cells]


def spread(values: Sequence[Json], prefix: str, *, empty: bool = False) -> dict[str, Column]:
    """Return the leaves of JSON values as columns by dotted name, in the order of their first occurrence.

    Missing leaves have no value. Empty objects count as leaves only with `empty`. All names begin with `prefix`, if
    given.
    """
    tree = _Tree(prefix, empty)
    for start in range(0, len(values), _BLOCK):
        tree.add(start, values[start : start + _BLOCK])
    return {column.name: column for column in tree.columns if column.values}


class _Tree:
    """Columns by name, filled block by block, and within a block name by name."""

    def __init__(self, prefix: str, empty: bool) -> None:
        self._empty = empty
        self._root = Column(prefix)
        self._bare = None if prefix else self._root  # the root without a name is not part of dotted names
        self.columns = [self._root]

    def add(self, start: int, values: Sequence[Json]) -> None:
        """Add the values of consecutive rows, from row `start`."""
        rows = list(range(start, start + len(values)))
        if set(map(type, values)) != {dict}:
            objects = [isinstance(value, Mapping) for value in values]
            bare = [
                (row, v)
                for row, v, is_object in zip(rows, values, objects, strict=True)
                if not is_object and v is not None
            ]
            self._root.extend([row for row, _ in bare], [v for _, v in bare], {type(v) for _, v in bare})
            rows = list(compress(rows, objects))
            values = [dict(value) for value in compress(values, objects)]
        if rows:
            self._spread(rows, values, self._root, values)

    def _spread(
        self, rows: list[int], objects: Sequence[dict[str, Any]], at: Column, block: Sequence[dict[str, Any]]
    ) -> None:
        for key, (places, cells) in _turn(rows, objects).items():
            if key not in at.below:
                self._name_all(block, self._root)
            column = at.below[key]
            kinds = set(map(type, cells))
            if dict not in kinds:
                column.extend(places, cells, kinds)
                continue
            if kinds != {dict} or (self._empty and not all(cells)):
                opens = [type(cell) is dict and bool(cell or not self._empty) for cell in cells]
                leaves = [not is_open for is_open in opens]
                own = list(compress(cells, leaves))
                column.extend(list(compress(places, leaves)), own, set(map(type, own)))
                places, cells = list(compress(places, opens)), list(compress(cells, opens))
            if cells:
                self._spread(places, cells, column, block)

    def _name_all(self, objects: Sequence[dict[str, Any]], at: Column) -> None:
        """Create columns for all names below `at` in these objects, in the order of their occurrence."""
        for members in objects:
            for key, value in members.items():
                column = at.below.get(key)
                if column is None:
                    name = _escape(key) if at is self._bare else f"{at.name}.{_escape(key)}"
                    column = at.below[key] = Column(name)
                    self.columns.append(column)
                if type(value) is dict:
                    self._name_all([value], column)


def _turn(rows: list[int], objects: Sequence[dict[str, Any]]) -> Mapping[str, _Cells]:
    """Transpose objects, one per row, into the cells of each key."""
    keys = tuple(objects[0])
    if len(keys) > 1 and set(map(len, objects)) == {len(keys)}:
        try:
            cells = list(chain.from_iterable(map(itemgetter(*keys), objects)))
        except KeyError:
            pass
        else:
            return {key: (rows, cells[number :: len(keys)]) for number, key in enumerate(keys)}
    table: dict[str, _Cells] = {}
    for row, members in zip(rows, objects, strict=True):
        for key, value in members.items():
            column = table.get(key)
            if column is None:
                column = table[key] = ([], [])
            column[0].append(row)
            column[1].append(value)
    return table


def _escape(key: str) -> str:
    """Return a key for a dotted name; lone surrogates, which column names cannot have, are written as `\\ud83d`."""
    name = str(key).replace("\\", "\\\\").replace(".", "\\.")
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()
