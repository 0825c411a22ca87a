"""Where the values come from that rows of queries have: what was sent of the first event of a group is measured again.

Bounded: the first 20 groups, 10 seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from svctoolkit.errors import ConfigError, ToolkitError
from svctoolkit.pipeline import Pipeline
from svctoolkit.pipeline.lineage import measure
from svctoolkit.pipeline.writers import locate
from svctoolkit.policies import Policies
from svctoolkit.replay.engine.engine import Job, context_of
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.results.members import Reader
from svctoolkit.replay.tally.tally import Group
from svctoolkit.results.lineage import Origin

_MOST_GROUPS: Final = 20
_SECONDS: Final = 10.0


def trace_queries(job: Job, reader: Reader, groups: Sequence[Group], policies: Policies) -> None:
    """Set `decides` of the breaches of queries: where the values of the columns come from, and which line made them."""
    until = time.monotonic() + _SECONDS
    queried = {group.before: policies.columns(group.before) for group in groups if group.kind == "breach"}
    chosen = [group for group in groups if group.kind == "breach" and queried[group.before] and group.examples]
    places = {group.examples[0].place: group for group in chosen[:_MOST_GROUPS]}
    if not places:
        return
    try:
        records = {record.place: record for record in reader.records(places) if record.place in places}
    except ConfigError:  # the input cannot be read again
        return
    for group in chosen[:_MOST_GROUPS]:
        record = records.get(group.examples[0].place)
        names = queried[group.before].get(group.destination, frozenset())
        if record is not None and names and time.monotonic() < until:
            try:
                group.decides = ", ".join(dict.fromkeys(_origins(job, record, group.destination, names)))
            except ToolkitError:  # it is shown without
                continue


def _origins(job: Job, record: Record, destination: str, names: frozenset[str]) -> Iterator[str]:
    workspace = job.sides[-1]
    key = job.source or record.source or job.only_source
    source = workspace.source(key) if key in workspace.sources else None
    route = Pipeline(workspace).route(workspace.destination(destination))
    context = context_of(record, datetime.fromisoformat(job.now))
    lineage = measure(record.event, route, context, source)
    for name in sorted(names):
        steps = name.split(".")
        fields = [field for field in lineage.fields if _plain_steps(field)[-len(steps) :] == steps]
        for field in sorted(fields, key=lambda field: len(_plain_steps(field)))[:1]:
            origin = locate(field, record.event, route, context, source, in_code=False)
            yield route.masker.text(_text(origin))


def _plain_steps(origin: Origin) -> list[str]:
    return [step for step in origin.field.split(".") if not step.isdigit()]


def _text(origin: Origin) -> str:
    """Return `properties.revenue (clean.js:3)`: the fields of the event, otherwise what else gives the value."""
    lines = " ".join(origin.lines)
    of = ", ".join(origin.events) or ", ".join(f"setting {name}" for name in (*origin.settings, *origin.defaults))
    if not of:
        return lines or ("the transformation" if origin.code else "the mapping")
    return f"{of} ({lines})" if lines else of
