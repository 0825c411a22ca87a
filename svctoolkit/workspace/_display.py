"""Rich display of workspaces. Write keys, tokens and configurations are never shown."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import render, shows
from svctoolkit.workspace._diagram import diagram
from svctoolkit.workspace._items import Destination, Source, TrackingPlan, Transformation
from svctoolkit.workspace._model import Workspace

_HEAD = ("source", "source state", "destination", "type", "state", "transformation")


@shows(Workspace, "text")
def text(workspace: Workspace) -> str:
    """Show a tree: each source with its destinations, then the destinations without a source."""
    lines = [f"Workspace {workspace.name!r}, {_mode(workspace)}"]
    for source in workspace.sources.values():
        lines.append(f"├── {source.key} ({_words(source.name, source.type, _state(source.enabled))})")
        for connection in source.connections:
            target = workspace.destinations.get(connection.destination)
            what = _describe(target) if target else "no such destination"
            arrow = "──" if connection.enabled else "─✕"
            lines.append(f"│   {arrow} {connection.destination} ({what})")
    alone = _without_source(workspace)
    if alone:
        lines.append("├── no source")
        lines += [f"│   ── {destination.key} ({_describe(destination)})" for destination in alone]
    return "\n".join(lines)


@shows(Workspace)
def html(workspace: Workspace) -> Html:
    """Show a diagram, and a table with one row per connection."""
    caption = f"Workspace {workspace.name}, {_mode(workspace)}"
    return display.page(diagram(workspace), display.table(_HEAD, _table(workspace), caption=caption))


@shows(Source)
def source(item: Source) -> Html:
    facts = {"key": item.key, "id": item.id, "type": item.type, "state": _state(item.enabled) or "enabled"}
    facts["destinations"] = ", ".join(connection.destination for connection in item.connections)
    return display.page(display.section(f"Source {item.name}", display.facts(facts)))


@shows(Destination)
def destination(item: Destination) -> Html:
    facts = {"key": item.key, "id": item.id, "type": item.type, "state": _state(item.enabled) or "enabled"}
    facts["configured"] = ", ".join(item.config)
    if item.transformation:
        facts["transformation"] = item.transformation
    return display.page(display.section(f"Destination {item.name}", display.facts(facts)))


@shows(Transformation)
def transformation(item: Transformation) -> Html:
    facts = {"key": item.key, "language": item.language or "unknown"}
    if item.file:
        facts["file"] = item.file.as_posix()
    if item.function is not None:
        facts["function"] = getattr(item.function, "__name__", "a callable")
    code = display.code(item.code, item.language or "") if item.code else ""
    return display.page(display.section(f"Transformation {item.name}", display.facts(facts), code))


def _table(workspace: Workspace) -> Iterator[tuple[str, ...]]:
    for source in workspace.sources.values():
        first = (f"{source.name} ({source.key})", _state(source.enabled))
        for connection in source.connections:
            target = workspace.destinations.get(connection.destination)
            if target is None:
                yield (*first, connection.destination, "no such destination", "", "")
            else:
                state = _state(target.enabled) or ("" if connection.enabled else "connection disabled")
                yield (*first, f"{target.name} ({target.key})", target.type, state, target.transformation or "")
        if not source.connections:
            yield (*first, "", "", "", "")
    for destination in _without_source(workspace):
        name = f"{destination.name} ({destination.key})"
        yield ("", "", name, destination.type, _state(destination.enabled), destination.transformation or "")


def _without_source(workspace: Workspace) -> list[Destination]:
    fed = {c.destination for source in workspace.sources.values() for c in source.connections}
    return [d for key, d in workspace.destinations.items() if key not in fed]


def _describe(destination: Destination) -> str:
    through = f"through {destination.transformation}" if destination.transformation else ""
    return _words(destination.name, destination.type, _state(destination.enabled), through)


def _state(enabled: bool) -> str:
    return "" if enabled else "disabled"


def _words(*words: str) -> str:
    return ", ".join(word for word in words if word)


def _mode(workspace: Workspace) -> str:
    return f"delivery mode {workspace.delivery.mode}"


@shows(TrackingPlan)
def tracking_plan(item: TrackingPlan) -> Html:
    """Show the chosen plan."""
    return Html(render(item.chosen))
