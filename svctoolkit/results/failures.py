"""Failures as data: which rule was broken by which events, at which field, with what value.

Values that user code loses are among them, although the event is delivered: the destination receives another value.

Each is built from the cause that the mapping, the user code or the destination gave (`svctoolkit.causes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from svctoolkit.causes import Cause, CodeError, Refusal, Rejection, help_command, map_texts
from svctoolkit.displayed import Displayed, printable, shorten
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.results._entries import DestinationEntries, EventResult
from svctoolkit.results._rows import Step, steps
from svctoolkit.results._types import error_of
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.transformations import CodeLoss

if TYPE_CHECKING:
    import pandas as pd


_SHORT = 200  # maximum characters of a value
_MEASURED = 50  # groups of failures whose settings are determined: each costs a run for every setting


@dataclass(frozen=True, slots=True)
class Failure:
    """One event that failed at one destination.

    `stage` is where, `error` the class of the error (`MappingError`, the name of an error in user code, `HTTP 400`),
    `rule` the stable id of the broken rule, independent of its wording. `field` is the path in the event, `value` the
    value there (JSON text), `expected` what the rule requires, `setting` the configuration variable of the destination
    that decides. `where` is the place in the user code, `template` the message with `…` for values, `message` the full
    text.
    """

    destination: str
    type: str
    stage: str
    rule: str
    error: str
    template: str
    field: str
    value: str | None
    expected: str
    setting: str
    where: str
    event_type: str
    event_name: str
    event_id: str
    message: str

    @property
    def help(self) -> str:
        """The command that explains the rule, without a network: `svctoolkit docs MP.missing.userId`."""
        return help_command(self.rule)


_COLUMNS = [field.name for field in fields(Failure)]
_CLOSED = ("stage", "event_type")


class Failures(Displayed, ArrowOut, Sequence[Failure]):
    """The failures of some events, in order; `frame()` has one row for each, `counts()` one row for each group.

    `decides` has a function for each failure that returns the settings that cause it; it is called for display only.
    """

    def __init__(self, failures: Iterable[Failure], decides: Sequence[Callable[[], str]] = ()) -> None:
        self._failures = tuple(failures)
        self._decides = decides

    @overload
    def __getitem__(self, index: int) -> Failure: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Failure]: ...
    def __getitem__(self, index: int | slice) -> Failure | Sequence[Failure]:
        return self._failures[index]

    def __len__(self) -> int:
        return len(self._failures)

    def frame(self) -> pd.DataFrame:
        """Return one row for each failure; the columns are the fields of `Failure`."""
        import pandas as pd

        table = pd.DataFrame([storable_all(asdict(failure)) for failure in self], columns=_COLUMNS, dtype="string")
        return table.astype(dict.fromkeys(_CLOSED, "category"))

    def counts(self) -> pd.DataFrame:
        """Return one row for each rule, destination and event name with failures, most frequent first.

        Columns: `destination`, `stage`, `rule`, `event_name`, `events` (number of events), `field`, `expected`,
        `values` (the three most frequent), `setting`, `template`, `where`, `example` (an event's id), `decides`: the
        line of the user code, or the settings of the destination that cause the failure: with another value of one of
        them, the example would not fail. The settings are measured for the 50 most frequent rows, if the results are
        from a local pipeline.
        """
        import pandas as pd

        table = pd.DataFrame(storable_all(self.groups()), columns=GROUP_COLUMNS)
        return table.astype({name: "string" for name in GROUP_COLUMNS if name != "events"})

    # Any: cells of different types
    def groups(self) -> list[tuple[Any, ...]]:
        """Return one row per broken rule, in the order of `GROUP_COLUMNS`."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, f in enumerate(self):
            groups.setdefault((f.destination, f.stage, f.rule, f.template, f.where, f.event_name), []).append(number)
        alike = sorted(groups.values(), key=len, reverse=True)
        return [self._group(numbers, measured=place < _MEASURED) for place, numbers in enumerate(alike)]

    def _group(self, numbers: Sequence[int], *, measured: bool) -> tuple[Any, ...]:
        failures = [self[number] for number in numbers]
        first = failures[0]
        decides = first.where
        if measured and first.stage == "dest_transform" and self._decides:
            decides = self._decides[numbers[0]]()
        return (
            *(first.destination, first.stage, first.rule, first.event_name or first.event_type, len(failures)),
            *(first.field, first.expected, _values(failures), first.setting, first.template, first.where),
            *(first.event_id, decides),
        )

    def __repr__(self) -> str:
        lines = [f"{len(self)} failures"]
        for destination, stage, _, name, count, _, _, values, _, template, where, example, decides in self.groups():
            notes = (("at", where), ("values", values), ("decided by setting", decides if decides != where else ""))
            more = "".join(f"; {word} {text}" for word, text in notes if text)
            line = f"  {count:,} of {name} at {destination}, {stage}: {template}{more} (such as {example})"
            lines.append(printable(line).replace("\n", "\\n"))
        return "\n".join(lines)


GROUP_COLUMNS = [
    *("destination", "stage", "rule", "event_name", "events", "field", "expected", "values", "setting", "template"),
    *("where", "example", "decides"),
]


def failures(results: Iterable[DestinationEntries]) -> Failures:
    """Return every failure of some results, and every value that user code loses. Secrets are masked."""
    pairs = [
        (failure, partial(_deciding, result, number)) for result in results for failure, number in _failures(result)
    ]
    return Failures((failure for failure, _ in pairs), [decides for _, decides in pairs])


def _deciding(result: DestinationEntries, number: int) -> str:
    """Return the settings that cause an event to be refused, as text."""
    return ", ".join(result.lineage(number).refused_by) if result.measure is not None else ""


def _failures(result: DestinationEntries) -> Iterator[tuple[Failure, int]]:
    """Yield each failure with the index of its event."""
    for number, entry in enumerate(result.data):
        for step in steps(entry, result.masker.text):
            if step.status == "failed":
                yield _failure(result, step, entry), number
        for loss in entry.losses:
            if isinstance(loss, CodeLoss):
                yield _lost_value(result, loss, entry), number


def _lost_value(result: DestinationEntries, loss: CodeLoss, entry: EventResult) -> Failure:
    view, text = Event(entry.event), result.masker.text
    return Failure(
        destination=result.destination_name,
        type=result.destination or "",
        stage="user_transform",
        rule=f"code.lost.{loss.kind.replace(' ', '-')}",
        error="LostValue",
        template=loss.text,
        field=text(loss.path),
        value=text(loss.kind),
        expected="",
        setting="",
        where="",
        event_type=text(view.type),
        event_name=text(view.name),
        event_id=text(view.id),
        message=text(str(loss)),
    )


def _failure(result: DestinationEntries, step: Step, entry: EventResult) -> Failure:
    view, text, output = Event(entry.event), result.masker.text, entry.user_transformed_payload
    # Only results that were constructed by hand have no cause.
    cause = map_texts(step.cause or Refusal("fault", why=step.error), text)
    field, setting, expected = (
        (cause.field, cause.setting, cause.expected) if isinstance(cause, Refusal) else ("", "", "")
    )
    read = entry.event if step.stage == "user_transform" or not output or error_of(output) is not None else output
    value = value_at(read, field)
    given = cause.value if isinstance(cause, Refusal) else None
    return Failure(
        destination=result.destination_name,
        type=result.destination or "",
        stage=step.stage or "",
        rule=cause.rule(result.destination or ""),
        error=error_name(cause),
        template=cause.template,
        field=field,
        value=given if value is _NOTHING else shorten(result.mask(value), _SHORT),
        expected=expected,
        setting=setting,
        where="" if isinstance(cause, Rejection) else cause.where,
        event_type=text(view.type),
        event_name=text(view.name),
        event_id=text(view.id),
        message=text(step.error) or shorten(result.mask(step.output), _SHORT),
    )


def error_name(cause: Cause) -> str:
    """Return the class of the error: `MappingError`, the name of an error in user code, `HTTP 400`."""
    if isinstance(cause, Rejection):
        return f"HTTP {cause.status}"
    if isinstance(cause, CodeError):
        return cause.name
    return "UnsupportedEvent" if cause.kind == "unsupported" and not cause.setting else "MappingError"


_NOTHING = object()


# Any: any JSON, or `_NOTHING`
def value_at(event: Mapping[str, Json], field: str) -> Any:
    """Return the value at a dotted path, or `_NOTHING`."""
    node: Any = event
    for step in field.split("."):
        if isinstance(node, list) and step.isdigit() and int(step) < len(node):
            node = node[int(step)]
        elif isinstance(node, Mapping) and step in node:
            node = node[step]
        else:
            return _NOTHING
    return node


def _values(failures: Sequence[Failure]) -> str:
    counts = Counter(failure.value for failure in failures if failure.value is not None)
    return ", ".join(f"{value} ({count:,})" for value, count in counts.most_common(3))
