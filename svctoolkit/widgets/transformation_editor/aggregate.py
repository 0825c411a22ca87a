"""The effect of a transformation on many events: how many changed, were dropped or failed, and where."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from svctoolkit import display
from svctoolkit.json_types import Json
from svctoolkit.replay.inputs import input_of, records
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.record import Chunk, Reject
from svctoolkit.results import ABSENT
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.results.blocks import common
from svctoolkit.results.changes import Change, changes
from svctoolkit.results.contrast import Sample, Traits, contrast
from svctoolkit.transformations import cause_of
from svctoolkit.widgets.transformation_editor.trial import Bench, Trial, Trials

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.workspace import Transformation

Outcome = Literal["changed", "unchanged", "dropped", "failed"]
_AT_ONCE = 1_000  # events per call
_SIGNS = {"added": "+", "removed": "−", "changed": "~"}
_LONGEST = 200  # characters of a value
_COMPARED, _EXPLAINED = 500, 5  # events of each side of a contrast; errors with one
_COLUMNS = ("outcome", "what", "events", "example", "before", "after")


@dataclass(slots=True)
class _Kind:
    """The same change or error in several events, with the first of them."""

    example: str
    before: Any = None
    after: Any = None
    events: int = 0


@dataclass(slots=True, repr=False)
class Aggregate(ArrowOut):
    """The outcomes of `events` events in a transformation. `rejected` counts records that are not events.

    `counts` has the numbers `changed`, `unchanged`, `dropped` and `failed`; `examples` has the first event of each
    outcome except unchanged, in full. `milliseconds` is the time in the user's code. Secrets are masked.
    """

    name: str
    counts: Counter[Outcome] = field(default_factory=Counter)
    rejected: int = 0
    milliseconds: float = 0.0
    examples: dict[Outcome, Trials] = field(default_factory=dict)
    _kinds: dict[tuple[Outcome, str], _Kind] = field(default_factory=dict)
    _failing: dict[str, Sample[Mapping[str, Json]]] = field(default_factory=dict)
    _passing: Sample[Mapping[str, Json]] = field(default_factory=lambda: Sample(_COMPARED))

    @property
    def events(self) -> int:
        return self.counts.total()

    @property
    def ok(self) -> bool:
        """Whether no event failed."""
        return not self.counts["failed"]

    def frame(self) -> pd.DataFrame:
        """One row for each changed field and for each error, the most frequent first.

        Columns: `outcome` (changed, dropped, failed), `what` (the field with its sign and `*` for items of lists, or
        the error without its values), `events`, `example` (the first event), `before` and `after` (JSON text).
        """
        import pandas as pd

        table = pd.DataFrame(self._rows(), columns=list(_COLUMNS)).astype(dict.fromkeys(_COLUMNS, "string"))
        return table.astype({"outcome": "category", "events": "int64"})

    def add(self, trials: Trials) -> None:
        """Count the outcomes of more events."""
        self.milliseconds += trials.milliseconds
        for trial in trials:
            found = list(_outcomes(trial))
            outcome = found[0][0] if found else "unchanged"
            self.counts[outcome] += 1
            if found and outcome not in self.examples:
                self.examples[outcome] = trials.only(trial)
            if outcome == "failed":
                self._failing.setdefault(found[0][1], Sample(_COMPARED)).add(trial.event)
            elif outcome != "dropped":
                self._passing.add(trial.event)
            alike = {(one[0], one[1]): one for one in reversed(found)}  # each field counts once per event
            for key, (_, _, before, after) in alike.items():
                self._kinds.setdefault(key, _Kind(trial.name, before, after)).events += 1

    def contrasts(self) -> dict[str, Traits]:
        """Return error -> what its events have in common and those without an error lack, for the most frequent errors.

        Up to 500 events of each side are compared.
        """
        errors = [what for outcome, what, *_ in self._rows() if outcome == "failed"][:_EXPLAINED]
        return {what: Traits(contrast(self._failing[what].chosen, self._passing.chosen)) for what in errors}

    def _rows(self) -> list[tuple[str, str, int, str, str | None, str | None]]:
        kinds = sorted(self._kinds.items(), key=lambda item: -item[1].events)
        return [(outcome, what, k.events, k.example, k.before, k.after) for (outcome, what), k in kinds]

    def _head(self) -> str:
        words = [f"{count:,} {outcome}" for outcome, count in self.counts.most_common()]
        words += [f"{display.quantity(self.rejected, 'record')} skipped: not events"] if self.rejected else []
        return f"{self.name}, {self.events:,} events: {', '.join(words)}; {self.milliseconds:.0f} ms"

    def __repr__(self) -> str:
        lines = [f"  {count:,} {outcome}: {what} (such as {name})" for outcome, what, count, name, *_ in self._rows()]
        return "\n".join([self._head(), *lines])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        kind: display.Kind = "ok" if self.ok and self.events else "warning"
        return display.bundle(display.page(display.message(self._head(), kind), self.details()), repr(self))

    def details(self) -> display.Html:
        """The changed fields and the errors, and the first event of each outcome to open."""
        blocks = [display.table(_COLUMNS, self._rows())] if self._kinds else []
        blocks += [
            display.section(f"In common: {what}", common(traits)) for what, traits in self.contrasts().items() if traits
        ]
        blocks += [
            display.more(f"First event {outcome}: {trials[0].name}", trials.html())
            for outcome, trials in self.examples.items()
        ]
        return display.Html("".join(blocks))


class Many:
    """Events that are reread on each iteration; `rejected` counts the non-events of the last one."""

    # Any: whatever a replay accepts
    def __init__(self, source: Any) -> None:
        self._input = input_of(source)
        self.rejected = 0

    def events(self) -> Iterator[tuple[str, Mapping[str, Json]]]:
        """The events, each with its place. Raises `ConfigError`."""
        self.rejected = 0
        for chunk in self._input.chunks():
            for record in records(chunk, Columns(None)) if isinstance(chunk, Chunk) else [chunk]:
                if isinstance(record, Reject):
                    self.rejected += 1
                else:
                    yield record.place, record.event


def aggregate(bench: Bench, transformation: Transformation, many: Many, *, offset: int = 0) -> Aggregate:
    """Run `transformation` on the events, a thousand per call. `offset`: see `Trials`. Raises `ConfigError`."""
    result = Aggregate(transformation.key)
    remaining = many.events()
    while block := dict(islice(remaining, _AT_ONCE)):
        result.add(bench.run(transformation, block, offset=offset))
    result.rejected = many.rejected
    return result


def _outcomes(trial: Trial) -> Iterator[tuple[Outcome, str, str | None, str | None]]:
    """The outcome of an event: kind, field or error, and the values before and after."""
    if trial.output.error is not None:
        cause = cause_of(trial.output.error)
        yield "failed", cause.template + (f" ({cause.where})" if cause.where else ""), None, None
    elif not trial.output.events:
        yield "dropped", "no event returned", None, None
    for event in trial.output.events:
        for change in changes(trial.event, event):
            yield "changed", f"{_SIGNS[change.kind]} {_path(change)}", _side(change.before), _side(change.after)


def _side(value: Json) -> str | None:
    if value is ABSENT:
        return None
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _path(change: Change) -> str:
    return ".".join("*" if step.isdigit() else step for step in change.path.split(".")) or "(the event)"
