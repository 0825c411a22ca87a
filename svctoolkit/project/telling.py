"""Find the events that show what code does: each shows a plausible mistake in it that no event before shows.

The events are made up from the samples with the members, numbers and texts that the code mentions, as `mutate` does to
draft scenarios. Only those are tried at members with which the code does something.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any, TypeAlias

from svctoolkit.edits import Edit, edits_of
from svctoolkit.json_types import Json
from svctoolkit.pipeline.leaves import GONE
from svctoolkit.project.literals import code_literals
from svctoolkit.project.made_up import Path, changed, numbers, places_of, values_for
from svctoolkit.transformations import Output
from svctoolkit.workspace import Library, Transformation, Workspace

#: Code whose result depends on answers or on a whole batch: events alone do not show what it does.
_OTHER_INPUT = re.compile(r"\b(?:transformBatch|fetch|fetchV2|requests)\b")
_SCENARIOS = 24  # of a transformation; a person must be able to read its suite
_EVENTS = 1_200  # that each mistake is tried with
_TRIED = 1_500  # variations of an event to find the members that matter, which take about 0.1 s
_NAMES = 4  # of events that code treats in its own way
_STOPPED = 2  # mistakes whose code does not end before no more are tried
_RUNS = 20  # of the chosen events, if the outputs of some others differ from run to run
_AT_ONCE = 100  # events, of which each may take the time limit
_DECIMALS = 12.345678  # rounding to any place changes it
#: Values that show whether a member matters, in addition to the numbers and texts of the code.
_FIRST: tuple[Json, ...] = ("text", _DECIMALS, True, 10**9, -1)


@dataclass(frozen=True, slots=True)
class Telling:
    """A sample event of a type with other values at some paths, and what the code does with it."""

    type: str
    changes: Mapping[Path, Any]
    output: Output

    @property
    def name(self) -> str:
        """The event in words."""
        changes = dict(self.changes)
        named = f" named {changes.pop(('event',))}" if isinstance(changes.get(("event",)), str) else ""
        parts = [
            f"without {_dotted(path)}" if value is GONE else f"with {_dotted(path)} {json.dumps(value)[:30]}"
            for path, value in changes.items()
        ]
        return f"{self.type}{named}{' ' if parts else ''}{', '.join(parts)}"

    def send(self) -> dict[str, Json]:
        """Return the event in the format of a suite, which uses the sample."""
        kept = {_dotted(path): value for path, value in self.changes.items() if value is not GONE}
        removed: list[Json] = [_dotted(path) for path, value in self.changes.items() if value is GONE]
        return {"$use": self.type, **({"$set": kept} if kept else {}), **({"$unset": removed} if removed else {})}


def telling_events(
    workspace: Workspace, key: str, samples: Mapping[str, Mapping[str, Json]], known: Iterable[str]
) -> list[Telling]:
    """Return events that show what a transformation does. Scenarios have the samples of the `known` types already."""
    item = workspace.transformation(key)
    used = [lib for lib in workspace.libraries.values() if re.search(rf"\b{re.escape(lib.key)}\b", item.code)]
    pieces: list[Transformation | Library] = [item, *used]
    if not item.code or any(_OTHER_INPUT.search(piece.code) for piece in pieces):
        return []
    return _Search(workspace, key, pieces, samples).found([*known])


@dataclass(frozen=True, slots=True)
class _Event:
    """A sample event of a type with other values at some paths."""

    type: str
    changes: Mapping[Path, Any]
    content: dict[str, Any]

    def having(self, path: Path, value: Any) -> _Event:
        return _Event(self.type, {**self.changes, path: value}, changed(self.content, path, value))


_Ran: TypeAlias = tuple[_Event, Output]


class _StoppedError(Exception):
    """A limit of the sandbox has stopped the code."""


class _Search:
    """Tries events with a transformation and with mistakes in its code and in the libraries that it uses."""

    def __init__(
        self,
        workspace: Workspace,
        key: str,
        pieces: Sequence[Transformation | Library],
        samples: Mapping[str, Mapping[str, Json]],
    ) -> None:
        self._workspace, self._key, self._pieces = _copy_of(workspace), key, pieces
        self._samples = [_Event(type, {}, dict(sample)) for type, sample in samples.items()]
        code = "\n".join(piece.code for piece in pieces)
        self._literals = code_literals(code, pieces[0].language)
        self._numbers, self._values = numbers(code), values_for(code, self._literals)

    def found(self, known: Sequence[str]) -> list[Telling]:
        """Return the events that show mistakes which the samples of the known types do not show.

        Those whose outputs differ in a second run show nothing. None are returned if a limit stops the code.
        """
        told = [sample for sample in self._samples if sample.type in known]
        try:
            events = self._candidates()
            first, second = self._run(self._workspace, events), self._run(self._workspace, events)
        except _StoppedError:
            return []
        steady = [(e, a) for e, a, b in zip(events, first, second, strict=True) if _plain(a) == _plain(b)]
        found = self._telling([pair for pair in steady if pair[0] in told], steady)
        if len(steady) < len(events):
            found = self._calm(found)
        return [Telling(event.type, event.changes, output) for event, output in found]

    def _calm(self, found: Sequence[_Ran]) -> list[_Ran]:
        """Return the events whose outputs stay the same in many runs: random code may repeat itself by chance."""
        for _ in range(_RUNS):
            outputs = self._run(self._workspace, [event for event, _ in found])
            found = [pair for pair, output in zip(found, outputs, strict=True) if _plain(output) == _plain(pair[1])]
        return list(found)

    def _telling(self, known: Sequence[_Ran], tried: Sequence[_Ran]) -> list[_Ran]:
        """Return those of the tried events that show a mistake which no known event and none before them shows."""
        shown, stopped = [*known], 0
        for edited in self._edited():
            try:
                showing = self._first(edited, [*shown, *tried])
            except _StoppedError:
                stopped += 1
                showing = None
            if showing is not None and showing not in shown:
                shown.append(showing)
            if stopped >= _STOPPED or len(shown) - len(known) >= _SCENARIOS:
                break
        return shown[len(known) :]

    def _run(self, workspace: Workspace, events: Sequence[_Event]) -> list[Output]:
        """Return the outputs of some code. Raise if a limit stops it: each event that does not end takes seconds."""
        # code for whole batches assigns its results by these ids
        numbered = [{**event.content, "messageId": f"m-{number}"} for number, event in enumerate(events)]
        code, outputs = workspace.transformation(self._key), list[Output]()
        for start in range(0, len(numbered), _AT_ONCE):
            outputs += code.run(numbered[start : start + _AT_ONCE])
            if any(o.error is not None and o.error.kind not in ("error", "syntax") for o in outputs[start:]):
                raise _StoppedError
        return outputs

    def _candidates(self) -> list[_Event]:
        """Return the samples, and each with each value at each member that matters, in turn."""
        bases = [*self._samples, *self._named()]
        turns = zip_longest(*(self._varied(base) for base in bases))
        return [*bases, *islice((event for turn in turns for event in turn if event is not None), _EVENTS)]

    def _named(self) -> list[_Event]:
        """Return events with names that code mentions: first those that it treats in its own way whatever they have."""
        having_names = [sample for sample in self._samples if "event" in sample.content]
        named = [sample.having(("event",), text) for sample in having_names for text in self._literals.compared]
        plain = [sample for sample in having_names for _ in self._literals.compared]
        mattering = self._mattering(plain, named)
        return [*mattering, *(event for event in named if event not in mattering)][:_NAMES]

    def _mattering(self, plain: Sequence[_Event], events: Sequence[_Event]) -> list[_Event]:
        """Return the events that code changes in another way than the ones without their last change."""
        before, after = self._run(self._workspace, plain), self._run(self._workspace, events)
        return [event for event, old, new in zip(events, before, after, strict=True) if _matters(event, old, new)]

    def _varied(self, base: _Event) -> Iterator[_Event]:
        members = sorted(self._literals.members - {""})
        there, new = places_of(base.content, members)
        values = [*_FIRST, *self._numbers, *self._literals.compared]
        tried = [base.having(path, value) for value in values for path in new][:_TRIED]
        (before,) = self._run(self._workspace, [base])
        after = self._run(self._workspace, tried)
        mattering = [event for event, output in zip(tried, after, strict=True) if _matters(event, before, output)]
        absent = dict.fromkeys([*event.changes][-1] for event in mattering)
        yield from (base.having(path, GONE) for path in there)
        yield from {[*event.changes][-1]: event for event in reversed(mattering)}.values()
        for value in [_DECIMALS, *self._values]:
            yield from (base.having(path, value) for path in [*there, *absent])

    def _edited(self) -> Iterator[Workspace]:
        """Yield workspaces with one mistake in the code."""
        for piece in self._pieces:
            for edit in _edits(piece):
                yield _with_code(self._workspace, piece, edit.apply(piece.code))

    def _first(self, edited: Workspace, ran: Sequence[_Ran]) -> _Ran | None:
        """Return the first event that shows a mistake, with its output without the mistake."""
        start, size = 0, 1
        while start < len(ran):  # most show at once
            part = ran[start : start + size]
            outputs = self._run(edited, [event for event, _ in part])
            for pair, output in zip(part, outputs, strict=True):
                if _plain(output) != _plain(pair[1]):
                    return pair
            start, size = start + size, size * 4
        return None


def _matters(event: _Event, before: Output, after: Output) -> bool:
    """Return whether code does more with the last change of an event than to let it pass."""
    path, value = [*event.changes.items()][-1]
    if before.error is not None or len(before.events) != 1:
        return bool(_plain(before) != _plain(after))
    return bool(_plain(after) != [_without_id(changed(dict(before.events[0]), path, value))])


def _plain(output: Output) -> Json:
    return str(output.error.message) if output.error is not None else [_without_id(event) for event in output.events]


def _without_id(event: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name != "messageId"}


def _edits(piece: Transformation | Library) -> Iterator[Edit]:
    """Yield mistakes in code; of a number also the ones before and after it, which show both sides of a threshold."""
    raw = piece.code.encode()
    for edit in edits_of(piece.code, piece.language):
        yield edit
        text = raw[edit.start : edit.end].decode()
        if edit.kind == "literal" and text.isdecimal():
            yield from (replace(edit, new=str(int(text) + step)) for step in (1, -1))


def _with_code(workspace: Workspace, piece: Transformation | Library, code: str) -> Workspace:
    copy = _copy_of(workspace)
    if isinstance(piece, Library):
        copy.libraries = {**workspace.libraries, piece.key: replace(piece, code=code)}
    else:
        copy.transformations = {**workspace.transformations, piece.key: replace(piece, code=code)}
    return copy


def _copy_of(workspace: Workspace) -> Workspace:
    """Return a copy that shares the sandbox, and whose made-up events do not count as those of the project."""
    copy = workspace.in_mode(workspace.delivery.mode)
    copy.patience = None
    return copy


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))
