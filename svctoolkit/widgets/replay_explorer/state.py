"""What a replay explorer knows and does, without widgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.replay import Comparison, Events, Group, Replayed
from svctoolkit.replay.options import Options, complete
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.results.members import Member, Reader, members
from svctoolkit.runner.record.personal import Pseudonyms
from svctoolkit.widgets.destination_explorer.request import TestRequest
from svctoolkit.widgets.replay_explorer.trials import Trial, Trials
from svctoolkit.workspace import Workspace

MOST = 100_000  # events of a group
#: column -> member of a group, in the order in which they stand: what one wants to know first
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


class ReplayState:
    """A result with what it was made from: `sides` is its workspace, or the two that were compared, by title.

    `options` are those of the replay: single events are run as they were there.
    """

    def __init__(
        self,
        result: Replayed | Comparison,
        events: Events,
        sides: Mapping[str, Workspace],
        options: Options,
    ) -> None:
        self.result, self.sides, self.groups = result, dict(sides), list(result.groups)
        self._reader = Reader(events, options.get("columns"))
        self._trials = [Trials(title, side, options) for title, side in self.sides.items()]
        self.hides_persons = complete(options)["mask_personal"]
        self.group: Group | None = None
        self.members: Sequence[Member] = ()
        self.more = False
        self.member: Member | None = None

    def group_columns(self) -> list[str]:
        """What is said of the groups: columns that have something in them."""
        return [name for name, member in self._members_of_groups().items() if any(self._cells(member))]

    def group_rows(self) -> list[tuple[object, ...]]:
        """A row for each group, as `group_columns` names its cells."""
        members_of = self._members_of_groups()
        return list(zip(*(self._cells(members_of[name]) for name in self.group_columns()), strict=True))

    def _members_of_groups(self) -> dict[str, str]:
        return _OF_COMPARISON if isinstance(self.result, Comparison) else _OF_REPLAY

    def _cells(self, member: str) -> list[object]:
        return [getattr(group, member) for group in self.groups]

    def member_rows(self) -> list[tuple[object, ...]]:
        """A row for each event of the chosen group, as `MEMBER` names its cells."""
        return [(m.place, m.event, m.user, m.event_id, m.text) for m in self.members]

    def choose(self, number: int) -> None:
        """Choose a group; its first event is chosen, too."""
        self.group = self.groups[number]
        last = list(self.sides.values())[-1]
        owner = last.destinations.get(self.group.destination)
        self.members, self.more = members(
            self.result, self.group, MOST, destination_id=owner.id if owner else self.group.destination
        )
        self.member = self.members[0] if self.members else None

    def pick(self, number: int) -> None:
        """Choose an event of the group."""
        self.member = self.members[number]

    def event(self) -> dict[str, Json]:
        """The chosen event, read once more, for editors and suites. With `mask_personal` it has made-up values where it
        has personal data: a mask would go another way than an address. Raises `ConfigError` where it is not there any
        more.
        """
        event: dict[str, Json] = dict(self._record().event)
        return Pseudonyms().replace(event) if self.hides_persons else event

    def _record(self) -> Record:
        if self.member is None:
            raise ConfigError("no event is chosen")
        return self._reader.record(self.member.place)

    def trials(self) -> list[Trial]:
        """The chosen event at the group's destination, once for each side. Raises `ConfigError`."""
        record = self._record()
        assert self.group is not None  # noqa: S101 - an event is of a group
        return [trials.run(record, self.group.destination) for trials in self._trials]

    @property
    def newest(self) -> Workspace:
        """The workspace that events are opened with: of two, the later one."""
        return list(self.sides.values())[-1]

    def transformation(self) -> str:
        """The key of the transformation that the group's destination has; empty where it has none."""
        destination = self.newest.destinations.get(self.group.destination) if self.group else None
        return (destination.transformation or "") if destination else ""

    def save(self, file: str) -> str:
        """Add the chosen event to a suite file, with what comes of it now; the text says what was done.

        Raises `ConfigError` where the file cannot take it.
        """
        event = self.event()
        assert self.group is not None  # noqa: S101 - `event` has made sure
        destination = self.newest.destination(self.group.destination)
        request = TestRequest(Pipeline(self.newest), destination, True, event)
        return request.add_to(file)
