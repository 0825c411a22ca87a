"""Starter suites of sources: events that settings and code react to, and which destinations get them.

Each source has a scenario for each event type that its destinations take: an ordinary event, one with odd values, and
one with required members only; one for each text that code or settings react to; and one for each rule of routing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from svctoolkit.events import EVENT_TYPES
from svctoolkit.expect.names import near_path
from svctoolkit.json_types import Json
from svctoolkit.pipeline.rules import required_consents
from svctoolkit.project.accepted import accepted_types
from svctoolkit.project.files import FileNames
from svctoolkit.project.probes import Prober
from svctoolkit.workspace import Destination, Source, Workspace

_MOST = 40  # texts of a source; a person must be able to read its suite
_REQUIRED = (
    "type",
    "event",
    "name",
    "userId",
    "anonymousId",
    "groupId",
    "previousId",
    "messageId",
    "originalTimestamp",
)
_ODD = 0.55512  # added to decimals: code that rounds to another place shows


SNAPSHOT: Mapping[str, Any] = {"$snapshot": True}
#: An expectation that any result meets.
ANYTHING: Mapping[str, Any] = {"response": {"status": 200}, "failed": "any"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A scenario without its expectation.

    `snapshot`: the content of deliveries is expected, not only where they go. `planned`: the event has no violations.
    """

    name: str
    send: Mapping[str, Any]
    snapshot: bool = False
    planned: bool = False

    def scenario(self, source: Source, expect: Mapping[str, Json]) -> dict[str, Json]:
        """Return the scenario in the format of a suite."""
        return {"name": self.name, "source": source.key, "send": self.send, "expect": expect}

    def snapshots(self, expect: Mapping[str, Json]) -> list[str]:
        """Return the destinations whose requests an expectation has snapshots of."""
        delivered = expect["delivered"]
        return [*delivered["$only"]] if self.snapshot and delivered else []

    def expectation(self, results: Mapping[str, Json], destinations: Sequence[str]) -> dict[str, Json]:
        """Return the expectation of the current results: which destinations get it, and which refuse it."""
        by_key = by_destination(results["delivered"], destinations)
        arrived = {key: requests for key, requests in by_key.items() if requests}
        content = {key: SNAPSHOT if self.snapshot else [{}] * len(requests) for key, requests in arrived.items()}
        expect: dict[str, Any] = {"violations": []} if self.planned else {}
        expect["delivered"] = {"$only": content} if content else []
        for name in ("failed",) if content else ("failed", "dropped"):  # without a delivery, the reason
            ends = [end for records in by_destination(results[name], destinations).values() for end in records]
            if ends:
                expect[name] = [{"destination": end["destination"], "by": end["by"]} for end in ends]
        return expect


def drafts(
    workspace: Workspace, sources: Iterable[Source], samples: Mapping[str, Mapping[str, Json]]
) -> dict[str, list[Draft]]:
    """Return the scenarios of each source that has some, by its key, from sample events by type (for `$use`)."""
    prober = Prober(workspace, {kind: odd_sample(sample) for kind, sample in samples.items()})
    of_sources = {source.key: _of_source(workspace, source, samples, prober) for source in sources}
    return {key: found for key, found in of_sources.items() if found}


def _of_source(
    workspace: Workspace, source: Source, samples: Mapping[str, Mapping[str, Json]], prober: Prober
) -> list[Draft]:
    connected = [workspace.destinations[c.destination] for c in source.connections if c.enabled]
    types = [kind for kind in EVENT_TYPES if any(kind in accepted_types(d) for d in connected if d.enabled)]
    if not source.enabled or not types:
        return []
    arriving = [kind for kind in types if prober.arrives(source, samples[kind])] or types
    common = "track" if "track" in arriving else arriving[0]
    written = [
        *_of_types(types, samples, prober.new_types(source, connected)),
        *_of_texts(prober, source, connected, types, samples),
        *_of_consents(connected, source, common),
        *_of_integrations(common),
    ]
    names = FileNames()
    return [replace(draft, name=draft.name + _number(names, draft.name)) for draft in written]


def _number(names: FileNames, name: str) -> str:
    """Return what makes the id of a scenario unique, if another has the same."""
    again = names.of(name)
    return "" if again == FileNames().of(name) else f" ({again.rpartition('-')[2]})"


# Any: results of a plane as JSON
def by_destination(values: Any, destinations: Sequence[str]) -> dict[str, list[Any]]:
    """Return results by destination; those of a source with one destination are a list."""
    return values if isinstance(values, dict) else {destinations[0]: values} if destinations else {}


def _of_types(
    types: Sequence[str], samples: Mapping[str, Mapping[str, Json]], varied: Collection[str]
) -> Iterator[Draft]:
    """Yield an ordinary event of each type, and variations of those types that no earlier source sends."""
    for kind in types:
        yield Draft(f"{kind}", {"$use": kind}, snapshot=True)
        if kind not in varied:
            continue
        if changes := dict(_odd_values(samples[kind], ())):
            yield Draft(f"{kind} with blanks, capitals and decimals", {"$use": kind, "$set": changes}, snapshot=True)
        extra = [member for member in samples[kind] if member not in _REQUIRED]
        yield Draft(f"{kind} with required members only", {"$use": kind, "$unset": extra}, snapshot=True)


def _odd_values(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the dotted paths of traits and properties that get an odd value: blanks around, capitals, decimals."""
    for key, inner in value.items():
        here = (*path, str(key))
        if isinstance(inner, Mapping) and here[0] in ("traits", "properties", "context"):
            if here[0] != "context" or here[1:2] in ((), ("traits",)):
                yield from _odd_values(inner, here)
        elif path and (odd := _odd(inner)) != inner:
            yield ".".join(here), odd


def odd_sample(event: Mapping[str, Json]) -> dict[str, Json]:
    """Return a copy of a sample event with odd decimals, so that rounding shows."""
    copy = deepcopy(dict(event))
    properties = copy.get("properties")
    if isinstance(properties, dict):
        copy["properties"] = {k: round(v + _ODD, 5) if isinstance(v, float) else v for k, v in properties.items()}
    return copy


def _odd(value: Any) -> Any:
    if isinstance(value, float):
        return round(value + _ODD, 5)
    if not isinstance(value, str):
        return value
    if "@" in value and "://" not in value:
        return f"  {value.title()} "
    if value.isupper() and len(value) == 3:
        return value.lower()  # a currency
    return value


def _of_texts(
    prober: Prober,
    source: Source,
    connected: Sequence[Destination],
    types: Sequence[str],
    samples: Mapping[str, Mapping[str, Json]],
) -> Iterator[Draft]:
    """Yield a scenario for each text that changes the outcome of an event, and for other spellings of names."""
    probes = dict.fromkeys(
        probe
        for destination in connected
        for probe in prober.effective(source, destination, [k for k in types if k in accepted_types(destination)])
    )
    for probe in [*probes][:_MOST]:
        changes = _change(samples[probe.type], probe.path, probe.text)
        if probe.path not in ("event", "name"):
            changes |= {path: value for path, value in _odd_values(samples[probe.type], ()) if path != probe.path}
        place = "named" if probe.path in ("event", "name") else f"with {probe.path}"
        yield Draft(f"{probe.type} {place} {probe.text}", {"$use": probe.type, "$set": changes}, snapshot=True)
        if probe.path in ("event", "name"):
            for how, spelling in (("and more", f"{probe.text} 2"), ("in other capitals", probe.text.swapcase())):
                named = {"$use": probe.type, "$set": {probe.path: spelling}}
                yield Draft(f"{probe.type} named {probe.text} {how}", named)


def _change(sample: Mapping[str, Json], path: str, text: str) -> dict[str, Json]:
    """Return what `$set` needs for a text at a path; next to a member of nearly the same name, the whole object."""
    *parents, last = path.split(".")
    if not near_path(dict(sample), [*parents, last], text):
        return {path: text}
    parent: Any = sample
    for step in parents:
        parent = parent.get(step, {}) if isinstance(parent, dict) else {}
    return {".".join(parents): {**parent, last: text}} if parents and isinstance(parent, dict) else {path: text}


def _of_consents(connected: Sequence[Destination], source: Source, kind: str) -> Iterator[Draft]:
    """Yield a scenario for each consent that a destination requires, denied, and one with it given."""
    required = dict.fromkeys(
        (provider, consent)
        for destination in connected
        for provider, consent in required_consents(destination, source.platform)
    )
    for provider, consent in required:
        for word, denied in (("denied", [consent]), ("given", ["another-category"])):
            consents = {"provider": provider, "resolutionStrategy": "and", "deniedConsentIds": denied}
            send = {"$use": kind, "$set": {"context.consentManagement": consents}}
            yield Draft(f"{kind}, consent to {consent} {word}", send)


def _of_integrations(kind: str) -> Iterator[Draft]:
    send = {"$use": kind, "$set": {"integrations": {"All": False}}}
    yield Draft(f"{kind} for no destination (integrations)", send)
