"""Where an event goes: looked up and checked once, before the first event."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from svctoolkit.delivery import Answer
from svctoolkit.destinations import CATALOGUE, DestinationMapping, DestinationType, definitions
from svctoolkit.secrets import Masker
from svctoolkit.transformations import Runnable
from svctoolkit.workspace import Destination, Transformation, UserCode, Workspace, config_secrets


@dataclass(frozen=True, slots=True)
class Route:
    """A destination, its mapping with the settings read, and the user's code in front of it, ready to run."""

    workspace: Workspace
    destination: Destination
    type: DestinationType
    mapping: DestinationMapping
    transformation: Transformation | None
    code: Runnable | None
    masker: Masker

    def success(self, url: str) -> Answer | None:
        """What the destination's own server says at `url` when all is well, where its type knows it."""
        for answer in self.type.answers:
            if answer.name == "success" and answer.at in url:
                return Answer(answer.status, answer.body, dict(answer.headers))
        return None


def route(
    workspace: Workspace,
    destination: Destination,
    user_code: UserCode,
    overrides: Mapping[str, Any] | None = None,
) -> Route:
    """The route to a destination; `overrides` replaces configuration variables key by key.

    Raises `Unsupported` for types that cannot be tested or have no mapping yet, `UnknownName` for types that nobody
    knows, `InvalidConfig` for values that do not fit, `UnknownName` for a transformation that is not there.
    """
    definitions.check_supported(destination.type)
    config = {**destination.config, **(overrides or {})}
    kind = CATALOGUE[destination.type]
    mapping = kind.prepare(config)
    transformation = workspace.transformation(destination.transformation) if destination.transformation else None
    return Route(
        workspace=workspace,
        destination=destination,
        type=kind,
        mapping=mapping,
        transformation=transformation,
        code=user_code.runnable(transformation) if transformation else None,
        masker=Masker.of([*workspace.secrets(), *mapping.secrets(), *config_secrets(destination.type, config)]),
    )


class Routes:
    """The routes of a workspace: each is kept until its destination, the user's code or a credential changes."""

    def __init__(self, workspace: Workspace, user_code: UserCode) -> None:
        self._workspace, self._user_code = workspace, user_code
        self._routes: dict[str, tuple[Any, Route]] = {}

    def route(self, destination: Destination) -> Route:
        """The route to a destination as the workspace is now. Raises what `route` raises."""
        state = self._state(destination, destination.config)
        entry = self._routes.get(destination.key)
        if entry is not None and entry[0] == state:
            return entry[1]
        fresh = route(self._workspace, destination, self._user_code)
        # A copy: who changes a configuration may change the object itself, and that would be equal to itself.
        self._routes[destination.key] = self._state(destination, deepcopy(destination.config)), fresh
        return fresh

    def _state(self, destination: Destination, config: Mapping[str, Any]) -> tuple[Any, ...]:
        """Equal as long as nothing has changed that a route is made of."""
        workspace = self._workspace
        transformation = workspace.transformations.get(destination.transformation or "")
        code = self._user_code.source(transformation) if transformation else None
        kind = destination.type in CATALOGUE and CATALOGUE[destination.type]  # a notebook may add it again
        return kind, config, destination.transformation, code, dict(workspace.credentials), id(destination)
