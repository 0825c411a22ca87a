"""What rudder-cli cannot see in a project: settings without effect, code that fails, consents that no event has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from svctoolkit import events
from svctoolkit.apply.change import Detail
from svctoolkit.apply.remarks import Review
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline.rules import required_consents
from svctoolkit.rudder_cli import imports_of
from svctoolkit.workspace import Workspace

_SAMPLES: Final = ("track", "identify", "page")
#: Keys that decide about routing, or whose absence means the same.
_QUIET: Final = ("connection_mode", "use_native_sdk", "consent_management")


def idle_settings(workspace: Workspace) -> Iterator[str]:
    """Yield a line for each setting that acts in client SDKs only, where no SDK sends to the destination."""
    project = workspace.project
    review = Review(workspace, workspace)
    for id_, item in project.every_destination.items() if project else ():
        if not workspace.destinations[id_].enabled:
            continue
        config = item.file.spec.get("config") or {}
        required = item.definition.required if item.definition else frozenset()
        for path, value in _leaves(config):
            if path.split(".")[0] in _QUIET or path in required or value in (False, None, "", {}):
                continue
            reason = review.idle(id_, Detail(f"config.{path}", None, value))
            if reason:
                line, column = item.file.position(("spec", "config", *path.split(".")))
                yield f"{item.file.name}:{line}:{column}: no effect: {reason}"


def _leaves(value: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _leaves(inner, (*path, key))
        else:
            yield ".".join((*path, key)), inner


def failing_code(workspace: Workspace, samples: Sequence[Mapping[str, Json]] = ()) -> Iterator[str]:
    """Yield a line for each transformation that fails for a sample event, or for one of these events."""
    chosen = samples or [events.sample(name) for name in _SAMPLES]
    for key in workspace.transformations:
        try:
            outputs = workspace.transformation(key).run(chosen)
        except ToolkitError as error:
            yield f"transformation {key}: {error}"
            continue
        errors = [output.error for output in outputs if output.error is not None]
        if errors:
            yield f"transformation {key} fails for {len(errors)} of {len(chosen)} sample events: {errors[0]}"


def unused(workspace: Workspace) -> Iterator[str]:
    """Yield a line for each library, plan and source that nothing uses."""
    project = workspace.project
    imported = {name for file in (project.of_kind("transformation") if project else ()) for name in imports_of(file)[1]}
    yield from (f"library {key!r}: no transformation imports it" for key in workspace.libraries if key not in imported)
    planned = {source.tracking_plan for source in workspace.sources.values()}
    yield from (f"tracking plan {key!r}: no source uses it" for key in workspace.tracking_plans if key not in planned)


def unknown_consents(workspace: Workspace, found: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    """Yield a line for each consent that a destination requires and that no event mentions, of some that have any."""
    mentioned = {name for event in found for name in _consents(event)}
    if not mentioned:
        return
    for source in workspace.sources.values():
        for destination in workspace.destinations_of(source):
            for provider, name in required_consents(destination, source.platform):
                if name not in mentioned:
                    yield (
                        f"destination {destination.key!r} requires the consent {name!r} ({provider}) of events of "
                        f"{source.key}, and no event mentions it: it gets them whatever users choose"
                    )


def _consents(event: Mapping[str, Json]) -> Iterator[str]:
    context = event.get("context")
    consent = context.get("consentManagement") if isinstance(context, Mapping) else None
    for key in ("allowedConsentIds", "deniedConsentIds"):
        names = consent.get(key) if isinstance(consent, Mapping) else None
        if isinstance(names, list):
            yield from map(str, names)
        elif isinstance(names, Mapping):
            yield from (str(item) for group in names.values() if isinstance(group, list) for item in group)
