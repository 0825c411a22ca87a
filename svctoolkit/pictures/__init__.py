"""Pictures of results as inline SVG: without scripts, in light and dark themes, with the numbers as a table.

Each picture is built from plain data whose secrets are masked already. `html()` returns it with an alternative text;
everything is escaped, and the number of shapes is limited whatever the data.

>>> days = Days("Failures by day", {"no price": {"2026-05-16": 2, "2026-05-17": 90}}, releases={"4.2.0": "2026-05-17"})
>>> picture = days.html()
"""

from __future__ import annotations

from svctoolkit.pictures._axes import axes
from svctoolkit.pictures._canvas import Key, Tone
from svctoolkit.pictures._columns import column_bars, share_bar
from svctoolkit.pictures._data import Bin, Bins, Cell, Span
from svctoolkit.pictures._days import Days, bins, day_of
from svctoolkit.pictures._distribution import Histogram, Values
from svctoolkit.pictures._file import svg_file
from svctoolkit.pictures._heat import HeatMap
from svctoolkit.pictures._sankey import Flow, Sankey
from svctoolkit.pictures._times import Attempt, Spans, TimeLine, duration
from svctoolkit.pictures._wires import End, Wire, Wires

__all__ = [
    "Attempt",
    "Bin",
    "Bins",
    "Cell",
    "Days",
    "End",
    "Flow",
    "HeatMap",
    "Histogram",
    "Key",
    "Sankey",
    "Span",
    "Spans",
    "TimeLine",
    "Tone",
    "Values",
    "Wire",
    "Wires",
    "axes",
    "bins",
    "column_bars",
    "day_of",
    "duration",
    "share_bar",
    "svg_file",
]
