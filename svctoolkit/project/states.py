"""What will happen to the events of each destination of an imported workspace, and what it needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from svctoolkit import events
from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.errors import ToolkitError, UnknownName
from svctoolkit.pipeline.rules import connection_mode
from svctoolkit.project.literals import settings_literals
from svctoolkit.secrets import reveal
from svctoolkit.simulations import is_simulated
from svctoolkit.warehouse import is_warehouse
from svctoolkit.workspace import Destination, Workspace

Kind = Literal[
    "runs",
    "mapped only",
    "warehouse",
    "code only",
    "device mode",
    "not sent",
    "disabled",
    "waits",
    "endless",
    "invalid settings",
    "unknown type",
]
#: Kinds whose events reach a stage that a suite can show.
TESTED: frozenset[Kind] = frozenset({"runs", "mapped only", "warehouse", "code only"})


@dataclass(frozen=True, slots=True)
class State:
    """What happens to a destination's events here. `text` says it, and `notes` what else is to be known."""

    kind: Kind
    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needs:
    """What a mapping asks for beyond event and settings: names of its account's tokens, and hosts of its look-ups.

    `endpoint`: its payloads have no endpoint, because RudderStack's delivery looks it up.
    """

    tokens: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    endpoint: bool = False


def states(workspace: Workspace) -> dict[str, State]:
    """Return the state of each destination, by its key."""
    return {key: _state(workspace, destination) for key, destination in workspace.destinations.items()}


def _state(workspace: Workspace, destination: Destination) -> State:
    if not destination.enabled:
        return State("disabled", "disabled: gets no events")
    code = workspace.transformations.get(destination.transformation or "")
    if code is not None and not code.code:
        return State("waits", f"waits for the code of transformation {code.name!r}")
    code_notes = tuple(_code_notes(workspace, destination))
    if code is not None and workspace.patience is not None and workspace.patience.has_given_up(code.key):
        return State("endless", f"not tested: its transformation {code.name!r} does not end")
    notes = (*code_notes, *_connection_notes(workspace, destination))
    try:
        if is_warehouse(destination.type):
            return State("warehouse", "warehouse: events become rows of tables (`svctoolkit warehouse`)", notes)
        reason = definitions.reason_unmapped(destination.type)
        if destination.type in CATALOGUE and not reason:
            CATALOGUE[destination.type].prepare(definitions.with_choices(destination.type, destination.config))
    except UnknownName:
        return State("unknown type", f"unknown destination type {destination.type}: its events are not mapped", notes)
    except ToolkitError as error:
        problem = workspace.masker.text(str(error)).splitlines()[0]
        return State("invalid settings", f"invalid settings: {problem}", notes)
    if reason:
        return _unmapped(destination, reason, notes, with_code=code is not None)
    needs = needs_of(destination)
    notes = (*_need_notes(workspace, destination, needs), *notes)
    if needs.endpoint:
        return State("mapped only", "mapped, not delivered: RudderStack looks up the endpoint on delivery", notes)
    return State("runs", "runs", (*_simulation_notes(workspace, destination), *notes))


def _simulation_notes(workspace: Workspace, destination: Destination) -> Iterator[str]:
    if not is_simulated(destination.type):
        return
    level = workspace.simulation_level(destination)
    if level == "answers":
        yield "its server can be simulated: set `simulate: simulated`, or use --simulate"
    else:
        yield "its server is simulated" + (f" ({level})" if level == "strict" else "")


def _unmapped(destination: Destination, reason: str, notes: tuple[str, ...], *, with_code: bool) -> State:
    if with_code:
        return State("code only", f"only its transformation runs: {reason}", notes)
    modes = definitions.get(destination.type).modes
    device = bool(modes) and not {"cloud", "hybrid"} & set(modes)
    return State("device mode" if device else "not sent", reason, notes)


def _need_notes(workspace: Workspace, destination: Destination, needs: Needs) -> Iterator[str]:
    """Yield what a destination that runs needs from outside."""
    if needs.tokens:
        account = workspace.account_of(destination)
        names = ", ".join(needs.tokens)
        if account is None:
            yield f"needs an OAuth account ({names}): add it under `accounts`"
        else:
            yield f"delivers with the OAuth account {account.key!r}: live requests need its real {names}"
    if needs.hosts:
        yield f"looks things up at {', '.join(needs.hosts)}; here the recorder answers"


def _code_notes(workspace: Workspace, destination: Destination) -> Iterator[str]:
    """Yield what the destination's transformation fails with, if it fails for every sample event."""
    if destination.transformation in workspace.transformations:
        code = workspace.transformation(destination.transformation)
        errors = [code.run(events.sample(type)).error for type in events.EVENT_TYPES]
        first = next((error for error in errors if error is not None), None)
        if first is not None and all(errors):
            reason = workspace.masker.text(str(first)).splitlines()[0]
            yield f"its transformation fails for every sample event: {reason}"


def _connection_notes(workspace: Workspace, destination: Destination) -> Iterator[str]:
    connections = [
        (source, connection.enabled and source.enabled)
        for source in workspace.sources.values()
        for connection in source.connections
        if connection.destination == destination.key
    ]
    if not any(enabled for _, enabled in connections):
        yield "no source is connected" if not connections else "every connection to it is disabled"
        return
    for source, enabled in connections:
        if not enabled:
            yield f"the connection from {source.name!r} is disabled"
        elif connection_mode(reveal(destination.config), source.platform) == "device":
            yield f"device mode for {source.name!r}: its SDK sends to it"


def needs_of(destination: Destination) -> Needs:
    """Return what the mapping of a destination asks for when it maps sample events. Nothing for an invalid setting."""
    tokens, hosts, payloads = _Tokens(), dict[str, None](), list[dict[str, Any]]()

    def lookup(request: Mapping[str, Any]) -> tuple[int, Any]:
        hosts[urlsplit(str(request.get("url"))).hostname or ""] = None
        return 404, {}

    with suppress(ToolkitError):
        mapping = CATALOGUE[destination.type].prepare(definitions.with_choices(destination.type, destination.config))
        for event in _samples(destination):
            with suppress(ToolkitError):
                payloads += mapping.payloads(event, lookup=lookup, metadata={"secret": tokens})
    endpoint = bool(payloads) and not any(payload.get("endpoint") for payload in payloads)
    return Needs(tuple(tokens.asked), tuple(host for host in hosts if host), endpoint)


def _samples(destination: Destination) -> Iterator[dict[str, Any]]:
    """Yield a sample of each type, and a track event with each name in the settings, as some map only these."""
    for kind in CATALOGUE[destination.type].handlers:
        yield events.sample(kind)
    for text in settings_literals(destination.config).compared:
        yield {**events.sample("track"), "event": text}


class _Tokens(dict[str, str]):
    """Gives any token that it is asked for, and remembers the names."""

    def __init__(self) -> None:
        self.asked: dict[str, None] = {}

    def get(self, name: str, _default: Any = None) -> str:
        self.asked[name] = None
        return f"<{name}>"
