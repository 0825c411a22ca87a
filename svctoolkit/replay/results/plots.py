"""The plots of a replay and of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from svctoolkit.errors import ConfigError
from svctoolkit.releases import check_releases
from svctoolkit.replay.results.pictures import change_of_values, changes_by_day, failures_by_day, fates, shifts
from svctoolkit.replay.tally.flows import FlowCount, ShiftCount
from svctoolkit.replay.tally.tally import Group, Tally, plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class _Plots:
    """The releases that the plots and pictures mark."""

    __slots__ = ()

    tally: Tally
    _releases: Mapping[str, str]

    @property
    def releases(self) -> Mapping[str, str]:
        """Name of a version -> its day: the option `releases`, those of the workspace, or else the app's versions."""
        return self._releases or self.tally.releases


class ReplayPlots(_Plots):
    """The plots of a replay."""

    __slots__ = ()

    def plot(
        self,
        what: Literal["days", "fates"] = "days",
        ax: Axes | None = None,
        *,
        releases: Mapping[str, str] | None = None,
    ) -> Axes:
        """Return matplotlib axes: failures by day and cause (`days`), or where events end (`fates`).

        `releases` maps names to days (ISO 8601); by default they are those of the result. Raises `ConfigError` if
        matplotlib is missing: it is in `svctoolkit[plot]`.
        """
        if what == "fates":
            return fates(self.tally).plot(ax)
        return failures_by_day(self.tally, self._releases if releases is None else check_releases(releases)).plot(ax)

    def flows(self) -> pd.DataFrame:
        """Return how many events went where: columns `source`, `event`, `stage`, `destination`, `fate`, `events`.

        `source` is empty if it is not known, `stage` for delivered events. An event counts once for each destination.
        """
        import pandas as pd

        return pd.DataFrame(plain(tuple(self.tally.flows)), columns=list(FlowCount.__struct_fields__))


class ComparisonPlots(_Plots):
    """The plots of a comparison."""

    __slots__ = ()

    def plot(
        self,
        what: Literal["days", "fates"] | Group = "days",
        ax: Axes | None = None,
        *,
        releases: Mapping[str, str] | None = None,
    ) -> Axes:
        """Return matplotlib axes: differences by day and cause (`days`), what changes between both sides (`fates`), or
        the values of a group's field before and after.

        `releases` is as in a replay. Raises `ConfigError` for a group whose values are not counted (ids, objects), or
        if matplotlib is missing: it is in `svctoolkit[plot]`.
        """
        if what == "fates":
            return shifts(self.tally).plot(ax)
        if what == "days":
            given = self._releases if releases is None else check_releases(releases)
            return changes_by_day(self.tally, given).plot(ax)
        picture = change_of_values(what)
        if picture is None:
            raise ConfigError(f"the values of {what.path or what.kind} have no distribution: none occurs often")
        return picture.plot(ax)

    def flows(self) -> pd.DataFrame:
        """Return how many events have which fates on both sides: columns `source`, `event`, `destination`, `before`,
        `before_stage`, `after`, `after_stage`, `kind`, `events`.

        `source` is empty if it is not known, a stage for delivered events. An event counts once for each destination.
        """
        import pandas as pd

        return pd.DataFrame(plain(tuple(self.tally.shifts)), columns=list(ShiftCount.__struct_fields__))
