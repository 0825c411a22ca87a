"""Find the edit that a group of differences is due to: revert one edit at a time, and run the examples again.

Edits are tried from large to small: all code of a transformation, then each hunk in it, then each line. An edit does
not count if events fail or are dropped without it that were not before: half of an edit is often broken code.

Bounded: the first 80 groups, most urgent first, with up to three examples each; 100 edits; 10 seconds.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from svctoolkit.errors import ConfigError, ToolkitError
from svctoolkit.policies import Policies
from svctoolkit.replay.edits.edit import Edit, without
from svctoolkit.replay.edits.find import edits_between
from svctoolkit.replay.engine import pair
from svctoolkit.replay.engine.engine import Engine, Job
from svctoolkit.replay.engine.policing import places_of_queries
from svctoolkit.replay.results.attention import by_attention
from svctoolkit.replay.results.members import Reader
from svctoolkit.replay.tally.because import Because, Editing, How
from svctoolkit.replay.tally.tally import Group
from svctoolkit.workspace import Workspace

_MOST_GROUPS: Final = 80
_MOST_EDITS: Final = 100
_SECONDS: Final = 10.0
#: The number of examples in groups, by key.
Counts: TypeAlias = "Counter[tuple[str, ...]]"
_WORSE: Final = ("newly failing", "newly dropped")


def attribute(job: Job, reader: Reader, groups: Sequence[Group]) -> None:
    """Set `because` of the groups of a comparison, within the bounds of this module."""
    before, after = job.sides
    edits = edits_between(before, after)[:_MOST_EDITS]
    shown = [group for group in by_attention(groups) if group.kind != "accepted" and group.examples]
    chosen = shown[:_MOST_GROUPS]
    if not edits or not chosen:
        return
    if len(edits) == 1 and not edits[0].parts:
        for group in chosen:
            if group.kind != "breach":  # the earlier side may break a policy, too
                examples = len(group.examples)
                group.because = Because("needed", [_editing(edits[0], examples)], examples)
        chosen = [group for group in chosen if group.kind == "breach"]
    trials = _Trials(replace(job, sample=1.0, rows=""), reader, chosen)
    trials.answer_earlier()
    trials.revert_each(edits)
    trials.try_alone(edits)


def _editing(edit: Edit, examples: int) -> Editing:
    return Editing(edit.what, examples, edit.file, edit.line)


@dataclass(slots=True, eq=False)
class _Question:
    """A group, the places of its examples, and how many of them are in which group with all edits."""

    group: Group
    places: frozenset[str]
    counts: Counts = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return self.counts[self.group.key]

    def fewer(self, counts: Counts) -> int:
        """Return how many examples are not in the group any more; 0 if an example fails or is dropped in a new way."""
        for key, count in counts.items():
            if key[1] in _WORSE and count > self.counts[key]:
                return 0
        return self.count - counts[self.group.key]

    def answer(self, how: How, edits: Iterable[Editing]) -> None:
        self.group.because = Because(how, list(edits), self.count)


class _Trials:
    """Runs the examples of groups with fewer edits, until the time is over."""

    def __init__(self, job: Job, reader: Reader, groups: Sequence[Group]) -> None:
        self._job, self._until = job, time.monotonic() + _SECONDS
        places = {example.place for group in groups for example in group.examples}
        try:
            self._records = {record.place: record for record in reader.records(places) if record.place in places}
        except ConfigError:
            self._records = {}
        questions = [_Question(g, frozenset(e.place for e in g.examples) & self._records.keys()) for g in groups]
        for question, counts in self._ask(job.sides[1], questions).items():
            question.counts = counts
        self._questions = [question for question in questions if question.count or self._is_over]

    @property
    def _is_over(self) -> bool:
        return time.monotonic() > self._until

    def answer_earlier(self) -> None:
        """Answer what is about policies that the earlier side breaks, too: no edit is the cause."""
        breaches = [question for question in self._questions if question.group.kind == "breach"]
        for question, counts in self._ask(self._job.sides[0], breaches).items():
            if counts[question.group.key] >= question.count:
                question.answer("earlier", ())

    def revert_each(self, edits: Sequence[Edit]) -> None:
        """Answer with the edits without which fewer examples are in a group."""
        open_questions = [question for question in self._questions if question.group.because is None]
        for question, of in self._needed(edits, open_questions).items():
            question.answer("needed", of)

    def _needed(self, edits: Sequence[Edit], questions: Iterable[_Question]) -> dict[_Question, list[Editing]]:
        found: dict[_Question, list[Editing]] = {}
        for edit in edits:
            concerned = [question for question in questions if edit.concerns(question.group.destination)]
            answers = self._ask(without(self._job.sides[1], edit), concerned)
            fewer = {question: many for question, of in answers.items() if (many := question.fewer(of)) > 0}
            parts = self._needed(edit.parts, fewer) if edit.parts and fewer else {}
            for question, many in fewer.items():
                found.setdefault(question, []).extend(parts.get(question) or [_editing(edit, many)])
        return found

    def try_alone(self, edits: Sequence[Edit]) -> None:
        """Answer the open questions with the edits that have the same effect without the others."""
        waiting = [question for question in self._questions if question.group.because is None]
        found: dict[_Question, list[Editing]] = {question: [] for question in waiting}
        for edit in edits if waiting else ():
            concerned = [question for question in waiting if edit.concerns(question.group.destination)]
            others = [other for other in edits if other is not edit]
            for question, counts in self._ask(without(self._job.sides[1], *others), concerned).items():
                if counts[question.group.key] == question.count:
                    found[question].append(_editing(edit, question.count))
        for question, of in found.items():
            if of:
                question.answer("enough", of)
            else:
                question.answer("unknown" if self._is_over else "together", ())

    def _ask(self, later: Workspace, questions: Sequence[_Question]) -> dict[_Question, Counts]:
        """Return how many examples of each question are in which group, with another later side.

        Empty if it is not valid (settings that do not fit together, code that is not trusted in this form), or no time
        is left.
        """
        if not questions or self._is_over:
            return {}
        destinations = [*dict.fromkeys(question.group.destination for question in questions)]
        if any(question.group.kind == "breach" for question in questions):  # may compare several destinations
            destinations = [*self._job.destinations]
        wanted = frozenset[str]().union(*(question.places for question in questions))
        records = [record for place, record in self._records.items() if place in wanted]
        try:
            engine = Engine(replace(self._job, sides=(self._job.sides[0], later)), pair.runner)
            tally = engine.run_records(records, destinations)
        except ToolkitError:
            return {}
        members = {group.key: {example.place for example in group.examples} for group in tally.groups}
        if any(tally.sent):
            members |= places_of_queries(Policies.of(self._job.policies), tally.sent)
        return {
            question: Counter({key: len(question.places & of) for key, of in members.items()}) for question in questions
        }
