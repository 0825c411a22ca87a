"""A profile of many events, as frames, a plot and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from svctoolkit.displayed import Displayed
from svctoolkit.history import Change
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.profile.needs import Need
from svctoolkit.profile.shapes import Shape
from svctoolkit.replay.records.record import Reject
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.results.page import PageOut

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_FRAME = {
    "event_type": "string", "event_name": "string", "field": "string", "events": "int64", "present": "int64",
    "missing": "float64", "types": "string", "mixed": "bool", "new_types": "string",
    "first_seen": "datetime64[us, UTC]", "place": "string",
}  # fmt: skip
_CHANGES = ("what", "event", "field", "destination", "before", "after", "where", "events")
_NEEDS = ("destination", "type", "event", "what", "field", "reason", "rule", "events", "stage", "decides")


@dataclass(frozen=True, slots=True, repr=False)
class Profile(Displayed, PageOut, ArrowOut):
    """The shapes of events by type and name, most frequent first, and what the destinations of a workspace need.

    `rejects` are records that are not events (the first thousand, and all of `unread`; `rejected` counts all). Types
    seen first after `since` are new. `changes` are those since a baseline; None without one. `basis` says how numbers
    of events were compared with it.
    """

    shapes: Sequence[Shape]
    needs: Sequence[Need] = ()
    rejects: Sequence[Reject] = ()
    rejected: int = 0
    since: datetime | None = None
    changes: Sequence[Change] | None = None
    basis: str = ""

    @property
    def unread(self) -> list[Reject]:
        """Where files are damaged: the events after these places are missing in the profile."""
        return [reject for reject in self.rejects if reject.rest_unread]

    @property
    def events(self) -> int:
        return sum(shape.count for shape in self.shapes)

    def frame(self) -> pd.DataFrame:
        """Return one row for each field of the events of each name.

        Columns: `event_type`, `event_name`, `field` (dotted, `*` for items of lists), `events` (number of events with
        the name), `present`, `missing` (share of events), `types` (`text 98, number 2`), `mixed`, `new_types` (first
        seen since the date), `first_seen`, `place` (of one example).
        """
        import pandas as pd

        rows = [
            [
                *(shape.type, shape.name, path, shape.count, field.present, 1 - field.present / shape.count),
                *(", ".join(f"{kind} {count}" for kind, count in field.types.most_common()), field.mixed),
                *(
                    ", ".join(field.new_types(self.since)) if self.since else "",
                    min(field.first.values(), default=None),
                ),
                field.place,
            ]
            for shape in self.shapes
            for path, field in sorted(shape.fields.items())
        ]
        return pd.DataFrame(storable_all(rows), columns=list(_FRAME)).astype(_FRAME)

    def volumes(self) -> pd.DataFrame:
        """Return the number of events per name and day (UTC): `event_type`, `event_name`, `day`, `events`."""
        import pandas as pd

        rows = [(s.type, s.name, day, count) for s in self.shapes for day, count in sorted(s.days.items())]
        table = pd.DataFrame(storable_all(rows), columns=["event_type", "event_name", "day", "events"])
        return table.astype(
            {"event_type": "string", "event_name": "string", "day": "datetime64[us]", "events": "int64"}
        )

    def needs_frame(self) -> pd.DataFrame:
        """Return what destinations refuse, filter, drop and lose: one row for each `Need`."""
        import pandas as pd

        rows = [[getattr(need, name) for name in _NEEDS] for need in self.needs]
        table = pd.DataFrame(storable_all(rows), columns=list(_NEEDS))
        return table.astype({n: "int64" if n == "events" else "category" if n == "what" else "string" for n in _NEEDS})

    def changes_frame(self) -> pd.DataFrame:
        """Return what changed since the baseline: one row for each `Change`."""
        import pandas as pd

        rows = [[getattr(change, name) for name in _CHANGES] for change in self.changes or ()]
        table = pd.DataFrame(storable_all(rows), columns=list(_CHANGES))
        return table.astype({n: "int64" if n == "events" else "string" for n in _CHANGES})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the share of events that lack a field: fields as rows, names as columns. Requires matplotlib."""
        from svctoolkit.profile._plot import plot

        return plot(self.shapes, ax)

    def to_dict(self) -> dict[str, Json]:
        """Return the whole profile as JSON."""
        return {
            "events": self.events,
            "rejected": self.rejected,
            "names": [
                {
                    "type": shape.type,
                    "name": shape.name,
                    "events": shape.count,
                    "days": {str(day): count for day, count in sorted(shape.days.items())},
                    "fields": {
                        path: {"present": field.present, "types": dict(field.types), "mixed": field.mixed}
                        | ({"new": field.new_types(self.since)} if self.since else {})
                        for path, field in sorted(shape.fields.items())
                    },
                }
                for shape in self.shapes
            ],
            "needs": [{name: getattr(need, name) for name in _NEEDS} for need in self.needs],
        } | (
            {}
            if self.changes is None
            else {"changes": [change.to_dict() for change in self.changes], "basis": self.basis}
        )
