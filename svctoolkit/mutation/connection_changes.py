"""Changes of the connections of a workspace: sources to destinations, destinations to code, blocked events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from svctoolkit.mutation.change import Change, copy_of, place_of
from svctoolkit.mutation.place import Places
from svctoolkit.workspace import Connection, Workspace


@dataclass(frozen=True, slots=True)
class NewConnection:
    """A source is disconnected from a destination, or connected if it is not."""

    place: str
    source: str
    index: int

    def apply(self, workspace: Workspace) -> Workspace:
        source = workspace.sources.get(self.source)
        if place_of(workspace) != self.place or source is None or self.index >= len(source.connections):
            return workspace
        copy = copy_of(workspace)
        connections = [*source.connections]
        old = connections[self.index]
        connections[self.index] = Connection(old.destination, not old.enabled)
        copy.sources[self.source] = replace(source, connections=connections)
        return copy


@dataclass(frozen=True, slots=True)
class NewSwitch:
    """A source or destination is disabled, or enabled if it is not."""

    place: str
    part: str
    key: str

    def apply(self, workspace: Workspace) -> Workspace:
        items = workspace.sources if self.part == "sources" else workspace.destinations
        if place_of(workspace) != self.place or self.key not in items:
            return workspace
        copy = copy_of(workspace)
        if self.part == "sources":
            copy.sources[self.key] = replace(workspace.sources[self.key], enabled=not items[self.key].enabled)
        else:
            copy.destinations[self.key] = replace(workspace.destinations[self.key], enabled=not items[self.key].enabled)
        return copy


@dataclass(frozen=True, slots=True)
class NoTransformation:
    """A destination has no transformation any more."""

    place: str
    destination: str

    def apply(self, workspace: Workspace) -> Workspace:
        if place_of(workspace) != self.place or self.destination not in workspace.destinations:
            return workspace
        copy = copy_of(workspace)
        copy.destinations[self.destination] = replace(workspace.destinations[self.destination], transformation=None)
        return copy


@dataclass(frozen=True, slots=True)
class NotBlocked:
    """An event is not blocked any more."""

    place: str
    type: str
    event: str

    def apply(self, workspace: Workspace) -> Workspace:
        blocking = workspace.data_plane.event_blocking
        if place_of(workspace) != self.place or self.event not in blocking.get(self.type, ()):
            return workspace
        copy = copy_of(workspace)
        names = [name for name in blocking[self.type] if name != self.event]
        copy.data_plane = replace(workspace.data_plane, event_blocking={**blocking, self.type: names})
        return copy


def connection_changes(workspace: Workspace, places: Places) -> Iterator[Change]:
    """Yield each change of connections, switches and blocked events."""
    place = place_of(workspace)
    for source in workspace.sources.values():
        item = frozenset({f"sources.{source.key}"})
        for index, connection in enumerate(source.connections):
            line = places.first_line(("sources", source.key, "destinations", index))
            what = "disconnected" if connection.enabled else "connected"
            text = f"{source.key} -> {connection.destination} {what}"
            change = NewConnection(place, source.key, index)
            words = frozenset({connection.destination, f"source {source.key}"})
            yield Change("connection", places.file, line, text, change, item, words=words)
        if source.connections:
            yield _switch(place, places, "sources", source.key, source.enabled, item)
    for destination in workspace.destinations.values():
        item = frozenset({f"destinations.{destination.key}"})
        yield _switch(place, places, "destinations", destination.key, destination.enabled, item)
        if destination.transformation:
            line = places.first_line(("destinations", destination.key, "transformation"))
            text = f"{destination.key} without transformation {destination.transformation}"
            without = NoTransformation(place, destination.key)
            words = frozenset({destination.transformation, "user_transform"})
            yield Change("connection", places.file, line, text, without, item, words=words)
    everything = frozenset(f"sources.{key}" for key in workspace.sources)
    for type, names in workspace.data_plane.event_blocking.items():
        for index, name in enumerate(names):
            line = places.first_line(("dataPlane", "eventBlocking", type, index))
            passing = NotBlocked(place, type, name)
            text = f"{type} {name!r} is not blocked"
            yield Change("event blocking", places.file, line, text, passing, everything, words=frozenset({name}))


def _switch(place: str, places: Places, kind: str, key: str, enabled: bool, items: frozenset[str]) -> Change:
    text = f"{kind[:-1]} {key} {'disabled' if enabled else 'enabled'}"
    line = places.first_line((kind, key))
    return Change("connection", places.file, line, text, NewSwitch(place, kind, key), items, words=frozenset({key}))
