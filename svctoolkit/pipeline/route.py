"""Where an event goes. Looked up and checked once, before the first event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from svctoolkit.delivery import Answer, HttpRequest, parse_body
from svctoolkit.destinations import CATALOGUE, DestinationMapping, DestinationType, definitions
from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker
from svctoolkit.transformations import Runnable
from svctoolkit.warehouse import is_warehouse
from svctoolkit.workspace import Destination, Transformation, UserCode, Workspace, config_secrets

if TYPE_CHECKING:
    from svctoolkit.warehouse import Tables


@dataclass(frozen=True, slots=True)
class Route:
    """A destination, its mapping with parsed settings, and the user's code that runs before it, ready to run.

    A warehouse has `tables` instead of a mapping, because it receives rows. A destination that is not simulated has
    neither: only the user's code runs, and `unmapped` says why.
    `at_router`: its payloads are made at the router, from events that arrive there together. `shares`: several of them
    may share a request. `config` is the configuration that it was prepared with. `looks_up`: the mapping may ask the
    destination's server before it makes a request.
    """

    workspace: Workspace
    destination: Destination
    mapping: DestinationMapping | None
    tables: Tables | None
    unmapped: str
    transformation: Transformation | None
    code: Runnable | None
    masker: Masker
    at_router: bool
    shares: bool
    config: Mapping[str, Any]
    looks_up: bool = False

    @property
    def type(self) -> DestinationType:
        """The destination's type. Only for a route with a mapping."""
        return CATALOGUE[self.destination.type]

    @property
    def runs_function(self) -> bool:
        """Whether the transformation is a Python function, which runs in this process without a sandbox."""
        return self.transformation is not None and self.transformation.function is not None

    def with_config(self, config: Mapping[str, Json]) -> Route:
        """Return the same route with another configuration. Raises `InvalidConfig` for invalid values."""
        if self.tables is not None:
            return replace(self, tables=_tables(self.workspace, self.destination, config), config=config)
        return replace(self, mapping=self.type.prepare(config), config=config)

    def answer(self, request: HttpRequest, failed: Sequence[int] = ()) -> Answer | None:
        """Return the response of the destination's own server, if its type defines one: success, or one to a batch that
        rejects the items at the positions in `failed`.
        """
        if self.mapping is None:
            return None
        type_, items = self.type, None
        if type_.answers_items:
            items = type_.batch_answer(request.url, parse_body(request.body), failed)
        if items is None and failed:
            return None
        for answer in [items] if items else type_.answers:
            if answer.name in ("success", "partial") and answer.at in request.url:
                return Answer(answer.status, answer.body, dict(answer.headers))
        return None


def route(
    workspace: Workspace,
    destination: Destination,
    user_code: UserCode,
    overrides: Mapping[str, Json] | None = None,
) -> Route:
    """Return the route to a destination. `overrides` replaces configuration variables key by key.

    Raises `UnknownName` for an unknown type or a missing transformation, `InvalidConfig` for invalid values.
    """
    config = {**destination.config, **(overrides or {})}
    tables = _tables(workspace, destination, config) if is_warehouse(destination.type) else None
    unmapped = "" if tables else definitions.reason_unsent(destination.type, config, workspace.delivery.mode)
    mapping = (
        None
        if unmapped or tables
        else CATALOGUE[destination.type].prepare(definitions.with_choices(destination.type, config))
    )
    transformation = workspace.transformation(destination.transformation) if destination.transformation else None
    return Route(
        workspace=workspace,
        destination=destination,
        mapping=mapping,
        tables=tables,
        unmapped=unmapped,
        transformation=transformation,
        code=user_code.runnable(transformation) if transformation else None,
        at_router=definitions.get(destination.type).transform_at == "router",
        shares=definitions.shares_requests(destination.type),
        config=config,
        looks_up=mapping is not None and "lookup" in CATALOGUE[destination.type].needs,
        masker=Masker.of(
            [
                *workspace.secrets(),
                *(mapping.secrets() if mapping else ()),
                *config_secrets(destination.type, config),
            ]
        ),
    )


def _tables(workspace: Workspace, destination: Destination, config: Mapping[str, Json]) -> Tables:
    from svctoolkit.warehouse import Tables  # 10 ms, and few destinations are warehouses

    return Tables(destination.type, config, settings=workspace.warehouses.for_rows())


class Routes:
    """The routes of a workspace. Each is cached until its destination, the user's code or any secret changes."""

    def __init__(self, workspace: Workspace, user_code: UserCode) -> None:
        self._workspace, self._user_code = workspace, user_code
        self._routes: dict[str, tuple[Any, Route]] = {}

    def route(self, destination: Destination) -> Route:
        """Return the route to a destination in the current workspace. Raises what `route` raises."""
        entry = self._routes.get(destination.key)
        if entry is not None:
            known_state, known = entry
            if known.destination is destination and known_state == self._state(destination, destination.config):
                return known
        # A copy: a caller may change the configuration in place, and the same object would compare equal. Taken before
        # the route is prepared: what another thread changes meanwhile makes the route stale, and is noticed.
        state = self._state(destination, deepcopy(destination.config))
        fresh = route(self._workspace, destination, self._user_code)
        self._routes[destination.key] = state, fresh
        return fresh

    def _state(self, destination: Destination, config: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return a value that stays equal as long as nothing that the route depends on has changed."""
        workspace = self._workspace
        transformation = workspace.transformations.get(destination.transformation or "")
        code = self._user_code.source(transformation) if transformation else None
        kind = destination.type in CATALOGUE and CATALOGUE[destination.type]  # a notebook may redefine it
        of_workspace = (workspace.masker, workspace.warehouses, workspace.delivery.mode)
        return kind, config, destination.transformation, code, *of_workspace
