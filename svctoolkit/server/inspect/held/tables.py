"""What simulated destinations hold and have lost, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from svctoolkit.displayed import Displayed
from svctoolkit.errors import UsageError
from svctoolkit.json_types import Json
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.secrets import Masker
from svctoolkit.server.inspect.frames import frame_of
from svctoolkit.simulations import Loss, SimulatedServer

if TYPE_CHECKING:
    import pandas as pd


class HeldRow(Mapping[str, Json]):
    """One row, as a mapping and with its members as attributes: `row.attributes["tier"]`, `row.name`, `row.under`."""

    def __init__(self, members: Mapping[str, Json]) -> None:
        self._members = members

    def __getitem__(self, name: str) -> Json:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __getattr__(self, name: str) -> Json:
        try:
            return self._members[name]
        except KeyError:
            raise AttributeError(f"this row has no {name!r}; it has {', '.join(self._members)}") from None

    def __repr__(self) -> str:
        return f"HeldRow({dict(self._members)!r})"


class HeldTable(Displayed, ArrowOut, Sequence[HeldRow]):
    """The rows of one table, oldest first. Live: it is read again at each use."""

    def __init__(
        self, name: str, rows: Callable[[], Sequence[Mapping[str, Json]]], masker: Callable[[], Masker]
    ) -> None:
        self.name, self._rows, self.masker = name, rows, masker

    def __len__(self) -> int:
        return len(self._rows())

    @overload
    def __getitem__(self, index: int) -> HeldRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[HeldRow]: ...
    def __getitem__(self, index: int | slice) -> HeldRow | list[HeldRow]:
        rows = self._rows()
        return [HeldRow(row) for row in rows[index]] if isinstance(index, slice) else HeldRow(rows[index])

    # Any: a name, or any row
    def count(self, value: Any = None) -> int:
        """Return how many rows there are; with a text, how many have that name (or product ID)."""
        if value is None:
            return len(self)
        return sum(value in (row, row.get("name"), row.get("product_id")) for row in self._rows())

    def frame(self) -> pd.DataFrame:
        """Return one row per row; objects are spread over columns with dotted names. Secrets are masked."""
        return frame_of(list(self._rows()), self.masker())

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self):,} rows>"


class Held(Displayed):
    """What a simulated destination holds in a run: its tables as attributes, such as `profiles` and `events`."""

    def __init__(self, server: Callable[[], SimulatedServer], masker: Callable[[], Masker]) -> None:
        self._server, self.masker = server, masker

    def __repr__(self) -> str:
        return repr(self._server())

    @property
    def tables(self) -> dict[str, HeldTable]:
        """The tables by name."""
        return {name: self._table(name) for name in self._server().tables}

    def _table(self, name: str) -> HeldTable:
        return HeldTable(name, lambda: self._server().held()[name], self.masker)

    def __getattr__(self, name: str) -> HeldTable:
        if name.startswith("_"):
            raise AttributeError(name)
        tables = self._server().tables
        if name not in tables:
            title = self._server().simulation.title
            raise AttributeError(f"{title} has no simulated table {name!r}; it has {', '.join(tables)}")
        return self._table(name)

    def profile(self, id: str) -> HeldRow:
        """Return the profile with this value of any id. Raises `UsageError` if there is none, or several."""
        found = [row for row in self._table("profiles") if id in _values(row["ids"])]
        if len(found) != 1:
            ids = [row["ids"] for row in found] if found else [row["ids"] for row in self._table("profiles")[:5]]
            text = "several profiles have" if found else "no profile has"
            raise UsageError(self.masker().text(f"{text} the id {id!r}: {ids}"))
        return found[0]

    @property
    def lost(self) -> Losses:
        """What was lost in this run."""
        return Losses(lambda: list(self._server().losses), self.masker)

    @property
    def changed(self) -> Losses:
        """What is kept with another value, or under another owner or time."""
        return Losses(lambda: list(self._server().changes), self.masker)

    def frame(self) -> pd.DataFrame:
        """Return the profiles as a DataFrame; `events.frame()` and others have the other tables."""
        return self._table("profiles").frame()


def _values(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [inner for item in value.values() for inner in _values(item)]
    return [inner for item in value for inner in _values(item)] if isinstance(value, list) else [value]


class Losses(Displayed, ArrowOut, Sequence[Loss]):
    """Losses, or changes, oldest first. Live: read again at each use."""

    def __init__(self, losses: Callable[[], Sequence[Loss]], masker: Callable[[], Masker]) -> None:
        self._losses, self.masker = losses, masker

    def __len__(self) -> int:
        return len(self._losses())

    @overload
    def __getitem__(self, index: int) -> Loss: ...
    @overload
    def __getitem__(self, index: slice) -> list[Loss]: ...
    def __getitem__(self, index: int | slice) -> Loss | list[Loss]:
        return list(self._losses()[index]) if isinstance(index, slice) else self._losses()[index]

    def frame(self) -> pd.DataFrame:
        """Return one row per loss: destination, run, events, what, rule, says, source, table, place, value, limit."""
        columns = ("destination", "run", "events", "what", "rule", "says", "source", "confidence", "table", "place")
        rows = []
        for loss in self._losses():
            members = {name: getattr(loss, name) for name in columns}
            value = loss.value if loss.value is None or isinstance(loss.value, str) else str(loss.value)
            rows.append({**members, "events": ", ".join(loss.events), "value": value, "limit": loss.limit})
        return frame_of(rows, self.masker())

    def __repr__(self) -> str:
        return f"<{len(self):,} losses>"
