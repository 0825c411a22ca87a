"""Failures as data: which rule broke which events, at which field, with what value.

A mapping says in words what it wants: `needs a value at userId`, `properties.total: expected a number, got 'x'`. Here
the words become columns, whoever gave them: the pipeline, a replay, a remote service.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.results._rows import steps
from svctoolkit.results._types import error_of
from svctoolkit.results.arrow import ArrowOut

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.results._model import DestinationResult, EventResult

_SHORT = 200  # characters of a value
_MEASURED = 50  # kinds of failures whose settings are looked for: each costs a run for every setting
_PLACE = re.compile(r"\s\(([^()\s]*:\d+(?::\d+)?)\)$")
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|(?<![A-Za-z_])\d+(?:\.\d+)?(?![A-Za-z_])")
_NEEDS = re.compile(r"needs (?P<expected>.+?) at (?P<field>[^:]+)(?:: .*)?$", re.S)
_EXPECTED = re.compile(r"(?:(?P<field>[^\s:]+): )?expected (?P<expected>.+?)(?:, got (?P<value>.+))?$", re.S)
_AT = re.compile(r"(?P<field>(?:properties|traits|context|integrations)\.[\w.]*\w): ")
_UNSUPPORTED = re.compile(r".+ takes no .+ events?, only .+$", re.S)
_ERROR = re.compile(r"(?P<name>[A-Za-z_]\w*): ")


class Rule(NamedTuple):
    """What an error says: `id` stays the same whatever the values are, `template` is the text with `…` for them."""

    error: str
    id: str
    template: str
    field: str = ""
    expected: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """One event that failed at one destination.

    `stage` is where, `error` the class of the error (`MappingError`, the name of an error of the user's code,
    `HTTP 400`), `rule` the stable id of what was broken, `template` its text with `…` for values. `field` is the
    path in the event, `value` what was there (JSON text), `expected` what the rule wants, `where` the line of the
    user's code, `message` the whole text.
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
    where: str
    event_type: str
    event_name: str
    event_id: str
    message: str


_COLUMNS = [field.name for field in fields(Failure)]
_CLOSED = ("stage", "event_type")


class Failures(ArrowOut, Sequence[Failure]):
    """The failures of some events, in their order; `frame()` has them all, `counts()` those alike in one row.

    `decides` names, for each, the settings that decide that it fails; it is asked where they are shown.
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
        """One row for each failure; the columns are the members of `Failure`."""
        import pandas as pd

        table = pd.DataFrame([asdict(failure) for failure in self], columns=_COLUMNS, dtype="string")
        return table.astype(dict.fromkeys(_CLOSED, "category"))

    def counts(self) -> pd.DataFrame:
        """One row for each rule that was broken, at one destination by events of one name; the most frequent first.

        Columns: `destination`, `stage`, `rule`, `event_name`, `events` (how many), `field`, `expected`, `values` (the
        most frequent three), `template`, `where`, `example` (an event's id), `decides`: the line of the user's code, or
        the settings of the destination with other values of which the example would not fail. These are measured, for
        the 50 most frequent, where the pipeline is that gave the results.
        """
        import pandas as pd

        table = pd.DataFrame(self._groups(), columns=_GROUP)
        return table.astype({name: "string" for name in _GROUP if name != "events"})

    def _groups(self) -> list[tuple[Any, ...]]:
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
            *(first.field, first.expected, _values(failures), first.template, first.where, first.event_id, decides),
        )

    def __repr__(self) -> str:
        lines = [f"{len(self)} failures"]
        for destination, stage, _, name, count, _, _, values, template, where, example, decides in self._groups():
            notes = (("at", where), ("values", values), ("decided by setting", decides if decides != where else ""))
            more = "".join(f"; {word} {text}" for word, text in notes if text)
            lines.append(f"  {count:,} of {name} at {destination}, {stage}: {template}{more} (such as {example})")
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display

        caption = display.quantity(len(self), "failure")
        table = display.table([name.replace("_", " ") for name in _GROUP], self._groups(), caption=caption)
        return display.bundle(display.page(table), repr(self))


_GROUP = [
    *("destination", "stage", "rule", "event_name", "events", "field", "expected", "values", "template", "where"),
    *("example", "decides"),
]


def failures(results: Iterable[DestinationResult]) -> Failures:
    """Every failure of some results. Secrets are masked."""
    pairs = [
        (failure, partial(_deciding, result, number)) for result in results for failure, number in _failures(result)
    ]
    return Failures((failure for failure, _ in pairs), [decides for _, decides in pairs])


def _deciding(result: DestinationResult, number: int) -> str:
    """The settings that decide that an event is refused, in words."""
    return ", ".join(result.lineage(number).refused_by) if result.measure is not None else ""


def _failures(result: DestinationResult) -> Iterator[tuple[Failure, int]]:
    """Each failure with the number of its event."""
    for number, entry in enumerate(result.data):
        for step in steps(entry):
            if step.status != "failed":
                continue
            message = step.error or _short(result.mask(step.output))
            rule = rule_of(step.stage or "", result.masker.text(message), result.destination or "", entry.error_field)
            if step.http_status is not None:
                rule = rule._replace(
                    error=f"HTTP {step.http_status}", id=f"{result.destination}.http-{step.http_status}", field=""
                )
            yield _failure(result, step.stage or "", rule, entry, message), number


def _failure(result: DestinationResult, stage: str, rule: Rule, entry: EventResult, message: str) -> Failure:
    view, text, output = Event(entry.event), result.masker.text, entry.user_transformed_payload
    read = entry.event if stage == "user_transform" or not output or error_of(output) is not None else output
    value = value_at(read, rule.field)
    return Failure(
        destination=result.destination_name,
        type=result.destination or "",
        stage=stage,
        rule=rule.id,
        error=rule.error,
        template=rule.template,
        field=rule.field,
        value=None if value is _NOTHING else _short(result.mask(value)),
        expected=rule.expected,
        where=rule.where,
        event_type=text(view.type),
        event_name=text(view.name),
        event_id=text(view.id),
        message=text(message),
    )


_NOTHING = object()


# Any: whatever JSON stands there, or the mark that there is nothing
def value_at(event: Mapping[str, Json], field: str) -> Any:
    """What stands at a dotted path; a mark for nothing."""
    node: Any = event
    for step in field.split("."):
        if isinstance(node, list) and step.isdigit() and int(step) < len(node):
            node = node[int(step)]
        elif isinstance(node, Mapping) and step in node:
            node = node[step]
        else:
            return _NOTHING
    return node


def rule_of(stage: str, message: str, type: str, field: str = "") -> Rule:
    """What an error's text says. `type` is the destination's, `field` the path where the error knows it."""
    template = template_of(message)
    if stage == "user_transform":
        error, place = _ERROR.match(message), _PLACE.search(message)
        name = error["name"] if error else "Error"
        where = place[1] if place else ""
        return Rule(name, f"code.{where.partition(':')[0]}.{name}".replace("..", "."), template, "", "", where)
    if _UNSUPPORTED.match(message):
        return Rule("UnsupportedEvent", f"{type}.unsupported", template, "type")
    if match := _NEEDS.match(message):
        field = field or match["field"]
        return Rule("MappingError", f"{type}.required.{_slug(field)}", template, field, match["expected"])
    if match := _EXPECTED.match(message):
        field = field or match["field"] or ""
        line = f"{field}: expected {match['expected']}" + (", got …" if match["value"] else "")
        return Rule("MappingError", f"{type}.expected.{_slug(field)}", line, field, match["expected"])
    if (match := _AT.match(message)) and match["field"].startswith(field):
        field = match["field"]
    return Rule("MappingError", f"{type}.refused.{_slug(field or template)}", template, field)


def template_of(message: str) -> str:
    """What many errors have in common: numbers and quoted texts are left out."""
    return _PARTICULAR.sub("…", without_place(message))


def without_place(message: str) -> str:
    """An error without where it is in the code: that moves with every line that is added."""
    return _PLACE.sub("", message)


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[\w.]+", text)[:8])


def _values(failures: Sequence[Failure]) -> str:
    counts = Counter(failure.value for failure in failures if failure.value is not None)
    return ", ".join(f"{value} ({count:,})" for value, count in counts.most_common(3))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"
