"""How much of a plan some events cover, as text, a frame and a heat map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from svctoolkit.displayed import Displayed, render
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.pictures import HeatMap
from svctoolkit.plans.coverage import event_items, plan_items
from svctoolkit.plans.model import Plan
from svctoolkit.plans.pictures import coverage_map

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class PlanCoverage(Displayed):
    """What events cover of a plan: `covered` and `missing` are (group, item), such as `properties`, `Paid: total`."""

    def __init__(self, plan: Plan, covered: Iterable[tuple[str, str]]) -> None:
        seen = set(covered)
        self.items = list(dict.fromkeys(plan_items(plan)))
        self.covered = [item for item in self.items if item in seen]
        self.missing = [item for item in self.items if item not in seen]

    def frame(self) -> pd.DataFrame:
        """Return one row for each item of the plan, with the columns `group`, `item` and `covered`."""
        import pandas as pd

        covered = set(self.covered)
        return pd.DataFrame(
            [storable_all((*item, item in covered)) for item in self.items], columns=["group", "item", "covered"]
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return the heat map as matplotlib axes. Raises `ConfigError` without `svctoolkit[plot]`."""
        return self.picture().plot(ax)

    def picture(self) -> HeatMap:
        """Return a heat map of events and groups."""
        return coverage_map(self.covered, self.missing)

    def __repr__(self) -> str:
        return render(self, "text")


def cover(plan: Plan, events: Iterable[Mapping[str, Json]]) -> PlanCoverage:
    """Return what events cover of a plan: its events, properties, values, variants, and properties left out."""
    return PlanCoverage(plan, (item for event in events for item in event_items(plan, event)))
