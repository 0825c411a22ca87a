"""The groups of a replay as text, HTML and a frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, overload

from svctoolkit.displayed import Displayed
from svctoolkit.lexical import storable_all
from svctoolkit.replay.results.text import describe
from svctoolkit.replay.tally.tally import Example, Group
from svctoolkit.results.arrow import ArrowOut

if TYPE_CHECKING:
    import pandas as pd


class Groups(Displayed, ArrowOut, Sequence[Group]):
    """The groups of a replay, largest first. Not a tuple, which `pyarrow.table` would take for columns."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._groups = tuple(groups)

    @overload
    def __getitem__(self, index: int) -> Group: ...
    @overload
    def __getitem__(self, index: slice) -> Groups: ...
    def __getitem__(self, index: int | slice) -> Group | Groups:
        return Groups(self._groups[index]) if isinstance(index, slice) else self._groups[index]

    def __len__(self) -> int:
        return len(self._groups)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Groups) and self._groups == other._groups

    def frame(self) -> pd.DataFrame:
        """Return one row for each group: its fields, and `place`, `event_id` and `example` of its first example.

        Columns: `destination`, `kind` (a category), `stage`, `event`, `path`, `before`, `after`, `count`, `decides`
        (the place in the user code, or the settings, that decide), `place`, `event_id`, `example` (the text or value
        after).
        """
        import pandas as pd

        table = pd.DataFrame(storable_all(self.rows()), columns=[*GROUP_COLUMNS, "place", "event_id", "example"])
        texts = [name for name in table.columns if name not in ("kind", "count")]
        return table.astype({**dict.fromkeys(texts, "string"), "kind": "category", "count": "int64"})

    def __repr__(self) -> str:
        return "\n".join(f"{group.destination}: {group.kind}: {describe(group)}" for group in self) or "no groups"

    def rows(self) -> list[list[object]]:
        """Return one row per group, with one of its examples, in the order of the frame's columns."""
        return [[*(getattr(group, name) for name in GROUP_COLUMNS), *_example(group)] for group in self]


GROUP_COLUMNS = ("destination", "kind", "stage", "event", "path", "before", "after", "count", "decides")


def _example(group: Group) -> list[str]:
    first = group.examples[0] if group.examples else Example("", "")
    return [first.place, first.event_id, first.after]
