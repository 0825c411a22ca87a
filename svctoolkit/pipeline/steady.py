"""Values that user code makes anew in each run: random numbers, IDs, the time of its clock.

Lineage compares runs, so such a value seems to depend on everything. All runs get the value of the first run instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.pipeline.leaves import differing_leaves, leaves, replace_at
from svctoolkit.results.lineage import Path

#: Events that the user's code returns; None if it fails.
Items: TypeAlias = Sequence[Mapping[str, Json]] | None
#: The event runs unchanged this often before all others and again after them, so that a clock advances in between.
REPEATS = 3


class Unsteady(NamedTuple):
    """What differs between runs of the same event: the values of leaves, in the first run, by path in the output.

    `entirely`: not even the number of events is the same. `first` is the output of the first run.
    """

    values: Mapping[Path, Json] = {}
    entirely: bool = False
    first: Items = None

    def __bool__(self) -> bool:
        return bool(self.values) or self.entirely

    def hold(self, items: Items) -> Items:
        """Return the output of another run with the values of the first run."""
        if self.entirely:
            return self.first
        if items is None or not self.values:
            return items
        held, known = list(items), leaves(list(items))
        for path, value in self.values.items():
            if path in known:
                held = replace_at(held, path, value)
        return held


def unsteady(runs: Sequence[Items]) -> Unsteady:
    """Return what differs between the outputs of the same event."""
    first, *others = runs
    known = {} if first is None else leaves(list(first))
    entirely = any((run is None) != (first is None) or len(run or ()) != len(first or ()) for run in others)
    if entirely or first is None:
        return Unsteady(known, entirely, first)
    differing = {path for run in others if run != first for path, _ in differing_leaves(list(first), list(run or ()))}
    return Unsteady({path: known[path] for path in differing & known.keys()})
