"""Regulations over HTTP: RudderStack's operation that creates one, and the state of its jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.errors import InvalidDeletion, RequestError, UnknownName
from svctoolkit.server.inspect.parameters import only, text_parameter
from svctoolkit.server.regulations.model import Regulation
from svctoolkit.server.regulations.parse import USERS_SCHEMA, can_delete
from svctoolkit.server.regulations.worker import Regulations
from svctoolkit.server.web.guard import Guard
from svctoolkit.server.web.json import convert, refuse
from svctoolkit.server.web.operation import Operation, Parameter, ResponseDoc
from svctoolkit.server.web.requests import read_object, run_of
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import Destination


class NewRegulation(Struct, frozen=True, forbid_unknown_fields=True):
    """Users to delete, and where."""

    regulationType: Annotated[  # noqa: N815 - as RudderStack spells it
        Literal["suppress_with_delete"],
        Meta(description="Users are deleted. Their later events are not suppressed here."),
    ]
    users: Annotated[
        list[dict[str, str]],
        Meta(min_length=1, description="Each with `userId`, and other attributes such as `email` and `phone`."),
    ]
    destinationIds: Annotated[  # noqa: N815
        list[str] | None, Meta(description="Keys or ids; by default all destinations whose type can delete users.")
    ] = None


class RegulationList(Struct, frozen=True):
    """Regulations, oldest first."""

    items: list[Regulation]


class RegulationRoutes:
    """The operations on regulations. Secrets are masked."""

    def __init__(self, engine: Engine, regulations: Regulations, guard: Guard) -> None:
        self._engine, self._regulations, self._guard = engine, regulations, guard

    async def create(self, request: Request) -> Response:
        raw, _ = await read_object(request)
        if raw.get("regulationType") == "suppress":
            refuse('regulationType "suppress" is not supported: events are not suppressed here')
        try:
            new = convert(raw, NewRegulation)
            if new.destinationIds is None and not any(can_delete(one.type) for one in self._destinations()):
                refuse("no destination of the workspace can delete users", status=409)
            add = self._regulations.add
            regulation = await asyncio.to_thread(add, list(new.users), new.destinationIds, run_of(request))
        except (msgspec.ValidationError, InvalidDeletion) as error:
            refuse(f"the body is invalid: {error}")
        except UnknownName as error:
            raise RequestError(404, {"message": str(error)}) from error
        return json_response(self._shown(regulation))

    def _destinations(self) -> Iterable[Destination]:
        return self._engine.workspace.destinations.values()

    async def all(self, request: Request) -> Response:
        query = dict(request.query_params)
        run = query.pop("run", None)
        only(query, "run")
        return json_response({"items": [self._shown(one) for one in self._regulations.of_run(run)]})

    async def one(self, request: Request) -> Response:
        only(dict(request.query_params))
        regulation = self._regulations.find(request.path_params["id"])
        if regulation is None:
            raise RequestError(404, {"message": f"there is no regulation {request.path_params['id'][:100]!r}"})
        return json_response(self._shown(regulation))

    # Any: JSON of a regulation
    def _shown(self, regulation: Regulation) -> Any:
        return self._engine.masker().mask(msgspec.to_builtins(regulation))

    def operations(self, destination: str) -> list[Operation]:
        """Return the operations; `destination` is a key for their example."""
        refusals = {
            400: ResponseDoc("A parameter or the body is invalid.", (Refusal,)),
            401: ResponseDoc("Credentials are wrong, or missing although they are required.", (Refusal,)),
        }
        missing = {404: ResponseDoc("The regulation or a destination does not exist.", (Refusal,))}
        return [
            Operation(
                method="POST",
                path="/v2/regulations",
                id="createRegulation",
                summary="Delete users at destinations",
                description="RudderStack's operation of the same path. Each destination gets a job, which is tried up "
                "to four times in the background.",
                handle=self._guard.always(self.create),
                login="token",
                body=NewRegulation,
                rules={"properties": {"users": USERS_SCHEMA, "destinationIds": {"minItems": 1}}},
                example=lambda: {
                    "regulationType": "suppress_with_delete",
                    "destinationIds": [destination],
                    "users": [{"userId": "u1", "email": "u1@mail.example"}],
                },
                responses={
                    200: ResponseDoc("The regulation with its jobs.", (Regulation,)),
                    409: ResponseDoc("No destination of the workspace can delete users.", (Refusal,)),
                    413: ResponseDoc("The body is too large.", (Refusal,)),
                    415: ResponseDoc("The Content-Type or the encoding is not supported.", (Refusal,)),
                    **missing,
                    **refusals,
                },
            ),
            Operation(
                method="GET",
                path="/inspect/regulations",
                id="inspectRegulations",
                summary="List regulations",
                description="Requests to delete users, with their jobs, tries and requests.",
                handle=self._guard.local(self.all),
                login="local",
                parameters=(text_parameter("run", "Only of this run."),),
                responses={200: ResponseDoc("The regulations, oldest first.", (RegulationList,)), **refusals},
            ),
            Operation(
                method="GET",
                path="/inspect/regulations/{id}",
                id="inspectRegulation",
                summary="One regulation",
                description="A request to delete users, with its jobs, tries and requests.",
                handle=self._guard.local(self.one),
                login="local",
                parameters=(Parameter("id", "path", "The regulation's id.", {"type": "string"}),),
                responses={200: ResponseDoc("The regulation.", (Regulation,)), **missing, **refusals},
            ),
        ]
