"""Where an event goes: looked up and checked once, before the first event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svctoolkit.delivery import Answer
from svctoolkit.destinations import CATALOGUE, DestinationType, Settings, definitions
from svctoolkit.secrets import Masker, revealed, secret_texts
from svctoolkit.transformations import Runnable
from svctoolkit.workspace import Destination, Transformation, UserCode, Workspace


@dataclass(frozen=True, slots=True)
class Route:
    """A destination, its type and settings, and the user's code in front of it, ready to run."""

    workspace: Workspace
    destination: Destination
    type: DestinationType
    settings: Settings
    transformation: Transformation | None
    code: Runnable | None
    masker: Masker

    def success(self, url: str) -> Answer | None:
        """What the destination's own server says at `url` when all is well, where its type knows it."""
        for known in self.type.answers:
            if known.name == "success" and known.at in url:
                return Answer(known.status, known.body, dict(known.headers))
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
    settings = kind.configure(config)
    transformation = workspace.transformation(destination.transformation) if destination.transformation else None
    secrets = {*settings.secrets(), *secret_texts(config), *definitions.secret_values(destination.type, config)}
    return Route(
        workspace=workspace,
        destination=destination,
        type=kind,
        settings=settings,
        transformation=transformation,
        code=user_code.runnable(transformation) if transformation else None,
        masker=Masker({*secrets, *map(str, map(revealed, workspace.credentials.values()))}),
    )
