"""Prove a change of a transformation: first on the events of a group, then on all events of the replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.json_types import Json
from svctoolkit.replay import Comparison, Events, Group, Progress, compare, replay
from svctoolkit.replay.options import Options
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.results.text import describe
from svctoolkit.workspace import Workspace

#: Kind of a group -> the fate of its events, and the kind of the difference if a change corrects them.
_CORRECTED: Final[Mapping[str, tuple[str, str]]] = {
    "failed": ("failed", "no longer failing"),
    "newly failing": ("failed", "no longer failing"),
    "dropped": ("dropped", "newly delivered"),
    "newly dropped": ("dropped", "newly delivered"),
}
_QUIET = ("same", "accepted")
_NAMED = 3  # other differences that are described


class _Sent(NamedTuple):
    """An event with its source, as a replay accepts it."""

    event: Mapping[str, Json]
    source: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What a change does: how many of `tried` events of a group still fail, and the `comparison` of all events.

    `share` is how much of the input has been compared so far, if its size is known. `comparison` is missing until the
    end.
    """

    group: Group
    tried: int
    remaining: int
    share: float | None = None
    comparison: Comparison | None = None

    @property
    def text(self) -> str:
        """The result on one line: `300 -> 0; nothing else changed`."""
        first = f" (the first {self.tried:,})" if self.tried < self.group.count else ""
        head = f"{self.tried:,} -> {self.remaining:,}{first}"
        if self.comparison is None:
            return f"{head}; comparing all events" + ("" if self.share is None else f" ({self.share:.0%})")
        others = {kind: count for kind, count in self.comparison.kinds.items() if count and kind in self._other_kinds}
        what = ", ".join(f"{count:,} {kind}" for kind, count in others.items()) or "nothing else changed"
        corrected = self.comparison.kinds[_CORRECTED[self.group.kind][1]]
        of = f"{corrected:,} {_CORRECTED[self.group.kind][1]} of {display.quantity(self.comparison.events, 'event')}"
        return f"{head}; {what}; {of}" if self.comparison.complete else f"{head}; stopped"

    @property
    def is_clean(self) -> bool:
        """Whether the group is corrected and nothing else has changed."""
        return not self.remaining and (
            self.comparison is None or not any(self.comparison.kinds[kind] for kind in self._other_kinds)
        )

    def html(self) -> Html:
        """The line, and the largest other differences."""
        kind: display.Kind = "info" if self.comparison is None else "ok" if self.is_clean else "warning"
        groups = self.comparison.groups if self.comparison is not None else ()
        others = [f"{g.destination}: {describe(g)}" for g in groups if g.kind in self._other_kinds][:_NAMED]
        rows = display.table(("what else changed",), [(text,) for text in others]) if others else Html()
        return Html(display.message(self.text, kind) + rows)

    @property
    def _other_kinds(self) -> Sequence[str]:
        corrected = _CORRECTED[self.group.kind][1]
        return [kind for kind in self.comparison.kinds if kind not in (*_QUIET, corrected)] if self.comparison else ()


def can_prove(group: Group) -> bool:
    """Return whether a change can correct the events of a group: they fail or are dropped."""
    return group.kind in _CORRECTED


def prove_group(group: Group, records: Sequence[Record], after: Workspace, options: Options) -> Proof:
    """Run the events of a group in the changed workspace. Raises the errors of `replay`."""
    own: Options = {**_bare(options), "destinations": [group.destination]}
    result = replay([_Sent(record.event, record.source) for record in records], after, **own)
    failing = result.counts.get(group.destination, {}).get(_CORRECTED[group.kind][0], 0)
    return Proof(group, len(records), failing)


def prove_all(
    first: Proof,
    events: Events,
    sides: tuple[Workspace, Workspace],
    destinations: Sequence[str],
    options: Options,
    report: Callable[[Proof], bool],
) -> Proof:
    """Compare all events before and after a change. `report` gets the progress, and returns false to stop.

    Raises the errors of `compare`.
    """

    def listen(progress: Progress) -> None:
        if not progress.done and not report(replace(first, share=progress.share)):
            raise KeyboardInterrupt  # which ends a comparison with what was done until then

    own: Options = {**_bare(options), "destinations": destinations, "progress": listen}
    return replace(first, comparison=compare(events, *sides, **own))


def _bare(options: Options) -> Options:
    """The options that determine outcomes, without output and progress."""
    names = ("source", "stages", "columns", "batch", "mask_personal", "transport")
    kept: Options = {**options}
    for name in set(options) - set(names):
        del kept[name]  # type: ignore[misc]  # a name that is not a literal
    return {**kept, "rows": False, "progress": False}
