"""Find the values that a destination's code and settings react to, by running events that have them.

A text that code or settings mention is put at every place of a sample event where it may matter: the name of the
event, and members that the code mentions. It matters there if the outcome differs from that with a text of the same
form that nothing mentions, apart from the text itself. That works for every language and mapping, without an analysis
of the code.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec

from svctoolkit.destinations import Context
from svctoolkit.errors import ToolkitError
from svctoolkit.events.clock import time_of
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.pipeline.fates import Passage, check, pass_many
from svctoolkit.pipeline.leaves import leaves, open_payload
from svctoolkit.pipeline.rules import connection_mode
from svctoolkit.plans import Link
from svctoolkit.project.accepted import accepted_types
from svctoolkit.project.literals import code_literals, settings_literals
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Destination, Source, Workspace

_STAGES = Stages(user_transform=True, dest_transform=True, send_to_destination=False)
_MOST = 2_000  # probes of one destination, which take about a second
_NAMES = ("event", "name")
_SKIPPED = {"type", "messageId", "originalTimestamp", "sentAt", "receivedAt", "timestamp", "channel"}


_Treated: TypeAlias = tuple[str, Json, str]


@dataclass(frozen=True, slots=True)
class Probe:
    """A text at a dotted path of the sample event of a type."""

    type: str
    path: str
    text: str


class Prober:
    """Runs the probes of a workspace's destinations. `samples` are the sample events, by type."""

    def __init__(self, workspace: Workspace, samples: Mapping[str, Mapping[str, Json]]) -> None:
        self._workspace, self._samples = workspace, samples
        moment = time_of(next(iter(samples.values())), datetime.now(UTC))
        self._pipeline = Pipeline(workspace, context=Context(clock=lambda: moment))
        # names of types and members that events have anyway: comparing with them is a test of the event's form
        self._known = {str(step) for event in samples.values() for path in leaves(dict(event)) for step in path}
        self._known |= {*samples}
        self._blocked = [name for names in workspace.data_plane.event_blocking.values() for name in names]
        self._links: dict[str, Link | None] = {}
        self._pending: dict[_Treated, list[Probe]] = {}
        self._varied: set[tuple[_Treated, str]] = set()
        self._last = {
            _treated(source, workspace.destinations[connection.destination]): source.key
            for source in workspace.sources.values()
            for connection in source.connections
            if source.enabled and connection.enabled
        }

    def arrives(self, source: Source, event: Mapping[str, Json]) -> bool:
        """Return whether the source's tracking plan lets an event pass."""
        if source.key not in self._links:
            self._links[source.key] = self._workspace.plan_link(source)
        verdict = check(event, self._links[source.key], "probe")
        return verdict is None or not verdict.dropped

    def new_types(self, source: Source, connected: Sequence[Destination]) -> set[str]:
        """Return the event types that an enabled destination has not got yet from a source that is treated alike."""
        arriving = {kind for kind, sample in self._samples.items() if self.arrives(source, sample)}
        pairs = {(_treated(source, d), kind) for d in connected if d.enabled for kind in accepted_types(d)}
        new = {(treated, kind) for treated, kind in pairs if kind in arriving} - self._varied
        self._varied |= new
        return {kind for _, kind in new}

    def effective(self, source: Source, destination: Destination, types: Sequence[str]) -> list[Probe]:
        """Return the probes that change the outcome of an event at a destination. Empty if it cannot run.

        Each is returned once, for the first source that is treated alike and whose tracking plan lets it pass; if no
        plan does, for the last source.
        """
        treated = _treated(source, destination)
        if treated not in self._pending:
            self._pending[treated] = self._effective(source, destination, types)
        is_last = self._last.get(treated) == source.key
        chosen = [p for p in self._pending[treated] if is_last or self.arrives(source, self._event(p))]
        self._pending[treated] = [probe for probe in self._pending[treated] if probe not in chosen]
        return chosen

    def _event(self, probe: Probe) -> dict[str, Any]:
        return _with(self._samples[probe.type], probe.path, probe.text)

    def _effective(self, source: Source, destination: Destination, types: Sequence[str]) -> list[Probe]:
        probes = [probe for type in types for probe in self._probes(destination, type)][:_MOST]
        forms = (str, _unmentioned, _different)
        batches = [[_with(self._samples[p.type], p.path, form(p.text)) for p in probes] for form in forms]
        try:
            ran = [self._run(source, destination, batch) for batch in batches]
        except ToolkitError:
            return []
        effective = [
            probe
            for probe, outcome, first, second in zip(probes, *ran, strict=True)
            if _matters(probe.text, outcome, first, second)
        ]
        return list({(probe.path, probe.text): probe for probe in reversed(effective)}.values())[::-1]

    def _probes(self, destination: Destination, type: str) -> Iterator[Probe]:
        event = self._samples[type]
        members, texts = self._mentions(destination)
        yield from (Probe(type, name, text) for name in _NAMES if name in event for text in [*texts, *self._blocked])
        for path, value in leaves(dict(event)).items():
            skipped = path[-1] in _SKIPPED or path[0] in _NAMES or not all(isinstance(step, str) for step in path)
            if not skipped and isinstance(value, str) and path[-1] in members:
                yield from (Probe(type, ".".join(map(str, path)), text) for text in texts if text != value)

    def _mentions(self, destination: Destination) -> tuple[set[str], list[str]]:
        """Return the members that code and settings mention, and the texts that they may compare with."""
        mentioned = [settings_literals(destination.config)]
        item = self._workspace.transformations.get(destination.transformation or "")
        if item is not None:
            mentioned.append(code_literals(item.code, item.language))
            libraries = self._workspace.libraries.values()
            used = [library for library in libraries if re.search(rf"\b{re.escape(library.key)}\b", item.code)]
            mentioned += [code_literals(library.code, library.language) for library in used]
        texts = dict.fromkeys(t for found in mentioned for t in found.compared if t not in self._known)
        return {member for found in mentioned for member in found.members}, [*texts]

    def _run(self, source: Source, destination: Destination, batch: Sequence[Mapping[str, Any]]) -> list[Passage]:
        route = self._pipeline.route(destination)
        numbered = [{**event, "messageId": f"probe-{number}"} for number, event in enumerate(batch)]
        contexts = [self._pipeline.context_of(route)] * len(batch)
        sender = self._pipeline.sender(route)
        return pass_many(numbered, route, _STAGES, sender, contexts, source, [None] * len(batch))


def _treated(source: Source, destination: Destination) -> _Treated:
    """Return what the treatment of a source's events at a destination depends on."""
    return destination.key, connection_mode(reveal(destination.config), source.platform), source.category


def _with(event: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of the event with a value at a dotted path."""
    step, _, rest = path.partition(".")
    inner = event.get(step)
    return {**event, step: _with(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value}


def _unmentioned(text: str) -> str:
    """Return a text of the same form that neither code nor settings mention: each letter is moved by 13."""
    return codecs.encode(text, "rot13")


def _different(text: str) -> str:
    return codecs.encode(text, "rot13")[::-1] + "q"


def _matters(text: str, outcome: Passage, first: Passage, second: Passage) -> bool:
    """Return whether a text leads to another outcome than two that nothing mentions, which lead to the same."""
    plain = _outline(first, _unmentioned(text))
    return bool(_outline(second, _different(text)) == plain != _outline(outcome, text))


def _outline(passage: Passage, text: str) -> Any:
    """Return the outcome of an event, with a placeholder for each spelling of the text in its values."""
    payloads = [
        [open_payload(payload) for payload in result.payloads] or result.user_transformed_payload
        for result in passage.results
    ]
    words = re.findall(r"\w+", text)
    spellings = {text, "_".join(words), "-".join(words), "".join(words), " ".join(words)} - {""}
    longest_first = "|".join(re.escape(spelling) for spelling in sorted(spellings, key=len, reverse=True))
    outcome = msgspec.to_builtins([passage.fate.status, passage.fate.by, payloads], enc_hook=str)
    return _replace(outcome, re.compile(rf"probe-\d+|(?<!\w)(?:{longest_first})(?!\w)", re.IGNORECASE))


def _replace(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return pattern.sub("\0", value)
    if isinstance(value, Mapping):
        return {key: _replace(inner, pattern) for key, inner in value.items()}
    return [_replace(inner, pattern) for inner in value] if isinstance(value, list) else value
