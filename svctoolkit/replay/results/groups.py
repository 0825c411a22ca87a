"""The groups of a replay as text, HTML and a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svctoolkit.displayed import Displayed
from svctoolkit.replay.results.text import describe
from svctoolkit.replay.tally.tally import Example, Group

if TYPE_CHECKING:
    import pandas as pd


class Groups(Displayed, tuple[Group, ...]):
    """The groups of a replay, largest first."""

    __slots__ = ()

    def frame(self) -> pd.DataFrame:
        """Return one row for each group: its fields, and `place`, `event_id` and `example` of its first example.

        Columns: `destination`, `kind` (a category), `stage`, `event`, `path`, `before`, `after`, `count`, `decides`
        (the place in the user code, or the settings, that decide), `place`, `event_id`, `example` (the text or value
        after).
        """
        import pandas as pd

        table = pd.DataFrame(self.rows(), columns=[*GROUP_COLUMNS, "place", "event_id", "example"])
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
