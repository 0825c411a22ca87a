"""The base of the results of replays and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from svctoolkit.displayed import Displayed
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.policies import Policies
from svctoolkit.replay.records.record import Reject
from svctoolkit.replay.results.again import Again
from svctoolkit.replay.results.as_json import as_json
from svctoolkit.replay.results.gates import mostly_rejected, policy_breaches, undecided_policies, unreliable
from svctoolkit.replay.results.group_contrasts import KINDS as EXPLAINED
from svctoolkit.replay.results.group_contrasts import Contrasts, GroupContrast
from svctoolkit.replay.results.groups import Groups
from svctoolkit.replay.results.losses import LossCounts
from svctoolkit.replay.results.tables import arrow_reader, write_duckdb
from svctoolkit.replay.review.accepted import Accepted, Exceeded, exceeded
from svctoolkit.replay.review.amounts import Amounts
from svctoolkit.replay.review.terms import Breach, Conditions
from svctoolkit.replay.tally.estimates import Estimate, estimates
from svctoolkit.replay.tally.folder import Folder
from svctoolkit.replay.tally.rows import Columns, frame
from svctoolkit.replay.tally.spill import Rows
from svctoolkit.replay.tally.tally import Group, Tally
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.results.contrast import Traits
from svctoolkit.results.page import PageOut

if TYPE_CHECKING:
    import pandas as pd


class Unreached(NamedTuple):
    """Edits of destinations to which no event of a comparison goes, its source, and the sources that reach them."""

    edits: Sequence[str] = ()
    source: str = ""
    others: Sequence[str] = ()

    def __str__(self) -> str:
        where = f"from {self.source}" if self.source else "by these destinations"
        advice = f"; try --source {self.others[0]}" if self.others else ""
        return f"edited, but not reached {where}: {', '.join(self.edits)}{advice}"


@dataclass(slots=True, repr=False)
class BaseResult(Displayed, PageOut, ArrowOut):
    """What a replay and a comparison of two both return.

    - `events`: number of events that were run; `records`: records read, `rejected`: those that are not events
    - `rejects`: the first thousand rejected records, with file and line; `rejected` counts all of them
    - `counts`: destination -> outcome -> number of events
    - `groups`: events with the same outcome for the same reason, largest group first; `more_groups` counts events that
      are in no group, because there were too many groups
    - `seconds`: time per step, over all processes; `elapsed`: wall-clock time
    - `complete`: false if the run was interrupted: then everything here covers the events up to that point
    - `accepted`: the accepted differences in use
    - `expired`: accepted differences that have expired, and count as differences again
    - `unread`: the places from which on a file could not be read, for example because it is truncated
    - `source_rules`: sources whose tracking plans (or being disabled) matter, if none was chosen; `sourceless` counts
      the events that they were not applied to
    - `edited`: the edits between the two workspaces of a comparison that can concern its destinations, or its policies
    - `unreached`: the edits of other destinations. `changed_files`: files of the project that differ from those of the
      revision that the command line compared with, if they are known
    - `simulates`: whether a destination is simulated, so that it is known what it loses
    - `unchecked`: what policies could not decide, such as a first day without an earlier one
    - `out`: the folder with the rows as Parquet, if any; `verdict`: what `breaches` returned, for reports
    """

    #: the columns of the rows, and whether these are of a comparison
    _kinds: ClassVar[Mapping[str, str]]
    _compares: ClassVar[bool]
    tally: Tally
    complete: bool
    elapsed: float
    sample: float
    out: Path | None
    _new: Tally | None = None
    _rows: Rows = field(default_factory=Rows)
    _folder: Folder | None = None
    _dask: Any = None
    _warehouses: Any = None
    _requests: Any = None
    _contrast_groups: Any = None
    _contrast_places: Any = None
    _explained: dict[int, Contrasts] = field(default_factory=dict)
    expired: Sequence[Accepted] = ()
    source_rules: Sequence[str] = ()
    accepted: Sequence[Accepted] = ()
    policies: Policies = field(default_factory=lambda: Policies.of([]))
    edited: Sequence[str] | None = None
    unreached: Unreached = field(default_factory=Unreached)
    changed_files: Sequence[str] = ()
    simulates: bool = True
    unchecked: Sequence[str] = ()
    verdict: Sequence[Breach] | None = None
    _releases: Mapping[str, str] = field(default_factory=dict)

    @property
    def exceeded(self) -> Sequence[Exceeded]:
        """Accepted differences that more than twice as many events have as when they were accepted."""
        return tuple(exceeded(self.tally, self.accepted))

    @property
    def events(self) -> int:
        return self.tally.events

    @property
    def records(self) -> int:
        return self.tally.records

    @property
    def rejected(self) -> int:
        return self.tally.rejected

    @property
    def rejects(self) -> Sequence[Reject]:
        return self.tally.rejects

    @property
    def unread(self) -> Sequence[Reject]:
        return self.tally.unread

    @property
    def sourceless(self) -> int:
        return self.tally.sourceless if self.source_rules else 0

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        return self.tally.counts

    @property
    def estimates(self) -> Mapping[str, Mapping[str, Estimate]]:
        """Destination -> outcome -> estimated number among all events, if a sample was run."""
        return estimates(self.tally)

    @property
    def groups(self) -> Groups:
        return Groups(self.tally.groups)

    @property
    def more_groups(self) -> int:
        return self.tally.more_groups

    @property
    def seconds(self) -> Mapping[str, float]:
        return self.tally.seconds

    def total(self, what: str) -> int:
        """Return the number of events with this outcome, over all destinations."""
        return sum(counts.get(what, 0) for counts in self.counts.values())

    def blocks(self, names: Sequence[str] | None = None) -> Iterable[Columns]:
        """Return the rows, block by block, as columns of plain values: all, or at least those with these names.

        Raises `ConfigError` if they were not kept.
        """
        if self._dask is not None:
            raise ConfigError("the rows of this replay are on a Dask cluster: use result.frame() or result.dask()")
        if self._folder is None and self.events and not self._rows:
            raise ConfigError("the rows of this replay were not kept: leave `rows` on, or give `out`")
        return self._folder.columns(names) if self._folder is not None else self._rows.columns(names)

    def contrast(self, of: Group | Iterable[str]) -> Traits:
        """Return what some events have in common and others lack, the best first.

        `of` is a group, which is compared with events of the same names that arrive at its destination, or the places
        of events (`frame()["place"]`), which are compared with all others. The events are read again: up to 10,000 of
        them, and 5,000 that arrive (or 10,000 others). Empty if one side has none.

        Raises `ConfigError` if the rows were not kept, or the events can be read only once.
        """
        if isinstance(of, Group):
            (traits,) = self._again(self._contrast_groups)(self, [of])
        else:
            traits = self._again(self._contrast_places)(self, {*of})
        return cast("Traits", traits)

    def contrasts(self, most: int = 10) -> Contrasts:
        """Return the largest groups of events that do not arrive, or not whole, with what their events have in common.

        The rows and the events are read once for all of them: up to 20,000 events of all groups, and 6,000 that
        arrive. Raises `ConfigError` as `contrast` does.
        """
        if most not in self._explained:
            groups = [group for group in self.groups if group.kind in EXPLAINED][:most]
            traits = self._again(self._contrast_groups)(self, groups) if groups else []
            self._explained[most] = Contrasts(map(GroupContrast, groups, traits))
        return self._explained[most]

    @staticmethod
    def _again(function: Again | None) -> Again:
        if function is None:
            raise ConfigError("these events can be read only once: give a file, a list or a frame to `replay`")
        return function

    def _frame(self) -> pd.DataFrame:
        if self._dask is not None:
            table: pd.DataFrame = self._dask.compute()
            return table.reset_index(drop=True)
        return frame(self._folder.columns() if self._folder is not None else self._rows, self._kinds)

    @property
    def lost(self) -> LossCounts:
        """What simulated destinations lost: by destination, rule, event name and day."""
        return LossCounts(self.tally.lost)

    # Any: pyarrow has no types
    def arrow_reader(self) -> Any:
        """Return the rows of `frame()` as a `pyarrow.RecordBatchReader` that keeps one block in memory at a time.

        Raises `ConfigError` if the rows were not kept, or are on a Dask cluster.
        """
        return arrow_reader(self.blocks(), self._kinds)

    # Any: pyarrow has no types
    def to_arrow(self) -> Any:
        """Return the rows of `frame()` as a `pyarrow.Table`, with strings and 64-bit integers."""
        return self.arrow_reader().read_all()

    # Any: a capsule
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The Arrow stream protocol, block by block: Polars, DuckDB and `pyarrow` can read a result directly."""
        return self.arrow_reader().__arrow_c_stream__(requested_schema)

    def to_duckdb(self, path: Path | str) -> None:
        """Write the result to a DuckDB database as `replay_rows` (like `frame()`), `replay_counts`, `replay_groups`,
        `replay_losses` and `replay_rejects`. Tables with these names are replaced, other tables are kept.

        Raises `ConfigError` if DuckDB is not installed, the rows were not kept, or the file cannot be written.
        """
        write_duckdb(self._tables(), Path(path))

    # Any: Dask has no types
    def dask(self) -> Any:
        """Return the rows as a Dask DataFrame, on the cluster of the Dask collection that was replayed.

        Raises `ConfigError` for other inputs; with `out`, Dask can read the folder.
        """
        if self._dask is None:
            raise ConfigError(
                "only the replay of a Dask collection has rows on a cluster; give `out`, and read OUT/rows with Dask"
            )
        return self._dask

    def mark_judged(self) -> None:
        """Record in the output folder, if any, that these events have passed: later, `breaches` is about others."""
        if self._folder is not None:
            self._folder.mark_judged()

    def breaches(self, conditions: str, *, total: bool = False, amounts: Amounts | None = None) -> list[Breach]:
        """Return the conditions that are met, with their numbers: `result.breaches("changed>1% or lost>0")`.

        After a sample, the numbers are estimates for all events. Conditions that they leave undecided are included,
        with the share of the events that probably decides them (`needs`). With conditions, an input that could not be
        read completely is a breach (`input`), and so are events without a source if rules depend on it (`source`), and
        an accepted difference that many more events have than when it was accepted (`accepted`).

        A number counts events over all destinations; a share is relative to the events of one destination, and any
        destination can meet the condition. Words are the kinds or statuses (with `_`), `new_failures`, `personal`
        (plain personal data is new there), `lossy` (of a replay: a value does not arrive as it was returned or sent),
        `any` and `rejected`. In a comparison, `lost` means delivered before, but not any longer; `newly_lost` means
        lost by a rule of a simulated destination that did not apply before. In a replay, `lost`, `refused`, `cut` and
        `folded` are what simulated destinations do.

        After a resumed run, conditions are about the events that have not passed yet (see `mark_judged`), or about all
        of them with `total`. `amounts` are those of `cost(...)`, for `cost`, `cost_change` (of a comparison) and
        `over_limit`. Raises `ConfigError` for invalid conditions.
        """
        tally = self.tally if total or self._new is None else self._new
        given = Conditions(
            conditions,
            compares=self._compares,
            priced=amounts is not None,
            simulates=self.simulates,
            accepts=bool(self.accepted or self.expired),
        )
        if not conditions.strip():
            return []
        doubts = [*unreliable(self.unread, self.exceeded, self.sourceless, self.source_rules)]
        if "rejected" not in conditions:
            doubts += mostly_rejected(tally)
        doubts += undecided_policies(self.tally, self.policies, self.sample)
        return [*self.policy_breaches, *doubts, *given.breaches(tally, self.sample, amounts)]

    @property
    def policy_breaches(self) -> list[Breach]:
        """The policies of severity `error` that do not hold, with the number of events by destination."""
        return policy_breaches(self.tally.policies, self.policies)

    def to_dict(self) -> dict[str, Json]:
        """Return everything except the rows as JSON."""
        return as_json(self)

    def _tables(self) -> Iterator[tuple[str, Any]]:
        """Yield the name and the rows of each database table."""
        import pandas as pd

        yield "rows", self.arrow_reader()
        counts = [(key, what, count) for key, of in self.counts.items() for what, count in of.items()]
        texts = {"destination": "string", "fate": "string", "place": "string", "reason": "string", "text": "string"}
        tables = {
            "counts": pd.DataFrame(counts, columns=["destination", "fate", "events"]),
            "groups": self.groups.frame().astype({"kind": "string"}),
            "losses": self.lost.frame().astype(dict.fromkeys(("side", "what", "rule", "event"), "string")),
            "rejects": pd.DataFrame(
                [storable_all((r.place, r.reason, r.text)) for r in self.rejects], columns=["place", "reason", "text"]
            ),
        }
        for name, table in tables.items():
            yield name, table.astype({column: kind for column, kind in texts.items() if column in table})
