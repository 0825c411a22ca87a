"""Grids: rows stay in the kernel; the page gets those in view, sorted and searched. (The page: `test_browser.py`.)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from svctoolkit.errors import ConfigError
from svctoolkit.widgets import DataGrid
from svctoolkit.widgets._base.grid import grid as grid_module
from svctoolkit.widgets._base.grid.grid import Grid
from svctoolkit.widgets._base.grid.rows import Rows, frame_of
from tests.notebooks.controls import grid, lines, pick, search, words

MIXED = [(f"thing {n}", n if n % 10 else "none") for n in range(100)]


def names(rows: Rows) -> list[str]:
    return [cells[0] for cells in rows.cells(0, 1000)]


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 100), ("thing", 100), ("THING 9", 11), ("name: 9", 19), ("name: none", 0), ("count: none", 10),
     ("count > 97", 2), ("count >= 97", 3), ("count<2", 1), ("count = 7", 1), ("count = NONE", 10),
     ("nothing: 1", 0), ("  ", 100)],
)  # fmt: skip
def test_a_search_is_in_all_columns_or_in_one(text: str, count: int) -> None:
    """A text in any case; with a column, also comparisons of numbers."""
    rows = Rows(frame_of(MIXED, ["name", "count"]))
    rows.arrange(text)

    assert len(rows.found) == count


def test_columns_of_the_same_name_get_numbers() -> None:
    """Joins give such frames, and numbers and texts may look alike."""
    data = pd.DataFrame([[1, 2, 3, 4]], columns=["id", "id", "1", 1])
    rows = Rows(frame_of(data))

    DataGrid(data)
    assert list(rows.frame) == ["id", "id (2)", "1", "1 (2)"]
    assert rows.cells(0, 1) == [["1", "2", "3", "4"]]


def test_sorting_is_stable_and_puts_missing_values_last() -> None:
    """Numbers come before texts; rows that are equal keep their order, in both directions."""
    mixed = Rows(frame_of([("a", 2), ("b", "x"), ("c", None), ("d", 1), ("e", 2)], ["name", "value"]))
    plain = Rows(pd.DataFrame({"name": list("abcd"), "value": [2.0, None, 1.0, 2.0]}))
    mixed.arrange(sort="value")
    assert names(mixed) == ["d", "a", "e", "b", "c"]
    mixed.arrange(sort="value", descending=True)
    assert names(mixed) == ["b", "a", "e", "d", "c"]
    plain.arrange(sort="value", descending=True)
    assert names(plain) == ["a", "d", "c", "b"]
    plain.arrange(sort="no column")
    assert names(plain) == list("abcd")


def test_cells_are_short_texts() -> None:
    """Objects as JSON, numbers with separators, missing values empty; one line of at most 300 characters."""
    values = [1234567, 0.5, True, None, float("nan"), pd.NA, {"a": [1]}, "two\nlines", "x" * 999]
    rows = Rows(pd.DataFrame({"value": pd.Series(values, dtype=object)}))

    cells = [cell for (cell,) in rows.cells(0, 99)]
    assert cells[:8] == ["1,234,567", "0.5", "True", "", "", "", '{"a": [1]}', "two lines"]
    assert (len(cells[8]), cells[8][-1]) == (300, "…")


def test_columns_say_what_they_contain() -> None:
    """The range of numbers, the number of values, how many are missing; nothing for small tables."""
    frame = pd.DataFrame({"total": range(0, 80_000, 2000), "user": ["u", None, "v", "u"] * 10, "type": ["track"] * 40})

    assert [column["summary"] for column in Rows(frame).columns()] == [
        "0 to 78,000",
        "25% missing, 2 values",
        "1 value",
    ]
    assert [column["number"] for column in Rows(frame).columns()] == [True, False, False]
    assert [column["summary"] for column in Rows(frame.head(3)).columns()] == ["", "", ""]


def test_column_headers_have_a_histogram_and_the_missing_share() -> None:
    """Of numbers in ranges, of texts by value; of ids and objects only what is missing."""
    values = {
        "total": [float("inf"), -1e308, *range(36), 1e308, None],
        "user": ["u", None, "v", "u"] * 10,
        "id": [f"m{n}" for n in range(40)],
        "objects": [{"a": n} for n in range(40)],
        "constant": [7] * 40,
        "type": ["track"] * 40,
    }
    grid = DataGrid(pd.DataFrame(values))
    bars = {column["name"]: column["bars"] for column in Rows(pd.DataFrame(values)).columns()}

    assert bars["total"].count("<rect") == 3 + 2  # one for each end, the rest in the middle; and the strip
    assert bars["user"].count("<rect") == 2 + 2
    assert '<rect x="72" y="20" width="24" height="3" fill="var(--bad, #cf222e)"/>' in bars["user"]
    assert {bars[name] for name in ("id", "objects", "constant", "type")} == {""}
    assert grid.static().count("<svg") == 2


def test_data_of_any_library() -> None:
    """Frames, Arrow tables, DuckDB relations, dicts; the rest is an error."""
    pyarrow, duckdb = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    for data in (
        rows,
        pd.DataFrame(rows),
        pyarrow.Table.from_pylist(rows),
        duckdb.sql("from (values (1,'x'),(2,'y')) t(a,b)"),
    ):
        assert Rows(frame_of(data)).cells(0, 9) == [["1", "x"], ["2", "y"]]
    for data in ("text", 7):
        with pytest.raises(ConfigError, match="has no rows"):
            frame_of(data)


def test_the_page_has_the_rows_in_view_of_a_million() -> None:
    """The page asks for a window; its state stays small, whatever is sorted or found."""
    numbers = np.arange(1_000_000)
    table = Grid("Things", lambda _: None)
    table.show(pd.DataFrame({"number": numbers, "rest": numbers % 1000}))
    box = table.box

    box.window = [999_990, 1_000_050]
    assert box.page["first"] == 999_990
    assert [cells[0] for cells in box.page["cells"]] == [f"{n:,}" for n in range(999_990, 1_000_000)]
    box.search, box.sort, box.descending = "rest = 7", "number", True
    assert box.counts["found"] == 1000
    assert box.page["cells"][0] == ["999,007", "7"]
    assert box.page["numbers"][:2] == [999_007, 998_007]
    assert len(box.page["cells"]) == 60
    assert len(table.found) == 1000


def test_rows_of_an_older_order_are_recognized() -> None:
    """Each order has another version, so that the page can discard rows that were on their way."""
    table = Grid("Things", lambda _: None)
    table.show(MIXED, ["name", "count"])
    first = table.box.counts["version"]
    table.box.sort = "name"

    assert table.box.counts["version"] == table.box.page["version"] == first + 1


def test_a_click_picks_a_row_by_its_original_number() -> None:
    """Marking and searching do not pick; another table has no selection."""
    picked: list[int] = []
    table = Grid("Things", picked.append)
    table.show(MIXED, ["name", "count"])
    table.mark(3)
    table.box.sort, table.box.descending = "name", True
    assert (table.box.picked, picked) == (-1, [])
    table.box.picked = table.box.page["numbers"][0]

    assert picked == [99]
    table.show(MIXED[:2], ["name", "count"])
    assert (table.box.picked, picked) == (-1, [99])


def test_rows_can_change_while_they_are_used() -> None:
    """The selection and the view follow the keys of rows; columns do not get narrower, and nothing is picked."""
    picked: list[int] = []
    table = Grid("Things", picked.append)
    table.update([(f"thing {n}",) for n in range(100)], ["name"], range(100))
    width = table.box.columns[0]["width"]
    table.choose(70)
    table.box.window = [60, 90]
    table.update([(f"t{n}",) for n in range(-2, 98)], ["name"], range(-2, 98), 70)

    assert (picked, table.box.picked, table.box.counts["place"]) == ([70], 70, 72)
    assert (table.box.window, table.box.page["first"], table.box.page["cells"][0]) == ([60, 90], 60, ["t58"])
    assert table.box.page["numbers"][:2] == [58, 59]
    assert table.box.columns[0]["width"] == width
    table.update([("t1",)], ["name"], [1], 70)
    assert table.box.counts["place"] == -1
    assert Grid("Plain", picked.append, plain=True).box.plain


def test_a_grid_of_data_is_an_explorer() -> None:
    """Selected row and found rows for the next cell; a table where no scripts run; its widget alone in marimo."""
    explorer = DataGrid(pd.DataFrame({"name": [f"thing {n}" for n in range(40)], "count": range(40)}), caption="Things")
    search(explorer, "Things", "count >= 20")
    pick(explorer, "Things", 21)

    assert explorer.selected == {"name": "thing 21", "count": 21}
    assert explorer.frame()["count"].tolist() == [*range(20, 40)]
    assert len(lines(explorer, "Things")) == 20
    page = words(explorer._repr_mimebundle_()["text/html"])
    assert "Things: 1 to 15 of 20 of 40 rows" in page
    assert "thing 34" in page
    assert explorer._display_() is grid(explorer, "Things")
    search(explorer, "Things", "nothing like this")
    assert "no matching rows" in words(explorer.static())
    assert "no rows" in words(DataGrid([]).static())


def test_a_selection_is_in_place_of_values_of_any_type() -> None:
    """Missing values, too."""
    explorer = DataGrid([{"a": None, "b": {"c": 1}}, {"a": 1.5, "b": None}])
    heard: list[Any] = []
    explorer.observe(heard.append, names="selected")
    pick(explorer, "Rows", 1)

    assert explorer.selected["a"] == 1.5
    assert len(heard) == 1


def test_the_view_needs_nothing_but_its_model() -> None:
    """No other files and no network: it works in every page that runs anywidgets, offline."""
    view = (Path(grid_module.__file__).parent / "view.js").read_text("utf-8")

    assert "export default { render }" in view
    assert [word for word in ("import", "fetch", "http", "eval(") if word in view] == []
