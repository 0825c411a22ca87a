"""The groups of events that do not arrive, each with what its events have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, overload

from svctoolkit.displayed import Displayed, render
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.replay.results.text import describe
from svctoolkit.replay.tally.tally import Group
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.results.contrast import TRAIT_COLUMNS, Traits

if TYPE_CHECKING:
    import pandas as pd

_GROUP = ("destination", "kind", "stage", "event", "path", "before", "after", "count")
#: The kinds of groups that are explained: their events do not arrive, or not whole.
KINDS: Final = ("failed", "dropped", "lossy", "newly failing", "newly dropped")


class GroupContrast(NamedTuple):
    """A group, and what its events have in common that events which arrive lack."""

    group: Group
    traits: Traits

    @property
    def text(self) -> str:
        return f"{self.group.destination}  {describe(self.group)}"


class Contrasts(Displayed, ArrowOut, Sequence[GroupContrast]):
    """What the events of each group have in common, the largest group first."""

    def __init__(self, contrasts: Iterable[GroupContrast] = ()) -> None:
        self._contrasts = tuple(contrasts)

    @overload
    def __getitem__(self, index: int) -> GroupContrast: ...
    @overload
    def __getitem__(self, index: slice) -> Contrasts: ...
    def __getitem__(self, index: int | slice) -> GroupContrast | Contrasts:
        found = self._contrasts
        return Contrasts(found[index]) if isinstance(index, slice) else found[index]

    def __len__(self) -> int:
        return len(self._contrasts)

    def of(self, group: Group) -> Traits:
        """Return the traits of a group; empty if it was not explained."""
        return next((traits for other, traits in self._contrasts if other.key == group.key), Traits())

    def frame(self) -> pd.DataFrame:
        """Return one row for each property of each group.

        Columns: `destination`, `kind`, `stage`, `event`, `path`, `before`, `after` and `count` of the group, then
        those of `Traits.frame()` with the prefix `trait_`.
        """
        import pandas as pd

        rows = [[*(getattr(group, name) for name in _GROUP), *row] for group, traits in self for row in traits.rows()]
        columns = [*_GROUP, *(f"trait_{name}" for name in TRAIT_COLUMNS)]
        kinds = {**dict.fromkeys(_GROUP, "string"), "kind": "category", "count": "int64"}
        return pd.DataFrame(storable_all(rows), columns=columns).astype(
            kinds | {f"trait_{name}": kind for name, kind in TRAIT_COLUMNS.items()}
        )

    def to_list(self) -> list[dict[str, Json]]:
        """Return the key of each group and its properties, for JSON."""
        names = ("destination", "kind", "path", "before", "after")
        return [
            {**dict(zip(names, group.key, strict=True)), "common": [trait.to_dict() for trait in traits]}
            for group, traits in self
        ]

    def lines(self) -> Iterator[str]:
        """Yield a line for each group, and below it one for each property."""
        for contrast in self:
            yield contrast.text
            yield from (f"  {line}" for line in contrast.traits.lines())

    def __repr__(self) -> str:
        return render(self, "text")
