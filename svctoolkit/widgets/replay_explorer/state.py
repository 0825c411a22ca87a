"""What a replay explorer knows and does, without widgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from svctoolkit.errors import ConfigError, ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.replay import Comparison, Events, Group, Replayed
from svctoolkit.replay.results.members import Member, Reader, members
from svctoolkit.results import DestinationResult
from svctoolkit.results.lineage import Lineage
from svctoolkit.widgets.destination_explorer.request import TestRequest
from svctoolkit.workspace import Workspace

MOST = 100_000  # events of a group
GROUP = ("events", "destination", "what", "field", "rule or before", "text or after", "stage")
MEMBER = ("place", "event", "user", "event id", "text")


class Trial(NamedTuple):
    """One event through one workspace, stage by stage; `error` says why it could not be."""

    title: str
    result: DestinationResult | None
    lineage: Lineage | None
    error: str = ""


class ReplayState:
    """A result with what it was made from: `sides` is its workspace, or the two that were compared, by title."""

    def __init__(
        self,
        result: Replayed | Comparison,
        events: Events,
        sides: Mapping[str, Workspace],
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self.result, self.sides, self.groups = result, dict(sides), list(result.groups)
        self._reader = Reader(events, columns)
        self._pipelines = {title: Pipeline(side) for title, side in self.sides.items()}
        self.group: Group | None = None
        self.members: Sequence[Member] = ()
        self.more = False
        self.member: Member | None = None

    def group_rows(self) -> list[tuple[object, ...]]:
        """A row for each group, as `GROUP` names its cells."""
        return [(g.count, g.destination, g.kind, g.path, g.before, g.after, g.stage) for g in self.groups]

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
        """The chosen event, read once more. Raises `ConfigError` where it is not there any more."""
        if self.member is None:
            raise ConfigError("no event is chosen")
        return self._reader.event(self.member.place)

    def trials(self) -> list[Trial]:
        """The chosen event at the group's destination, once for each side. Raises `ConfigError`."""
        event = self.event()
        return [self._trial(title, pipeline, event) for title, pipeline in self._pipelines.items()]

    def _trial(self, title: str, pipeline: Pipeline, event: Mapping[str, Any]) -> Trial:
        assert self.group is not None  # noqa: S101 - an event is of a group
        try:
            result = pipeline.test_destination(self.group.destination, event, stages=Stages(), force=True)
            lineage = result.lineage() if any(entry.payloads for entry in result.data) else None
        except ToolkitError as error:
            return Trial(title, None, None, pipeline.workspace.masker.text(str(error)))
        return Trial(title, result, lineage)

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
        request = TestRequest(list(self._pipelines.values())[-1], destination, True, event)
        return request.add_to(file)
