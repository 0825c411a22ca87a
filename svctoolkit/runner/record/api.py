"""`svctoolkit.record`: what `svctoolkit record` does, from Python."""

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
    """What was made of events: `suite` as data, and what was `skipped`; `added` scenarios were new in `file`.

    Secrets of the workspace are masked.
    """

    suite: Mapping[str, Any]
    skipped: Sequence[Problem]
    file: Path | None
    added: int

    @property
    def scenarios(self) -> list[dict[str, Json]]:
        """The scenarios as a suite has them."""
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
    """A suite of events: one scenario for each shape of event, with what comes of it as its expectation.

    `events` are a data plane (whose workspace is known), what it has `received`, events, batches
    (`{"batch": [...]}`), or an NDJSON file. `source` (a key) sends events of which nobody knows the source; by default
    it is the first one. Personal data is replaced by made-up values unless `personal`. With `file` the scenarios are
    written there: to a new suite, or behind those that it has, without those that it has already.

    What is no event is left out and told in `skipped`. Nothing is delivered. Raises `ConfigError` where there is no
    event or the file cannot take them, `UnknownName` for a source.
    """
    if isinstance(events, DataPlane):
        workspace, events = workspace or events.workspace, events.received
    if workspace is None:
        raise ConfigError("whose events are these? Give the workspace: record(events, workspace)")
    bench = workspace if isinstance(workspace, Workspace) else Workspace.load(Path(workspace))
    if not bench.sources:
        raise ConfigError(f"workspace {bench.name} has no source that could send: workspace.source('web')")
    skipped: list[Problem] = []
    named = writer.read_events(Path(events), skipped) if isinstance(events, (Path, str)) else _read(events, skipped)
    suite = writer.record_suite(named, bench, source=source, personal=personal)
    path = Path(file) if file is not None else None
    added = 0 if path is None else add_scenarios(path, suite, bench)
    masker = bench.masker
    problems = [Problem(masker.text(problem.message), problem.where) for problem in skipped]
    return Recording(masker.mask(suite), problems, path, added)


def _read(events: Iterable[Any], skipped: list[Problem]) -> list[ReceivedEvent]:
    """The events among the items; what is none is told."""
    read: list[ReceivedEvent] = []
    for number, item in enumerate([events] if isinstance(events, Mapping) else events, 1):
        value = item if isinstance(item, Mapping) else {"event": getattr(item, "event", None), "source": _source(item)}
        try:
            found = writer.events_in(json.loads(json.dumps(dict(value), allow_nan=False)))
        except (TypeError, ValueError) as error:
            skipped.append(Problem(f"no JSON: {error}", f"event {number}"))
            continue
        if not found:
            skipped.append(Problem("no event: it has no `type`", f"event {number}"))
        read += found
    if not read:
        raise ConfigError(skipped or "there are no events")
    return read


def _source(item: object) -> str:
    source = getattr(item, "source", "")
    return source if isinstance(source, str) else ""
