"""`destination-definitions`: the configuration options of each destination type. Public, and cached by ETag."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.destinations import definitions
from svctoolkit.errors import UnknownName
from svctoolkit.json_codec import encode
from svctoolkit.server.test_api.schemas import DestinationDefinition
from svctoolkit.server.web.json import refuse
from svctoolkit.server.web.operation import Operation, Parameter, ResponseDoc
from svctoolkit.server.web.responses import Refusal


class Definitions:
    """The definitions of the catalogue, encoded once."""

    async def all(self, request: Request) -> Response:
        return _etag_response(request, self._all)

    async def one(self, request: Request) -> Response:
        try:
            definition = definitions.get(request.path_params["name"])
        except UnknownName as error:
            refuse(str(error), status=404)
        return _etag_response(request, encode(definition.to_dict()))

    @cached_property
    def _all(self) -> bytes:
        return encode([definition.to_dict() for definition in definitions.all()])

    def operations(self) -> list[Operation]:
        etag = Parameter("If-None-Match", "header", "The ETag of an earlier answer.", {"type": "string"})
        unchanged = ResponseDoc("Unchanged since the answer with this ETag.")
        return [
            Operation(
                method="GET",
                path="/destination-definitions",
                id="destinationDefinitions",
                summary="List the destination types",
                description="Every destination type with its configuration variables: "
                "`config.destConfig.defaultConfig` has the names that `destinationConfig` accepts.",
                handle=self.all,
                parameters=(etag,),
                responses={
                    200: ResponseDoc("All types, by name.", (DestinationDefinition,), many=True, example=_example_list),
                    304: unchanged,
                },
                login="none",
            ),
            Operation(
                method="GET",
                path="/destination-definitions/{name}",
                id="destinationDefinition",
                summary="Get one destination type",
                description="The definition of one destination type.",
                handle=self.one,
                parameters=(
                    Parameter("name", "path", "The type's name, in capitals.", {"type": "string"}, "WEBHOOK"),
                    etag,
                ),
                responses={
                    200: ResponseDoc("The type.", (DestinationDefinition,), example=_example),
                    304: unchanged,
                    404: ResponseDoc("No type has this name.", (Refusal,)),
                },
                login="none",
            ),
        ]


def _etag_response(request: Request, content: bytes) -> Response:
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    tags = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if tags & {etag, "*"}:
        return Response(status_code=304, headers=headers)
    return Response(content, 200, headers, "application/json")


def _example() -> dict[str, Any]:
    return definitions.get("WEBHOOK").to_dict()


def _example_list() -> list[dict[str, Any]]:
    return [_example()]
