"""The rows of a grid, without widgets: sorted, searched and cut into pages where they are."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from svctoolkit.display import quantity
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.pictures import column_bars

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_LONGEST = 300  # characters of a cell that are sent to the page
_MEASURED = 100  # rows that decide the width of a column
_SUMMARIZED = 20  # smallest table whose columns are summarized
_SAMPLED = 10_000  # rows that bars in a header show at most
_BINS = 12
_WIDTHS = 6, 44  # smallest and largest initial width, in characters
_COMPARED = re.compile(r"(?P<name>[^<>=:]++)(?P<sign>[<>]=?|=|:)(?P<value>.*)", re.S)
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
}  # fmt: skip


class Rows:
    """Rows of a frame in the order of the grid. `found` has their numbers in the frame; nothing is copied.

    `keys` identify the rows, by default by their number. Columns of `plain` rows have no summaries and bars.

    `search` finds rows with a string in any cell (`mail`), in one column (`text: mail`), or with a number that compares
    (`events > 5`, also `<`, `<=`, `>=`, `=`). Sorting is stable; missing values come last, numbers before texts.
    """

    def __init__(self, frame: pd.DataFrame, keys: Sequence[int] | None = None, *, plain: bool = False) -> None:
        import numpy as np

        self.frame, self.found = frame, np.arange(len(frame))
        self._keys, self._plain = keys, plain

    def arrange(self, search: str = "", sort: str = "", *, descending: bool = False) -> None:
        """Search and sort. An empty `sort` is the original order."""
        import numpy as np

        found = np.flatnonzero(self._matching(search.strip())) if search.strip() else np.arange(len(self.frame))
        if sort in self.frame:
            column = self.frame[sort].iloc[found].reset_index(drop=True)
            found = found[_order(column, descending)]
        self.found = found

    def cells(self, first: int, last: int) -> list[list[str]]:
        """The texts of some rows, by their position in the grid."""
        part = self.frame.iloc[self.found[max(0, first) : max(0, last)]]
        return [list(row) for row in zip(*(map(text, part[name]) for name in part), strict=True)]

    def keys_found(self, first: int = 0, last: int | None = None) -> list[int]:
        """The keys of some rows, by their position in the grid."""
        numbers = self.found[max(0, first) : last].tolist()
        return numbers if self._keys is None else [self._keys[number] for number in numbers]

    def place(self, key: int) -> int:
        """The position of a row in the grid; -1 if it is not there."""
        keys = self.keys_found() if key >= 0 else []
        return keys.index(key) if key in keys else -1

    def columns(self) -> list[dict[str, Json]]:
        """The columns: `name`, `number` (has it numbers), `width` in characters, `summary`, and `bars` as SVG."""
        return [self._column(str(name)) for name in self.frame]

    def _column(self, name: str) -> dict[str, Json]:
        column = self.frame[name]
        texts = [text(value) for value in column.head(_MEASURED)]
        summary = "" if self._plain else _summary(column)
        wanted = max([len(name) + 3, len(summary), *map(len, texts)])
        width = min(max(wanted + 1, _WIDTHS[0]), _WIDTHS[1])
        bars = _bars(column) if summary else ""
        return {"name": name, "number": _is_number(column), "width": width, "summary": summary, "bars": bars}

    def _matching(self, search: str) -> np.ndarray[Any, Any]:
        """A mask of the rows with the search."""
        import numpy as np

        compared = _COMPARED.fullmatch(search)
        name = self._named(compared["name"]) if compared else None
        if compared is None or name is None:
            masks = [_containing(self.frame[column], search) for column in self.frame]
            return np.logical_or.reduce(masks) if masks else np.zeros(len(self.frame), bool)
        sign, value = compared["sign"], compared["value"].strip()
        if sign == ":":
            return _containing(self.frame[name], value)
        return _comparing(self.frame[name], sign, value)

    def _named(self, text: str) -> str | None:
        names = {str(name).lower(): str(name) for name in self.frame}
        return names.get(text.strip().lower())


# Any: whatever holds rows
def frame_of(data: Any, columns: Sequence[str] = ()) -> pd.DataFrame:
    """The rows of a frame, of an Arrow stream (pyarrow, Polars, DuckDB), of a result, of dicts, or of tuples.

    Arrow data stays Arrow data. Columns get names that differ. Raises `ConfigError` for other data.
    """
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        frame = data
    elif hasattr(data, "__arrow_c_stream__"):
        frame = _of_arrow(data)
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        frame = pd.DataFrame(storable_all(list(data)), columns=list(columns) or None)
    else:
        raise ConfigError(f"{type(data).__name__} has no rows; expected a frame, Arrow data, a result or a list")
    return frame.set_axis([*_unique(map(str, frame.columns))], axis="columns")


def _unique(names: Iterable[str]) -> Iterator[str]:
    """Yield names of columns; the second `id` of a join becomes `id (2)`."""
    given = set[str]()
    for name in names:
        new, number = name, 1
        while new in given:
            number += 1
            new = f"{name} ({number})"
        given.add(new)
        yield new


# Any: Arrow data of any library
def _of_arrow(data: Any) -> pd.DataFrame:
    import pandas as pd

    try:
        import pyarrow as pa
    except ImportError:
        raise ConfigError("Arrow data needs pyarrow. Install it with `pip install 'svctoolkit[replay]'`.") from None
    frame: pd.DataFrame = pa.table(data).to_pandas(types_mapper=pd.ArrowDtype)
    return frame


# Any: a cell
def text(value: Any) -> str:
    """A cell on one line: numbers with separators, objects as JSON, missing values empty."""
    import pandas as pd

    if isinstance(value, (dict, list)):
        flat = json.dumps(value, ensure_ascii=False, default=str)
    elif pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    elif isinstance(value, Integral) and not isinstance(value, bool):
        flat = f"{int(value):,}"
    elif isinstance(value, float):
        flat = f"{value:,.6g}"
    else:
        flat = " ".join(str(value).split())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"


def _is_number(column: pd.Series[Any]) -> bool:
    from pandas.api import types

    return types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype)


def _summary(column: pd.Series[Any]) -> str:
    """The share of missing values, and the range of numbers or how many values there are; empty for small tables."""
    if len(column) < _SUMMARIZED:
        return ""
    from pandas.api import types

    missing = column.isna().mean()
    words = [f"{missing:.0%} missing" if missing > 0.005 else "a few missing"] if missing else []
    if missing < 1 and _is_number(column):
        words.append(f"{text(column.min())} to {text(column.max())}")
    elif missing < 1 and (column.dtype != object or types.infer_dtype(column) == "string"):
        words.append(quantity(column.nunique(), "value"))
    return ", ".join(words)


def _bars(column: pd.Series[Any]) -> str:
    """How a column's values are distributed: numbers in ranges, others by value, the most frequent first.

    Of a long table, every n-th row counts. Empty if values are objects, all the same, or hardly any occurs twice.
    """
    import numpy as np

    part = column.iloc[:: -(-len(column) // _SAMPLED)]
    missing, present = float(column.isna().mean()), part.dropna()
    if _is_number(column):
        values = present.to_numpy(dtype=float) / 4  # else the range of the largest numbers is infinite
        values = values[np.isfinite(values)]
        counts = np.histogram(values, _BINS)[0].tolist() if len(values) and values.min() < values.max() else []
    elif column.dtype == object and not all(isinstance(value, str) for value in present):
        counts = []
    else:
        counts = present.value_counts().head(_BINS).tolist()
        # Of ids, bars show nothing.
        counts = counts if len(counts) > 1 and counts[0] > max(1, len(present) / 200) else []
    return column_bars(counts, missing) if counts or missing else ""


def _order(column: pd.Series[Any], descending: bool) -> np.ndarray[Any, Any]:
    """The positions of a column's values in order."""
    import numpy as np

    if column.dtype != object:
        return column.sort_values(ascending=not descending, kind="stable", na_position="last").index.to_numpy()
    values, missing = column.tolist(), column.isna().to_numpy()
    present = sorted(np.flatnonzero(~missing).tolist(), key=lambda n: _key(values[n]), reverse=descending)
    return np.array([*present, *np.flatnonzero(missing)], int)


# Any: a cell
def _key(cell: Any) -> tuple[int, Any]:
    return (0, cell) if isinstance(cell, (int, float)) else (1, str(cell))


def _containing(column: pd.Series[Any], needle: str) -> np.ndarray[Any, Any]:
    """A mask of the values with a string, in any case."""
    from pandas.api import types

    if column.dtype != object and types.is_string_dtype(column.dtype):
        texts = column
    else:
        texts = column.astype("string") if types.is_numeric_dtype(column.dtype) else column.map(text)
    return texts.str.contains(needle, case=False, regex=False).fillna(False).to_numpy(bool)


def _comparing(column: pd.Series[Any], sign: str, value: str) -> np.ndarray[Any, Any]:
    """A mask of the values that compare with a number, or are equal to a text."""
    import pandas as pd

    try:
        number = float(value)
    except ValueError:
        same = column.map(text).str.lower() == value.lower()
        return same.to_numpy(bool) & (sign == "=")
    numbers = column if _is_number(column) else pd.to_numeric(column, errors="coerce")
    return _SIGNS[sign](numbers, number).fillna(False).to_numpy(bool)  # type: ignore[no-any-return]
