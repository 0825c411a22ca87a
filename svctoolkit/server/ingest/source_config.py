"""Configuration for clients: the source's configuration, and Segment's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svctoolkit import __version__
from svctoolkit.destinations import definitions
from svctoolkit.events.builders import iso
from svctoolkit.secrets import MASK, Masker
from svctoolkit.server.ingest.faults import IngestFaults, answer_of
from svctoolkit.server.ingest.keys import UnknownKeys, basic_user, source_of
from svctoolkit.server.ingest.refusals import GatewayRefusal
from svctoolkit.server.web.requests import run_of
from svctoolkit.server.web.responses import json_response
from svctoolkit.server.web.routes import route
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import Destination, Source

_UPDATED = "2020-01-01T00:00:00.000Z"
_NO_STATISTICS = {"statsCollection": {"errors": {"enabled": False}, "metrics": {"enabled": False}}}


class SourceConfig:
    """`/sourceConfig` and the other operations that clients call before their first event."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._started, self._unknown = engine, iso(engine.clock()), UnknownKeys()
        self._faults = IngestFaults(engine)

    def routes(self) -> list[Route]:
        return [
            route("/sourceConfig", self.source_config),
            route("/sourceConfig/", self.source_config),
            route("/v1/projects/{key}/settings", self.settings),
            route("/version", self.version),
            route("/robots.txt", self.robots),
        ]

    async def source_config(self, request: Request) -> Response:
        """Return the source with its destinations, without their secrets, and whether it is enabled."""
        key = basic_user(request.headers) or request.query_params.get("writeKey", "")
        try:
            source, run = source_of(self._engine.workspace, key, disabled=True)
        except GatewayRefusal as refusal:
            self._unknown.log(self._engine.workspace, refusal.key)
            return json_response({"message": "Invalid write key"}, 400)
        if (fault := await self._faults.meet(request, source.key, run_of(request) or run)) is not None:
            return fault
        return answer_of(request, json_response(self._members(source, key)))

    def _members(self, source: Source, key: str) -> dict[str, Any]:
        workspace = self._engine.workspace
        keys = [connection.destination for connection in source.connections if connection.enabled]
        connected = [workspace.destinations[key] for key in keys if key in workspace.destinations]
        connections = [
            {"id": f"{source.id}-{d.id}", "sourceId": source.id, "destinationId": d.id, "enabled": True}
            for d in connected
        ]
        return {
            "isHosted": True,
            "source": {
                "id": source.id,
                "name": source.name,
                "writeKey": key,
                "enabled": source.enabled,
                "workspaceId": workspace.name,
                "config": _NO_STATISTICS,
                "dataplanes": {},
                "connections": connections,
                "destinations": [_destination(d, source.platform) for d in connected],
                "sourceDefinition": {
                    "name": source.type,
                    "displayName": source.type,
                    "category": source.category or None,
                },
                "createdAt": _UPDATED,
                "updatedAt": self._started,
            },
        }

    async def settings(self, request: Request) -> Response:
        """Return what Segment's browser client needs to send events to this data plane."""
        key = request.path_params["key"]
        try:
            source_of(self._engine.workspace, key)
        except GatewayRefusal as refusal:
            self._unknown.log(self._engine.workspace, refusal.key)
            return refusal.response()
        return json_response({"integrations": {"Segment.io": {"apiKey": key}}})

    async def version(self, _request: Request) -> Response:
        return json_response(
            {"Version": __version__, "Commit": "", "BuildDate": "", "BuiltBy": "svctoolkit", "Features": {}}
        )

    async def robots(self, _request: Request) -> Response:
        return Response("User-agent: * \nDisallow: / \n", media_type="text/plain")


def _destination(destination: Destination, source_type: str) -> dict[str, Any]:
    """Return a destination as clients see it, without secrets, even those in lists."""
    definition = definitions.known(destination.type)
    title = definition.display_name if definition else destination.type
    return {
        "id": destination.id,
        "name": destination.name,
        "enabled": destination.enabled,
        "config": _config(destination, source_type),
        "destinationDefinition": {"name": destination.type, "displayName": title, "updatedAt": _UPDATED},
        "updatedAt": _UPDATED,
        "shouldApplyDeviceModeTransformation": False,
        "propagateEventsUntransformedOnError": False,
    }


def _config(destination: Destination, source_type: str) -> Mapping[str, Any]:
    """Return the configuration for clients: per-source settings reduced to this source type, without secrets.

    For a destination in cloud mode, a client needs only that fact.
    """
    config = {key: _of_source(value, source_type) for key, value in destination.config.items()}
    mode = config.get("connectionMode") or ("device" if config.get("useNativeSDK") is True else "cloud")
    if mode == "cloud":
        config = {key: value for key, value in config.items() if key in definitions.COMMON_VARIABLES}
    secrets = definitions.secret_values(destination.type, destination.config)
    public: dict[str, Any] = _plain(Masker(secrets).mask({**config, "connectionMode": mode}))
    return {key: value for key, value in public.items() if value != MASK}


def _of_source(value: Any, source_type: str) -> Any:
    by_source = isinstance(value, Mapping) and source_type in value
    return value[source_type] if by_source else value


def _plain(value: Any) -> Any:
    """Return the value without `Secret` objects, which clients must not see."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else MASK
