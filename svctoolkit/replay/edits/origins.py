"""Where the values come from that break policies: what was sent of the first event of a group is measured again.

Bounded: the first 20 groups, 10 seconds.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Final

from svctoolkit.errors import ConfigError, ToolkitError
from svctoolkit.pipeline import Pipeline
from svctoolkit.pipeline.lineage import measure
from svctoolkit.pipeline.writers import locate, locate_removal
from svctoolkit.policies import Policies
from svctoolkit.replay.engine.engine import Job, context_of
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.results.members import Reader
from svctoolkit.replay.tally.tally import Group
from svctoolkit.results.lineage import Origin

_MOST_GROUPS: Final = 20
_SECONDS: Final = 10.0


def trace_breaches(job: Job, reader: Reader, groups: Sequence[Group], policies: Policies) -> None:
    """Set `decides` of breaches: where their value, or the columns of a query, come from, and which line made them."""
    until = time.monotonic() + _SECONDS
    chosen = [group for group in groups if group.examples and _names(group, policies)][:_MOST_GROUPS]
    places = {group.examples[0].place for group in chosen}
    if not places:
        return
    try:
        records = {record.place: record for record in reader.records(places) if record.place in places}
    except ConfigError:  # the input cannot be read again
        return
    for group in chosen:
        record = records.get(group.examples[0].place)
        if record is not None and time.monotonic() < until:
            try:
                origins = dict.fromkeys(_origins(job, record, group.destination, _names(group, policies)))
            except ToolkitError:  # it is shown without
                continue
            group.decides = ", ".join(origins) or group.decides


def _names(group: Group, policies: Policies) -> Collection[str]:
    """Return the members of payloads that a breach is about."""
    if group.kind != "breach":
        return ()
    return policies.columns(group.before).get(group.destination) or ({group.path} if group.path else ())


def _origins(job: Job, record: Record, destination: str, names: Collection[str]) -> Iterator[str]:
    workspace = job.sides[-1]
    key = job.source or record.source or job.only_source
    source = workspace.source(key) if key in workspace.sources else None
    route = Pipeline(workspace).route(workspace.destination(destination))
    context = context_of(record, datetime.fromisoformat(job.now))
    lineage = measure(record.event, route, context, source)
    for name in sorted(names):
        steps = _plain_steps(name)
        fields = [field for field in lineage.fields if _plain_steps(field.field)[-len(steps) :] == steps]
        for field in sorted(fields, key=lambda field: len(_plain_steps(field.field)))[:1]:
            origin = locate(field, record.event, route, context, source, in_code=False)
            yield route.masker.text(_text(origin))
        if not fields and (line := locate_removal(name, record.event, route, source)):
            yield f"the event, but {line} removes it"


def _plain_steps(path: str) -> list[str]:
    return [step for step in path.split(".") if step != "*" and not step.isdigit()]


def _text(origin: Origin) -> str:
    """Return `properties.revenue (clean.js:3)`: the fields of the event, otherwise what else gives the value."""
    lines = " ".join(origin.lines)
    of = ", ".join(origin.events) or ", ".join(f"setting {name}" for name in (*origin.settings, *origin.defaults))
    if not of:
        return lines or ("the transformation" if origin.code else "the mapping")
    return f"{of} ({lines})" if lines else of
