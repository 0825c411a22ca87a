"""Where the values come from that break policies: what was sent of the first event of a group is measured again.

Bounded: the first 20 groups, 10 seconds.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from svctoolkit import personal
from svctoolkit.errors import ConfigError, ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.policies import Policies
from svctoolkit.policies.origins import MOST, Subject, find_origins, names_of
from svctoolkit.replay.engine.clock import context_of
from svctoolkit.replay.engine.engine import Job
from svctoolkit.replay.records.record import Record
from svctoolkit.replay.results.members import Reader
from svctoolkit.replay.tally.tally import Group

_SECONDS: Final = 10.0


def trace_breaches(job: Job, reader: Reader, groups: Sequence[Group], policies: Policies) -> None:
    """Set `decides` of breaches: where their value, or the columns of a query, come from, and which line made them."""
    until = time.monotonic() + _SECONDS
    chosen = [group for group in groups if group.examples and _names(group, policies)][:MOST]
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
            value = None if policies.columns(group.before) else group.examples[0].after
            is_value = partial(_is_value, value, personal_too=job.personal)
            try:
                subject = _subject(job, record, group.destination)
                origins = find_origins(_names(group, policies), subject, is_value)
            except ToolkitError:  # it is shown without
                continue
            group.decides = origins.text or group.decides


def _names(group: Group, policies: Policies) -> Collection[str]:
    return names_of(policies, group.before, group.destination, group.path) if group.kind == "breach" else ()


def _subject(job: Job, record: Record, destination: str) -> Subject:
    workspace = job.sides[-1]
    key = job.source_of(record)
    source = workspace.source(key) if key in workspace.sources else None
    route = Pipeline(workspace).route(workspace.destination(destination))
    return Subject(record.event, route, context_of(record, datetime.fromisoformat(job.now)), source)


def _is_value(shown: str | None, value: Json, *, personal_too: bool) -> bool:
    """Return whether a masked value is shown like this; None: the breach shows none, so it may be any."""
    text = "" if value is None else str(value)
    return shown is None or shown == (personal.replace_in_text(text, personal.mask) if personal_too else text)
