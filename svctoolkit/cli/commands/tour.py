"""`svctoolkit tour`: one order at three destinations, compared field by field."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from svctoolkit.cli import _inputs, _parser
from svctoolkit.cli._command import Command, Exit

if TYPE_CHECKING:
    from svctoolkit.pipeline import Pipeline
    from svctoolkit.results.lineage import Lineage, Origin
    from svctoolkit.simulations import Level
    from svctoolkit.workspace import Workspace

_Sent: TypeAlias = "dict[str, Lineage]"  # by destination name

_ROWS = 12  # event fields in the table, so that the output fits one screen
_NEXT = (
    ("svctoolkit tour --event order.json", "the same with your own event"),
    ("svctoolkit init shop", "create a small project with a transformation and suites"),
    ("svctoolkit import workspaceConfig.json -o shop", "or turn your RudderStack workspace export into a project"),
    ("svctoolkit serve", "run a data plane for your SDKs and watch events arrive"),
    ("svctoolkit serve --simulate", "let Mixpanel, Braze and others refuse and hold events as they do"),
    ("svctoolkit docs", "open the documentation in the browser"),
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--event", metavar="FILE", help="JSON file with your event; - reads standard input")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.events import Event
    from svctoolkit.pipeline import Pipeline
    from svctoolkit.server.store.enrich import complete

    event = _inputs.event(args.event, None if args.event else "track")
    if args.event:
        _inputs.report_added(complete(event))
    pipeline = Pipeline(_workspace(), exploring=True)
    refusals = dict(_refusals(pipeline, event))
    sent = {d.name: pipeline.lineage(key, event) for key, d in pipeline.workspace.destinations.items()}
    sent = {name: lineage for name, lineage in sent.items() if name not in refusals}
    name = Event(event).name
    _terminal.out(_terminal.style(_terminal.plain(f'{event["type"]} "{name}"' if name else str(event["type"])), "bold"))
    for line in _table(sent):
        _terminal.out(line)
    for destination, why in refusals.items():
        _terminal.out(_terminal.plain(f"{destination} rejects the event: {why}"))
    for finding in _findings(sent):
        _terminal.out(f"\n{_parser.wrap(_terminal.plain(finding))}")
    for line in _policies(pipeline, event):
        _terminal.out(f"\n{_parser.wrap(_terminal.plain(line))}")
    for line in _held(pipeline, event, args.simulate):
        _terminal.out(f"\n{_parser.wrap(_terminal.plain(line))}")
    program = _terminal.program()
    if program != "svctoolkit":
        _terminal.out(
            f"\n`svctoolkit` is installed as {program}; put it on PATH with `. {os.path.dirname(program)}/activate`."
        )
    _terminal.out("\nNothing has left this machine. Next:")
    width = max(len(command) for command, _ in _NEXT)
    fits = 2 + width + 2 + max(len(what) for _, what in _NEXT) <= _terminal.width()
    for command, what in _NEXT:
        explained = _terminal.style(what if fits else _parser.wrap(what, indent=6), "dim")
        _terminal.out(f"  {command:<{width}}  {explained}" if fits else f"  {command}\n{explained}")
    return Exit.OK


def _workspace() -> Workspace:
    from svctoolkit.workspace import Workspace

    workspace = Workspace("tour")
    analytics = {"apiSecret": "nobody's", "measurementId": "G-TOUR", "typesOfClient": "gtag"}
    workspace.destination("ga4", "GA4", name="Google Analytics", config=analytics)
    workspace.destination("mixpanel", "MP", name="Mixpanel", config={"token": "nobody's", "dataResidency": "us"})
    workspace.destination("braze", "BRAZE", name="Braze", config={"dataCenter": "EU-01", "restApiKey": "nobody's"})
    return workspace


def _refusals(pipeline: Pipeline, event: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, destination in pipeline.workspace.destinations.items():
        for entry in pipeline.test_destination(key, event).data:
            if isinstance(entry.dest_transformed_payload, dict):
                yield destination.name, str(entry.dest_transformed_payload["error"])


def _table(sent: _Sent) -> Iterator[str]:
    """A line for each of the fields on which the destinations differ most, with its name and value in each."""
    from svctoolkit.cli import _terminal

    if not sent:
        return
    rows = {path: (value, cells) for path, value, cells in _rows(sent)}
    amounts = {path for lineage in sent.values() for path, _, _ in _amounts(lineage)}
    telling = sorted(rows, key=lambda path: (path not in amounts, -_differences(path, rows[path][1])))[:_ROWS]
    label = min(max(len(_label(path)) for path in telling), _terminal.width() // 3)
    width = max(8, (_terminal.width() - label - 3) // (len(sent) + 1) - 1)
    head = "".join(_cell(name, width) for name in sent)
    yield f"\n  {'':{label + width + 2}}{_terminal.style(head.rstrip(), 'bold')}"
    for path in (path for path in rows if path in telling):
        value, cells = rows[path]
        texts = [_cell(_text(path, value, origin), width) for origin in cells]
        line = "".join(t if o else _terminal.style(t, "dim") for t, o in zip(texts, cells, strict=True))
        yield f"  {_cell(_label(path), label)}{_cell(_value(value), width)}{line}".rstrip()
    counts = [(name, sum(bool(d.fields) for d in lineage.event)) for name, lineage in sent.items()]
    (first, received), *others = counts
    reached = "".join(f", {name} {count}" for name, count in others)
    fields = len(next(iter(sent.values())).event)
    counted = f"Of {fields} event fields, {first} receives {received}{reached}."
    yield f"\n{_parser.wrap(counted, indent=2)}"


def _differences(path: str, cells: list[Origin | None]) -> int:
    """How interesting a row is: the number of destinations plus the number of distinct names."""
    return len({_name(path, origin) for origin in cells}) + sum(map(bool, cells))


def _label(path: str) -> str:
    return path.removeprefix("properties.").removeprefix("context.")


def _rows(sent: _Sent) -> Iterator[tuple[str, Any, list[Origin | None]]]:
    """The event fields that reach a destination, with their value and origin at each; only the first item of lists."""
    sources = {name: _by_source(lineage) for name, lineage in sent.items()}
    for field in next(iter(sent.values())).event:
        cells = [sources[name].get(field.path) for name in sent]
        if any(cells) and not any(step.isdigit() and step != "0" for step in field.path.split(".")):
            yield field.path, field.value, cells


def _by_source(lineage: Lineage) -> dict[str, Origin]:
    """For each event field, the payload field that it goes into. A renamed field takes precedence."""
    fields: dict[str, Origin] = {}
    for origin in lineage.fields:
        for path in origin.events:
            if path not in fields or _name(path, fields[path]) == path.split(".")[-1]:
                fields[path] = origin
    return fields


def _name(path: str, origin: Origin | None) -> str:
    """The name of a field in the payload: its last key, or the last two if the last one alone is ambiguous."""
    if origin is None:
        return ""
    keys = [key for key in origin.field.split(".") if not key.isdigit()]
    return ".".join(keys[-2:]) if keys[-2:-1] == path.split(".")[-1:] else keys[-1]


def _text(path: str, value: Any, origin: Origin | None) -> str:
    from svctoolkit.cli import _terminal

    if origin is None:
        return "–"
    name = _name(path, origin)
    return _terminal.plain(name) if origin.value == value else f"{_terminal.plain(name)} {_value(origin.value)}"


def _value(value: Any) -> str:
    from svctoolkit.cli import _terminal

    return f"{value:.12g}" if isinstance(value, float) else _terminal.plain(str(value))


def _cell(text: str, width: int) -> str:
    return f"{text if len(text) <= width else text[: width - 1] + '…':<{width + 1}}"


def _findings(sent: _Sent) -> Iterator[str]:
    """Two destinations that take different amounts from the event, or else the fields that reach none."""
    amounts = [(name, *amount) for name, lineage in sent.items() for amount in _amounts(lineage)]
    for first, path, field, value in amounts:
        for second, other_path, other_field, other in amounts:
            if first != second and path != other_path and value != other:
                yield (
                    f"Found: {first} counts {value:.12g} ({path}, as {field}), {second} {other:.12g} ({other_path}, as "
                    f"{other_field}). Their reports differ by {abs(value - other):.6g} for every such event."
                )
                return
    lost = [d.path for d in next(iter(sent.values())).event if d.path.startswith("properties.")] if sent else []
    for lineage in sent.values():
        lost = [path for path in lost if path in {d.path for d in lineage.lost}]
    if lost:
        yield f"Found: {', '.join(lost[:5])} {'reaches' if len(lost) == 1 else 'reach'} none of the destinations."


def _held(pipeline: Pipeline, event: Mapping[str, Any], level: Level | None) -> Iterator[str]:
    """For each destination that is simulated at this level: what it holds of the event, and what it loses."""
    from svctoolkit.cli._terminal import quantity
    from svctoolkit.simulations import is_simulated

    for key, destination in pipeline.workspace.destinations.items() if level not in (None, "answers") else ():
        if is_simulated(destination.type):
            lost = pipeline.test_destination(key, event, simulate=level).lost
            tables = pipeline.simulation(key).held()
            rows = [quantity(len(rows), name.removesuffix("s")) for name, rows in tables.items() if rows]
            losses = "; ".join(loss.text for loss in lost) or "it loses nothing"
            yield f"{destination.name} holds {' and '.join(rows) or 'nothing'} of this event; {losses}."


def _policies(pipeline: Pipeline, event: Mapping[str, Any]) -> Iterator[str]:
    """What does not hold of two policies that most teams have."""
    from svctoolkit.policies import Arrival, Policies

    arrivals = []
    for key in pipeline.workspace.destinations:
        sent = [entry.dest_transformed_payload for entry in pipeline.test_destination(key, event).data]
        arrivals.append(Arrival(key, [one for of in sent if isinstance(of, list) for one in of]))
    hosts = ["*.google-analytics.com", "*.mixpanel.com", "*.braze.eu"]
    policies = Policies.of([{"hosts": hosts}, {"no_personal": {}}])
    breaches = [str(breach) for breach in policies.check(event, arrivals)]
    if breaches:
        more = f"; and {len(breaches) - 3} more" if len(breaches) > 3 else ""
        yield f"Policy {'; '.join(breaches[:3])}{more}."
    else:
        yield "Policies hosts and no_personal hold: requests go to known hosts, without e-mail addresses or numbers."


def _amounts(lineage: Lineage) -> Iterator[tuple[str, str, float]]:
    """Numbers of the event that the destination stores under a different name."""
    for path, origin in _by_source(lineage).items():
        name, number = _name(path, origin), origin.value
        own = path.count(".") == 1 and path.startswith("properties.") and name != path.split(".")[-1]
        if own and isinstance(number, (int, float)) and not isinstance(number, bool):
            yield path, name, number


command = Command(
    help="compare one order at three destinations, and see where to go next",
    description="""
        Run an order through the mappings of Google Analytics 4, Mixpanel and Braze, and show field by field what each
        one receives: the field's name there, and its value if it differs. Then point out the most important difference,
        and check two policies. Use --event for your own event. With --simulate, also show what the simulated servers of
        these destinations hold and lose of it. Nothing is sent.
    """,
    examples=("svctoolkit tour", "svctoolkit tour --event order.json", "svctoolkit tour --simulate"),
    add_arguments=_add_arguments,
    run=_run,
    simulates=True,
)
