"""`frame`: one row per scenario, as CSV in a file or as a DataFrame in Python (`Frame(output).frame`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svctoolkit.lexical import storable_all
from svctoolkit.runner.attempts.outcome import Finished, Notice, Outcome
from svctoolkit.runner.report.reporters import _data
from svctoolkit.runner.report.reporters._contract import Output

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "file", "id", "title", "suite", "tags", "status", "reason", "line", "milliseconds", "diverged", "differences",
    "explanation",
)  # fmt: skip


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def _cell(value: Any) -> Any:
    """Prefix an apostrophe to a string that a spreadsheet would evaluate as a formula; spreadsheets do not show it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


class Frame:
    """Collects the rows and writes CSV at the end of the run."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._rows: list[dict[str, Any]] = []

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Outcome):
            data = _data.outcome(notice)
            row = {name: data[name] for name in COLUMNS}
            self._rows.append({**row, "tags": " ".join(row["tags"]), "differences": len(row["differences"])})
        elif isinstance(notice, Finished):
            import csv  # not pandas: the same text at a tenth of the start-up time

            writer = csv.DictWriter(self._output.stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: _cell(value) for name, value in row.items()} for row in self._rows)

    @property
    def frame(self) -> pd.DataFrame:
        """Return one row per scenario so far."""
        import pandas as pd

        return pd.DataFrame(storable_all(self._rows), columns=list(COLUMNS))


reporter = Frame
