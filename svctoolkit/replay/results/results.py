"""The results of a replay and of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from svctoolkit.errors import ConfigError
from svctoolkit.replay.results.plots import ComparisonPlots, ReplayPlots
from svctoolkit.replay.review.accepted import write_accepted
from svctoolkit.replay.tally.differences import KINDS
from svctoolkit.replay.tally.rows import COMPARISON, REPLAY

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.replay.requests import RequestCounts
    from svctoolkit.warehouse import Diff, Warehouse


from svctoolkit.replay.results.base import BaseResult


class Replayed(ReplayPlots, BaseResult):
    """The outcomes of many events, as a data plane would process them.

    `counts` has `delivered`, `filtered` (excluded by integrations, consent, event types, connection modes, disabled
    sources or destinations), `dropped` (by user code or a tracking plan), `failed` and `unmapped` (the destination
    type has no mapping); `groups` have the reasons.
    """

    __slots__ = ()
    _kinds: ClassVar = REPLAY
    _compares: ClassVar = False

    def frame(self) -> pd.DataFrame:
        """Return one row per event, destination and stage, in the order of the input.

        Columns: `place` (`file:line`), `event_id`, `event_type`, `event_name`, `user_id`, `destination_id`,
        `destination_name`, `destination` (the type), `stage` (also `gateway`, `deduplication`, `routing` and
        `tracking_plan`, if the event stopped there), `item` (index among the events that the transformation returned),
        `part` (index of the payload), `status`, `http_status`, `error`, `output` (JSON text, secrets masked).
        """
        return self._frame()

    def warehouse(self, destination: str, production: Path | str | None = None) -> Warehouse:
        """Return the tables of a warehouse destination (key or id), with the rows of this replay, to query with `sql`.

        `production` has the columns of production's tables: see `Warehouse.seed`. Raises `UnknownName` for other
        destinations, `ConfigError` if the rows were not kept.
        """
        if self._warehouses is None:
            raise ConfigError("this replay has no warehouse")
        warehouse: Warehouse = self._warehouses(self, destination, production)
        return warehouse

    def requests(self, jobs: int | Sequence[int] = 20) -> RequestCounts:
        """Return how many requests these events make at each destination, for one or several sizes of calls.

        The result also compares the largest request with the limit of the destination: see
        `svctoolkit.replay.count_requests`. The events are mapped again. Raises `ConfigError` for events that can be
        read only once.
        """
        if self._requests is None:
            raise ConfigError("these events can be read only once: give a file, a list or a frame to `replay`")
        counts: RequestCounts = self._requests(jobs=jobs)
        return counts


class Comparison(ComparisonPlots, BaseResult):
    """The differences between two workspaces or outputs. `counts` is by `svctoolkit.replay.KINDS`."""

    __slots__ = ()
    _kinds: ClassVar = COMPARISON
    _compares: ClassVar = True

    def warehouse(self, destination: str) -> Diff:
        """Return the differences in the tables of a warehouse destination (key or id): columns, types, discards, rows.

        The events go through both sides again. Raises `UnknownName` for other destinations, `ConfigError` for events
        that can be read only once.
        """
        if self._warehouses is None:
            raise ConfigError("these events can be read only once: give a file, a list or a frame to `compare`")
        diff: Diff = self._warehouses(destination)
        return diff

    @property
    def kinds(self) -> Mapping[str, int]:
        """Kind -> number of events, over all destinations."""
        return {kind: self.total(kind) for kind in KINDS}

    @property
    def different(self) -> int:
        """The number of events that are neither the same nor accepted."""
        return sum(count for kind, count in self.kinds.items() if kind not in ("same", "accepted"))

    def write_accepted(self, path: Path | str, *, reason: str, expires: date | None = None) -> int:
        """Add the differences to a file for the option `accept`, and return how many entries are new.

        The file of accepted differences has one entry for each group. Entries are valid until `expires`, by default
        for 90 days. Raises `ConfigError` without a reason, or for a file that cannot be read or written.
        """
        last = expires or datetime.now(UTC).date() + timedelta(days=90)
        totals = {key: sum(counts.values()) for key, counts in self.counts.items()}
        return write_accepted(path, self.groups, totals, reason=reason, expires=last)

    @property
    def personal(self) -> Mapping[str, Mapping[str, int]]:
        """Destination -> kind -> number of events with plain personal data that did not reach the destination before.

        A value that is no longer hashed counts, one that only moved does not. Kinds are `email`, `phone`, `name`,
        `date` (of birth), `text` (postal addresses and the like), `ip` and `place` (coordinates).
        """
        return self.tally.personal

    @property
    def unstable(self) -> Mapping[str, Mapping[str, int]]:
        """Destination -> path -> number of events whose value also differs between two runs of the first pipeline.

        Such values come from a clock or a random number in user code.
        """
        return self.tally.unstable

    def frame(self) -> pd.DataFrame:
        """Return one row per event and destination, in the order of the input.

        Columns: `place` (`file:line`), `event_id`, `event_type`, `event_name`, `user_id`, `destination_id`,
        `destination_name`, `destination` (the type), `kind`, `before` and `after` (`delivered`, `dropped`,
        `failed`, `filtered`, `unmapped`, `off`), `before_error`, `after_error`, `changes` (JSON text: a list of
        `{path, before, after}`, secrets masked).
        """
        return self._frame()
