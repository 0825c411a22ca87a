"""The result of one chunk, and how such results add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from svctoolkit.history import Part
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable
from svctoolkit.replay.records.record import Record, Reject
from svctoolkit.replay.tally.because import Because
from svctoolkit.replay.tally.flows import FlowCount, FlowSum, ShiftCount
from svctoolkit.replay.tally.losses import LossCount, LossSum
from svctoolkit.replay.tally.numbers import Numbers
from svctoolkit.replay.tally.values import Span, count_value, merge_values, widest

EXAMPLES = 3  # per group
#: Marks of strata: see `Stratum`.
LOSSY: Final = "lossy"
PERSONAL: Final = "personal"
NEWLY_LOST: Final = "newly_lost"
_MOST_NAMES = 1000  # of events, per group
_MOST_GROUPS = 5000
_MOST_STRATA = 2000
MOST_REJECTS = 1000  # kept in memory
_MOST_DECISIONS = 50  # by mappings, per chunk: each costs a run for every setting


class Example(msgspec.Struct, frozen=True):
    """One event of a group: its place, the two values (shortened), and all changes of that event."""

    place: str
    event_id: str
    before: str = ""
    after: str = ""
    changes: list[tuple[str, str, str]] = []


class Group(msgspec.Struct):
    """Events at one destination with the same difference or outcome.

    `kind` is one of `svctoolkit.replay.KINDS` (in a comparison; `accepted` for reviewed differences), or `failed`,
    `filtered`, `dropped`, `unmapped`, `lossy` (in a replay: values that a warehouse changes, or what a simulated
    destination loses, with `path` what happens and `before` the rule) and `breach` (of the policy named `before`).
    For `changed`, `path` is the path in the payload, with `*` for list indexes, and `before` and `after` are JSON
    types, `nothing` for a missing member. For other kinds, they are the ids of the rules that were broken, with their
    messages in `before_text` and `after_text`, or reasons with `…` for values. If a value varied from run to run and
    is constant now, they are `varying` and `fixed`.
    `events` counts the events by name (or type); events after the first thousand names are counted as `…`. `numbers`
    has statistics of a number that changed. For `failed`, `path` is the field of the event or the place in the user
    code, `before` the id of the rule that it breaks (see `svctoolkit.results.Failure`) and `after` the message of the
    rule. For events that do not arrive, `stage` is where they stopped. `decides` is the place in the user code that
    decided it, or the settings of the destination that do: with another value of one of them, the first example would
    continue. For a breach, it is where its value is in the event and which line of code made it, or what happened to
    events that are missing. For mappings, these settings are determined for
    the first fifty groups of a chunk. `personal` counts the events of a comparison in which plain personal data is
    new at the destination, by kind (`email`, `phone`, `name`, `date`, `text`, `ip`, `place`). `values` counts what
    identifies the new values of a change, as JSON text: the first of them; `span` is what the others have in common.
    `old_values` counts the old ones.
    `because` are the edits that a group of
    a comparison is due to; None if that was not determined. `days` counts its events by day (UTC), as far as they
    have a time.
    """

    destination: str
    kind: str
    path: str
    before: str
    after: str
    count: int = 0
    events: dict[str, int] = {}
    examples: list[Example] = []
    numbers: Numbers | None = None
    stage: str = ""
    decides: str = ""
    before_text: str = ""
    after_text: str = ""
    personal: dict[str, int] = {}
    values: dict[str, int] = {}
    because: Because | None = None
    days: dict[str, int] = {}
    old_values: dict[str, int] = {}
    span: Span | None = None

    @property
    def before_label(self) -> str:
        """`before` as shown to users."""
        return self.before_text or self.before

    @property
    def after_label(self) -> str:
        """`after` as shown to users."""
        return self.after_text or self.after

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        return (self.destination, self.kind, self.path, self.before, self.after)

    @property
    def event(self) -> str:
        """The name of its events, or the number of names."""
        return next(iter(self.events)) if len(self.events) == 1 else f"{len(self.events):,} names"

    @property
    def is_edited(self) -> bool:
        """Whether the place in the code that decides is one of the edits that the group is due to."""
        edits = self.because.edits if self.because is not None else ()
        return any(f"{self.decides}:".startswith(f"{edit.what}:") for edit in edits)

    def add(self, event: str, example: Example, day: str, most: int) -> None:
        """Add an event, with its name and day; at most `most` are examples."""
        self.count += 1
        if day and (day in self.days or len(self.days) < _MOST_NAMES):
            self.days = self.days or {}
            self.days[day] = self.days.get(day, 0) + 1
        self._count(event, 1)
        if len(self.examples) < most:
            self.examples = [*self.examples, example]

    def merge(self, other: Group) -> None:
        """Add the same group of a later part."""
        self.stage, self.decides = other.stage, self.decides or other.decides
        self.count += other.count
        for event, count in other.events.items():
            self._count(event, count)
        self.examples = [*self.examples, *other.examples][:EXAMPLES]
        self.personal = add_counts(self.personal, other.personal)
        self.days = add_counts(self.days, other.days)
        self.values, rest = merge_values(self.values, other.values)
        self.span = widest(widest(self.span, rest), other.span)
        self.old_values, _ = merge_values(self.old_values, other.old_values)
        if other.numbers is not None:
            self.numbers = self.numbers or Numbers()
            self.numbers.add(other.numbers)

    def show(self, old: Json, new: Json) -> None:
        """Add what identifies both values of a change: see `svctoolkit.replay.review.fingerprints`."""
        count_value(self.old_values, old)
        self.span = widest(self.span, count_value(self.values, new))

    def measure(self, before: float, after: float) -> None:
        """Add a number that has changed."""
        try:
            old, new = float(before), float(after)
        except OverflowError:  # JSON integers are unbounded
            return
        self.numbers = self.numbers or Numbers()
        self.numbers.measure(old, new)

    def _count(self, event: str, count: int) -> None:
        name = event if event in self.events or len(self.events) < _MOST_NAMES else "…"
        self.events[name] = self.events.get(name, 0) + count


class Stratum(msgspec.Struct):
    """The events of one shape in a sample: how many there are, how many were run, and their outcomes.

    `marks` counts what else conditions are about, by destination: events that are `lossy`, with new `personal` data,
    and what simulated destinations do.
    """

    records: int = 0
    run: int = 0
    counts: dict[str, dict[str, int]] = {}
    marks: dict[str, dict[str, int]] = {}


class Tally(msgspec.Struct):
    """The result of one chunk, or of many. `digest` identifies the chunk, if it is stored in a folder.

    `unread` are the places from which on a file could not be read. `sourceless` counts events without a known
    source, `assumed` those whose source is known from what they say themselves, by source. `ignored` counts the
    events with a change hidden by a pattern of `ignore` or `tolerance`, by destination. `counts` has the number of
    events for each status or kind, by destination. `unstable` counts events by destination and path whose values
    differ between two runs of the same pipeline. `lossy` counts the events of a replay with a value that does not
    arrive as it was returned or sent, by destination; `newly_lost` those of a comparison that a simulated
    destination newly loses and that newly fail or are newly delivered (others are in groups). `personal` counts the
    events with new personal data, by destination and kind. `accepted` counts those that an entry of a list of
    accepted differences covers, by destination and number of the entry. `policies` counts the events that break a
    policy, by its name and destination; `reached` is how far their checks got (see
    `svctoolkit.policies.Policies.prove`), `paths` what its `paths` found. `strata` are the shapes of a sample;
    those after the first 2,000 are counted as one. `seconds` is the time of each step, over all processes. `lost`
    counts what simulated destinations lose. `history` has the counts for a history, one part for each input.
    `flows` counts the events of a replay by source, name, stage, destination and fate, `shifts` those of a
    comparison by their fates before and after; `releases` has the first day of each version of an app. `sent` are
    rows of tables for policies that are queries.
    """

    number: int = 0
    digest: str = ""
    records: int = 0
    events: int = 0
    rejected: int = 0
    rejects: list[Reject] = []
    unread: list[Reject] = []
    sourceless: int = 0
    assumed: dict[str, int] = {}
    counts: dict[str, dict[str, int]] = {}
    groups: list[Group] = []
    more_groups: int = 0
    unstable: dict[str, dict[str, int]] = {}
    ignored: dict[str, dict[str, int]] = {}
    personal: dict[str, dict[str, int]] = {}
    lossy: dict[str, int] = {}
    newly_lost: dict[str, int] = {}
    accepted: dict[str, dict[str, int]] = {}
    policies: dict[str, dict[str, int]] = {}
    reached: dict[str, int] = {}
    paths: dict[str, set[str]] = {}
    seconds: dict[str, float] = {}
    strata: dict[str, Stratum] = {}
    lost: list[LossCount] = []
    history: list[Part] = []
    sent: list[bytes] = []
    flows: list[FlowCount] = []
    shifts: list[ShiftCount] = []
    releases: dict[str, str] = {}


class Sum:
    """Adds up parts, in the order of their numbers.

    `examples` is how many events of a group are kept. `mask` hides secrets in the names of events.
    """

    def __init__(
        self, most_rejects: int = MOST_REJECTS, *, examples: int = EXAMPLES, mask: Callable[[str], str] = str
    ) -> None:
        self.tally, self._most_rejects, self._room = Tally(), most_rejects, _MOST_DECISIONS
        self._examples = examples
        self._groups: dict[tuple[str, ...], Group] = {}
        self._parts: dict[str, Part] = {}
        self.losses, self.flows = LossSum(), FlowSum(mask)

    def reject(self, *rejects: Reject) -> None:
        self.tally.rejected += len(rejects)
        self.tally.unread = [*self.tally.unread, *(reject for reject in rejects if reject.rest_unread)]
        room = max(0, self._most_rejects - len(self.tally.rejects))
        self.tally.rejects = [*self.tally.rejects, *rejects[:room]]

    def count(self, destination: str, what: str, stratum: str = "", *, events: int = 1) -> None:
        of = self.tally.counts.setdefault(destination, {})
        of[what] = of.get(what, 0) + events
        if stratum:
            of = self.stratum(stratum).counts.setdefault(destination, {})
            of[what] = of.get(what, 0) + events

    def mark(self, destination: str, what: str, stratum: str) -> None:
        """Count an event of a sample for conditions that are not about outcomes."""
        if stratum:
            of = self.stratum(stratum).marks.setdefault(destination, {})
            of[what] = of.get(what, 0) + 1

    def stratum(self, name: str) -> Stratum:
        """Return the stratum of that name."""
        strata = self.tally.strata
        if name not in strata and len(strata) >= _MOST_STRATA:
            name = "…"
        return strata.setdefault(name, Stratum())

    def ignore(self, destination: str, pattern: str) -> None:
        """Count an event with a change hidden by a pattern."""
        of = self.tally.ignored.setdefault(destination, {})
        of[pattern] = of.get(pattern, 0) + 1

    def lose(self, destination: str, stratum: str = "") -> None:
        """Count an event with a value that does not arrive as it was returned or sent."""
        self.tally.lossy = add_counts(self.tally.lossy, {destination: 1})
        self.mark(destination, LOSSY, stratum)

    def lose_newly(self, destination: str, stratum: str) -> None:
        """Count an event that a simulated destination newly loses, and that newly fails or is newly delivered."""
        self.tally.newly_lost = add_counts(self.tally.newly_lost, {destination: 1})
        self.mark(destination, NEWLY_LOST, stratum)

    def breach(self, policy: str, destination: str) -> None:
        """Count an event that breaks a policy."""
        _add_counts(self.tally.policies, {policy: {destination: 1}})

    def reach(self, reached: Mapping[str, int]) -> None:
        """Record how far the checks of policies got."""
        for policy, far in reached.items():
            self.tally.reached[policy] = max(far, self.tally.reached.get(policy, 0))

    def see_paths(self, paths: Mapping[str, set[str]]) -> None:
        """Add paths of events and of what was sent, for the texts of policies that checked nothing."""
        for key, more in paths.items():
            of = self.tally.paths.setdefault(key, set())
            of.update(sorted(more - of)[: max(0, _MOST_NAMES - len(of))])

    def accept(self, destination: str, number: int) -> None:
        """Count an event with a difference that is accepted."""
        _add_counts(self.tally.accepted, {destination: {str(number): 1}})

    def expose(self, destination: str, kinds: Collection[str], stratum: str = "") -> None:
        """Count an event with plain personal data of these kinds that is new at a destination."""
        if kinds:
            of = self.tally.personal
            of[destination] = add_counts(of.get(destination, {}), dict.fromkeys(kinds, 1))
            self.mark(destination, PERSONAL, stratum)

    def group(self, destination: str, kind: str, path: str, before: str, after: str) -> Group | None:
        """Return the group with this key, a new one if necessary; None if there are too many already."""
        key = (destination, kind, storable(path), before, after)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= _MOST_GROUPS:
                self.tally.more_groups += 1
                return None
            group = self._groups[key] = Group(*key)
        return group

    def show(self, group: Group, record: Record, name: str, example: Example) -> None:
        """Add an event with this name to a group."""
        group.add(name, example, record.day, self._examples)

    def decide(self, group: Group, stage: str, measure: Callable[[], str]) -> None:
        """Record the stage where the events of a group stopped and, for its first event, what decides that."""
        group.stage = stage
        if not group.count and (self._room or stage != "dest_transform"):
            self._room -= stage == "dest_transform"
            group.decides = measure()

    def add(self, tally: Tally) -> None:
        mine = self.tally
        mine.records += tally.records
        mine.events += tally.events
        self.reject(*tally.rejects)
        mine.rejected += tally.rejected - len(tally.rejects)
        mine.sourceless += tally.sourceless
        mine.assumed = add_counts(mine.assumed, tally.assumed)
        mine.more_groups += tally.more_groups
        _add_counts(mine.counts, tally.counts)
        _add_counts(mine.unstable, tally.unstable)
        _add_counts(mine.ignored, tally.ignored)
        _add_counts(mine.personal, tally.personal)
        _add_counts(mine.accepted, tally.accepted)
        _add_counts(mine.policies, tally.policies)
        self.reach(tally.reached)
        self.see_paths(tally.paths)
        mine.lossy = add_counts(mine.lossy, tally.lossy)
        mine.newly_lost = add_counts(mine.newly_lost, tally.newly_lost)
        for step, spent in tally.seconds.items():
            mine.seconds[step] = mine.seconds.get(step, 0.0) + spent
        for name, stratum in tally.strata.items():
            mine_of = self.stratum(name)
            mine_of.records += stratum.records
            mine_of.run += stratum.run
            _add_counts(mine_of.counts, stratum.counts)
            _add_counts(mine_of.marks, stratum.marks)
        self.losses.add(tally.lost)
        mine.sent = [*mine.sent, *tally.sent]
        self.flows.add(tally.flows, tally.shifts, tally.releases)
        for part in tally.history:
            self._parts.setdefault(part.name, Part(part.name)).add(part)
        for group in tally.groups:
            own = self.group(*group.key)
            if own is not None:
                own.merge(group)

    def finish(self) -> Tally:
        """Return the sum, with its groups, largest first."""
        self.tally.lost = self.losses.counts()
        self.tally.flows, self.tally.shifts = self.flows.counts(), self.flows.shifts()
        self.tally.releases = self.flows.masked_releases()
        self.tally.history = list(self._parts.values())
        self.tally.groups = sorted(self._groups.values(), key=lambda group: -group.count)
        return self.tally


def _add_counts(mine: dict[str, dict[str, int]], more: dict[str, dict[str, int]]) -> None:
    for name, counts in more.items():
        mine[name] = add_counts(mine.get(name, {}), counts)


def add_counts(mine: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """Return the sums by name."""
    return dict(Counter(mine) + Counter(more)) if mine and more else dict(mine or more)


def as_json(tally: Tally) -> bytes:
    return msgspec.json.encode(tally)


def from_json(text: bytes) -> Tally:
    """Return the part. Raises `ValueError` if the text is not one."""
    return msgspec.json.decode(text, type=Tally)


def plain(value: Json) -> Json:
    """Return structs as JSON objects."""
    return msgspec.to_builtins(value)
