"""`svctoolkit.record`: the command `svctoolkit record` as a Python function."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svctoolkit.displayed import Displayed
from svctoolkit.errors import ConfigError, Problem
from svctoolkit.json_types import Json
from svctoolkit.runner.record import writer
from svctoolkit.runner.record.suite_file import add_scenarios
from svctoolkit.runner.record.writer import ReceivedEvent
from svctoolkit.server import DataPlane
from svctoolkit.workspace import Workspace


@dataclass(frozen=True, slots=True, repr=False)
class Recording(Displayed):
    """The recorded `suite` as data, and the `skipped` input.

    `added` is the number of scenarios that were new in `file`. Secrets of the workspace are masked.
    """

    suite: Mapping[str, Any]
    skipped: Sequence[Problem]
    file: Path | None
    added: int

    @property
    def scenarios(self) -> list[dict[str, Json]]:
        """The scenarios, in the format of a suite."""
        return list(self.suite["scenarios"])

    def __repr__(self) -> str:
        scenarios = f"{len(self.scenarios)} scenario{'' if len(self.scenarios) == 1 else 's'}"
        where = f", {self.added} of them added to {self.file}" if self.file else ""
        lines = [f"<Recording: {scenarios}{where}>", *(f"skipped: {problem}" for problem in self.skipped)]
        return "\n".join(lines)


def record(
    events: Path | str | DataPlane | Iterable[Json],
    workspace: Workspace | Path | str | None = None,
    *,
    file: Path | str | None = None,
    source: str = "",
    personal: bool = False,
) -> Recording:
    """Return a suite with one scenario for each shape of event, which expects the current results.

    `events` are a data plane (its workspace is used), its `received` events, events, batches (`{"batch": [...]}`), or
    an NDJSON file. `source` (a key) is used for events without a known source; by default it is the workspace's first.
    Personal data is replaced by made-up values unless `personal`. With `file`, the scenarios are written to a new
    suite, or appended to an existing one, except those that it already has.

    Items that are not events are left out and listed in `skipped`. Nothing is delivered. Raises `ConfigError` if there
    is not an event or the file cannot be extended, and `UnknownName` for an unknown source.
    """
    if isinstance(events, DataPlane):
        workspace, events = workspace or events.workspace, events.received
    if workspace is None:
        raise ConfigError("workspace is required: record(events, workspace)")
    bench = workspace if isinstance(workspace, Workspace) else Workspace.load(Path(workspace))
    if not bench.sources:
        raise ConfigError(f"workspace {bench.name} has no source; add one: workspace.source('web')")
    skipped: list[Problem] = []
    named = writer.read_events(Path(events), skipped) if isinstance(events, (Path, str)) else _read(events, skipped)
    suite = writer.record_suite(named, bench, source=source, personal=personal)
    path = Path(file) if file is not None else None
    added = 0 if path is None else add_scenarios(path, suite, bench)
    masker = bench.masker
    problems = [Problem(masker.text(problem.message), problem.where) for problem in skipped]
    return Recording(masker.mask(suite), problems, path, added)


def _read(events: Iterable[Any], skipped: list[Problem]) -> list[ReceivedEvent]:
    """Return the events among the items; items that are not events are added to `skipped`."""
    read: list[ReceivedEvent] = []
    for number, item in enumerate([events] if isinstance(events, Mapping) else events, 1):
        value = item if isinstance(item, Mapping) else {"event": getattr(item, "event", None), "source": _source(item)}
        try:
            found = writer.events_in(json.loads(json.dumps(dict(value), allow_nan=False)))
        except (TypeError, ValueError) as error:
            skipped.append(Problem(f"invalid JSON: {error}", f"event {number}"))
            continue
        if not found:
            skipped.append(Problem("not an event: `type` is missing", f"event {number}"))
        read += writer.recordable(found, skipped, f"event {number}")
    if not read:
        raise ConfigError(skipped or "there are no events")
    return read


def _source(item: object) -> str:
    source = getattr(item, "source", "")
    return source if isinstance(source, str) else ""
