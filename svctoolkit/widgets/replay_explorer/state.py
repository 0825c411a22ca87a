"""The state and actions of a replay explorer, without widgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.replay import Comparison, Events, Group, Replayed
from svctoolkit.replay.options import Options, complete
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.results.members import Member, Members, Reader, arriving, members
from svctoolkit.results.contrast import Traits
from svctoolkit.runner.record.personal import Pseudonyms
from svctoolkit.widgets.destination_explorer.request import TestRequest
from svctoolkit.widgets.replay_explorer.proof import Proof, can_prove, prove_all, prove_group
from svctoolkit.widgets.replay_explorer.trials import Trial, Trials
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

MOST = 1_000_000  # most events listed of a group
OPENED = 300  # most events of a group that an editor opens
#: column -> member of a group, most interesting first
_OF_REPLAY = {
    "events": "count",
    "destination": "destination",
    "what": "kind",
    "decided by": "decides",
    "text": "after",
    "field": "path",
    "stage": "stage",
    "rule": "before",
}
_OF_COMPARISON = {
    "events": "count",
    "destination": "destination",
    "what": "kind",
    "field": "path",
    "before": "before_label",
    "after": "after_label",
    "decided by": "decides",
    "stage": "stage",
}
MEMBER = ("place", "event", "user", "event id", "text")
_MEMBERS = dict(zip(("place", "event", "user", "event_id", "text"), MEMBER, strict=True))


class ReplayState:
    """A result with its inputs: `sides` is its workspace, or the two that were compared, by title.

    `options` are those of the replay, so that single events run in the same way.
    """

    def __init__(
        self,
        result: Replayed | Comparison,
        events: Events,
        sides: Mapping[str, Workspace],
        options: Options,
    ) -> None:
        self._arriving = arriving(result)
        self.result, self.sides, self.groups = result, dict(sides), [*result.groups, *self._arriving]
        self._events, self._options = events, options
        self._reader = Reader(events, options.get("columns"))
        self._trials = [Trials(title, side, options) for title, side in self.sides.items()]
        # As they were replayed: an editor may save other code in the workspace.
        self._replayed = _snapshot(self.newest)
        self._faulty = Trials("", self._replayed, options)
        self.hides_persons = complete(options)["mask_personal"]
        self.group: Group | None = None
        self.members = Members(())
        self.more = False
        self.member: Member | None = None

    def group_columns(self) -> list[str]:
        """The columns of the group table that are not empty."""
        return [name for name, member in self._members_of_groups().items() if any(self._cells(member))]

    def group_rows(self) -> list[tuple[object, ...]]:
        """A row for each group, with the columns of `group_columns`."""
        members_of = self._members_of_groups()
        return list(zip(*(self._cells(members_of[name]) for name in self.group_columns()), strict=True))

    def _members_of_groups(self) -> dict[str, str]:
        return _OF_COMPARISON if isinstance(self.result, Comparison) else _OF_REPLAY

    def _cells(self, member: str) -> list[object]:
        return [getattr(group, member) for group in self.groups]

    def member_frame(self) -> pd.DataFrame:
        """A row for each event of the selected group, with the columns of `MEMBER`."""
        return self.members.frame[[*_MEMBERS]].rename(columns=_MEMBERS)

    def choose(self, number: int) -> None:
        """Select a group and its first event."""
        self.group = self.groups[number]
        last = list(self.sides.values())[-1]
        owner = last.destinations.get(self.group.destination)
        self.members, self.more = members(
            self.result, self.group, MOST, destination_id=owner.id if owner else self.group.destination
        )
        self.member = self.members[0] if self.members else None

    def selection(self) -> dict[str, str]:
        """The selected group and event, by name."""
        group, member = self.group, self.member
        names = {"destination": group.destination, "what": group.kind, "text": group.after} if group else {}
        return names | ({"place": member.place, "event_id": member.event_id} if member else {})

    def contrast(self) -> Traits:
        """Compare the events of the selected group with events that arrive: see `Replayed.contrast`."""
        assert self.group is not None  # noqa: S101 - called for a selected group
        if self.is_arriving:
            return Traits()
        return self.result.contrast(self.group)

    def contrast_of(self, numbers: Sequence[int]) -> Traits:
        """Compare some of the listed events with all others."""
        return self.result.contrast(self.members[number].place for number in numbers)

    @property
    def is_arriving(self) -> bool:
        """Whether the selected group has events that arrive, or are the same on both sides."""
        return any(self.group is group for group in self._arriving)

    def pick(self, number: int) -> None:
        """Select an event of the group."""
        self.member = self.members[number]

    def event(self) -> dict[str, Json]:
        """The selected event, read again, for editors and suites. With `mask_personal`, fake values replace personal
        data: a mask could take a different path than an address. Raises `ConfigError` if the event no longer exists.
        """
        return self._for_editors(self._record())

    def _for_editors(self, record: Record) -> dict[str, Json]:
        event: dict[str, Json] = dict(record.event)
        return Pseudonyms().replace(event) if self.hides_persons else event

    def _record(self) -> Record:
        if self.member is None:
            raise ConfigError("no event selected")
        return self._reader.record(self.member.place)

    def trials(self) -> list[Trial]:
        """Run the selected event at the group's destination, once for each side. Raises `ConfigError`."""
        record = self._record()
        assert self.group is not None  # noqa: S101 - an event belongs to a group
        return [trials.run(record, self.group.destination) for trials in self._trials]

    @property
    def newest(self) -> Workspace:
        """The workspace to open events with: of two, the later one."""
        return list(self.sides.values())[-1]

    def transformation(self) -> str:
        """The key of the transformation of the group's destination; empty without one."""
        destination = self.newest.destinations.get(self.group.destination) if self.group else None
        return (destination.transformation or "") if destination else ""

    def editor_events(self) -> tuple[dict[str, dict[str, Json]], Events]:
        """The first events of the group by place, the selected one first, and all events: for editors, see `event`.

        With `mask_personal`, the events of the group take the place of all events.
        """
        record = self._record()
        events = {record.place: self._for_editors(record)}
        events |= {other.place: self._for_editors(other) for other in self._group_records()}
        return events, list(events.values()) if self.hides_persons else self._events

    def prove(self, after: Workspace, report: Callable[[Proof], bool]) -> Proof | None:
        """Run the events of the group, then all events, with changed code; None if the group cannot be corrected.

        `report` gets the result so far, and returns false to stop. Raises the errors of `replay` and `compare`.
        """
        group, key = self.group, self.transformation()
        if group is None or not can_prove(group) or not key:
            return None
        if after.transformation(key).code == self._replayed.transformation(key).code:
            return None
        first = prove_group(group, self._group_records(), after, self._options)
        if not report(first):
            return first
        users = [name for name, item in after.destinations.items() if item.enabled and item.transformation == key]
        sides = (self._replayed, after)
        return prove_all(first, self._events, sides, users, self._options, report)

    def events_of(self, numbers: Sequence[int]) -> list[dict[str, Json]]:
        """Some of the listed events, read again in the order of the input: see `event`."""
        places = [self.members[number].place for number in numbers]
        return [self._for_editors(record) for record in self._reader.records(places)]

    def _group_records(self) -> list[Record]:
        return list(self._reader.records(member.place for member in self.members[:OPENED]))

    def save(self, file: str, after: Workspace | None = None) -> str:
        """Add the smallest part of the selected event that shows the fault to a suite file.

        The scenario expects its outcome in `after`, by default the workspace. Returns a message with what was done.
        Raises `ConfigError` if the event cannot be added.
        """
        record, event, workspace = self._record(), self.event(), after or self.newest
        assert self.group is not None  # noqa: S101 - ensured by `event`
        smallest = self._faulty.smallest(record, event, self.group.destination)
        destination = workspace.destination(self.group.destination)
        return TestRequest(Pipeline(workspace, exploring=True), destination, True, smallest).add_to(file)


def _snapshot(workspace: Workspace) -> Workspace:
    items = {key: replace(item) for key, item in workspace.transformations.items()}
    return replace(workspace, transformations=items)
