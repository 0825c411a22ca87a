"""The plots of a replay and of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from svctoolkit.errors import ConfigError
from svctoolkit.replay.results.pictures import change_of_values, changes_by_day, failures_by_day, fates
from svctoolkit.replay.tally.flows import FlowCount
from svctoolkit.replay.tally.tally import Group, Tally, plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class ReplayPlots:
    """The plots of a replay."""

    __slots__ = ()

    tally: Tally

    def plot(
        self,
        what: Literal["days", "fates"] = "days",
        ax: Axes | None = None,
        *,
        releases: Mapping[str, str] | None = None,
    ) -> Axes:
        """Return matplotlib axes: failures by day and cause (`days`), or where events end (`fates`).

        `releases` maps names to days (ISO 8601); by default they are the versions of the app in the events. Raises
        `ConfigError` if matplotlib is missing: it is in `svctoolkit[plot]`.
        """
        return fates(self.tally).plot(ax) if what == "fates" else failures_by_day(self.tally, releases).plot(ax)

    def flows(self) -> pd.DataFrame:
        """Return how many events went where: columns `source`, `event`, `stage`, `destination`, `fate`, `events`.

        `source` is empty if it is not known, `stage` for delivered events. An event counts once for each destination.
        """
        import pandas as pd

        return pd.DataFrame(plain(tuple(self.tally.flows)), columns=list(FlowCount.__struct_fields__))


class ComparisonPlots:
    """The plots of a comparison."""

    __slots__ = ()

    tally: Tally

    def plot(
        self, group: Group | None = None, ax: Axes | None = None, *, releases: Mapping[str, str] | None = None
    ) -> Axes:
        """Return matplotlib axes: differences by day and cause, or the values of a group's field before and after.

        `releases` is as in a replay. Raises `ConfigError` for a group whose values are not counted (ids, objects), or
        if matplotlib is missing: it is in `svctoolkit[plot]`.
        """
        if group is None:
            return changes_by_day(self.tally, releases).plot(ax)
        picture = change_of_values(group)
        if picture is None:
            raise ConfigError(f"the values of {group.path or group.kind} have no distribution: none occurs often")
        return picture.plot(ax)
