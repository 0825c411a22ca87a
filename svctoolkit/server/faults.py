"""Fault profiles over HTTP: which are switched on, what they have done, and switching them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.delivery.faults import FaultInjector, Faults, FaultState, Kind
from svctoolkit.errors import RequestError, UnknownName, UsageError
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.server.inspect.parameters import only, text_parameter
from svctoolkit.server.web.guard import Guard
from svctoolkit.server.web.json import convert, refuse
from svctoolkit.server.web.operation import Operation, ResponseDoc
from svctoolkit.server.web.requests import read_object, run_name
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.worker import Engine
from svctoolkit.workspace import Workspace


class FaultItem(Struct, frozen=True):
    """A fault profile that is switched on at a destination or a source, and what it has done.

    `name` is empty for a profile that the workspace does not have, `run` for all runs. `seconds` is the latency of all
    requests together.
    """

    kind: Kind
    key: str
    run: str
    name: str
    profile: Faults
    since: str
    is_down: bool
    requests: int
    errors: int
    closed: int
    seconds: float


class FaultList(Struct, frozen=True):
    """The names of the workspace's fault profiles, and the profiles that are switched on."""

    profiles: list[str]
    items: list[FaultItem]


class FaultSwitch(Struct, frozen=True, forbid_unknown_fields=True):
    """The fault profile of a destination or of the ingestion of a source."""

    profile: Annotated[
        str | Faults | None,
        Meta(
            description="The name of a profile in the workspace, or a profile; null: none, whatever the workspace says."
        ),
    ]
    destination: Annotated[str, Meta(description="Key or id of a destination.")] = ""
    source: Annotated[str, Meta(description="Key or id of a source.")] = ""
    run: Annotated[str, Meta(description="Only for requests of this run, and of the runs within it (`run/...`).")] = ""


_TARGETS = [
    {"required": ["destination"], "properties": {"destination": {"minLength": 1}, "source": {"maxLength": 0}}},
    {"required": ["source"], "properties": {"source": {"minLength": 1}, "destination": {"maxLength": 0}}},
]


def switch(
    faults: FaultInjector,
    workspace: Workspace,
    profile: str | Faults | None,
    *,
    destination: str | None,
    source: str | None,
    run: str,
) -> None:
    """Switch a profile on (None: off) at a destination or a source (keys or ids).

    Raises `UnknownName`, and `UsageError` for a profile that makes no sense, or unless exactly one place is given.
    """
    if (destination is None) == (source is None):
        raise UsageError("give either a destination or a source")
    if destination is not None:
        faults.switch("destination", workspace.target_key(destination), profile, run)
    elif source is not None:
        faults.switch("source", workspace.source(source).key, profile, run)


def fault_items(engine: Engine) -> list[FaultItem]:
    """Return the profiles that are switched on."""
    return [_item(state) for state in engine.faults.states()]


def _item(state: FaultState) -> FaultItem:
    members = {name: getattr(state, name) for name in FaultItem.__struct_fields__}
    return FaultItem(**members | {"since": iso(state.since)})


class FaultRoutes:
    """The operations on fault profiles."""

    def __init__(self, engine: Engine, guard: Guard) -> None:
        self._engine, self._guard = engine, guard

    async def list_all(self, request: Request) -> Response:
        only(dict(request.query_params))
        return json_response(self._all())

    def _all(self) -> Json:
        shown = FaultList([*self._engine.workspace.faults.profiles], fault_items(self._engine))
        return self._engine.masker().mask(msgspec.to_builtins(shown))

    async def set(self, request: Request) -> Response:
        raw, _ = await read_object(request)
        try:
            body = convert(raw, FaultSwitch)
        except msgspec.ValidationError as error:
            refuse(f"the body is invalid: {error}")
        if bool(body.destination) == bool(body.source):
            refuse("the body must have either a destination or a source")
        place: dict[str, Any] = {"destination": body.destination or None, "source": body.source or None}
        try:
            switch(self._engine.faults, self._engine.workspace, body.profile, **place, run=run_name(body.run))
        except UnknownName as error:
            raise RequestError(404, {"message": str(error)}) from error
        except UsageError as error:
            raise RequestError(409, {"message": str(error)}) from error
        self._engine.notifier.notify()
        return json_response(self._all())

    async def reset(self, request: Request) -> Response:
        query = dict(request.query_params)
        run = query.pop("run", "")
        only(query, "run")
        self._engine.faults.reset(run_name(run))
        return json_response(self._all())

    def operations(self, destination: str) -> list[Operation]:
        """Return the operations; `destination` is a key for their examples."""
        refusals = {
            400: ResponseDoc("The body or a parameter is invalid.", (Refusal,)),
            401: ResponseDoc("Credentials are wrong, or missing although they are required.", (Refusal,)),
        }
        listed = {200: ResponseDoc("The profiles that are switched on.", (FaultList,)), **refusals}
        flaky = {"latency": {"lognormal": {"median": 0.2, "p95": 2}}, "errors": {"share": 0.1, "statuses": [503]}}
        about = "Latencies, errors, closed connections and periods without service, at random but repeatable."
        return [
            Operation(
                method="GET", path="/inspect/faults", id="inspectFaults", summary="List fault profiles",
                description=about, handle=self._guard.local(self.list_all), login="local", responses=listed,
            ),
            Operation(
                method="POST", path="/admin/faults", id="switchFaults", summary="Switch a fault profile on or off",
                description=f"{about} At a destination, or for the requests of a source's clients.",
                handle=self._guard.always(self.set), login="token", body=FaultSwitch, rules={"oneOf": _TARGETS},
                example=lambda: {"destination": destination, "profile": flaky},
                responses={
                    **listed,
                    404: ResponseDoc("The destination, the source or the profile does not exist.", (Refusal,)),
                    409: ResponseDoc("The profile contradicts itself.", (Refusal,)),
                    413: ResponseDoc("The body is too large.", (Refusal,)),
                    415: ResponseDoc("The Content-Type or the encoding is not supported.", (Refusal,)),
                },
            ),
            Operation(
                method="DELETE", path="/admin/faults", id="resetFaults", summary="Reset fault profiles",
                description="Returns to the profiles that the workspace names; their counts and times start again.",
                handle=self._guard.always(self.reset), login="token",
                parameters=(text_parameter("run", "Only what was switched for this run, and the runs within it."),),
                responses=listed,
            ),
        ]  # fmt: skip
