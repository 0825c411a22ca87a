"""Where events go in a replay: the routes of one workspace, or of two side by side."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from svctoolkit.delivery import Recorder, Sender, Transport
from svctoolkit.destinations import Context
from svctoolkit.errors import ConfigError, UnknownName, Unsupported
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Route, Stages, check_runs, route, run_many
from svctoolkit.pipeline.outside import lookup_through, transport_of
from svctoolkit.results import EventResult
from svctoolkit.secrets import reveal, with_values
from svctoolkit.transformations import Metadata, Output, Runnable
from svctoolkit.workspace import Destination, Source, Transformation, UserCode, Workspace


@dataclass(frozen=True, slots=True)
class Selection:
    """Which destinations take part: by key, in order. `left_out` says why others do not."""

    destinations: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def select(sides: Sequence[Workspace], destinations: Sequence[str] | None, source: str | None) -> Selection:
    """The destinations of a replay, checked.

    Raises `UnknownName`, `InvalidConfig`, or `Unsupported` for one that is named.
    """
    if source is not None and not any(_has(side.sources, source) for side in sides):
        raise UnknownName("source", source, [key for side in sides for key in side.sources])
    for key in destinations or ():
        if not any(_has(side.destinations, key) for side in sides):
            raise UnknownName("destination", key, [name for side in sides for name in side.destinations])
    left_out: dict[str, str] = {}
    chosen: dict[str, None] = {}
    for side in reversed(sides):
        for destination in _candidates(side, destinations, source):
            try:
                _check(side, destination)
                chosen[destination.key] = None
            except Unsupported as error:
                if destinations is not None:
                    raise
                left_out[destination.key] = str(error)
    keys = tuple(key for key in chosen if key not in left_out)
    if not keys:
        reasons = "".join(f"\n{key}: {reason}" for key, reason in left_out.items())
        raise ConfigError(f"there is no enabled destination to replay to{reasons}")
    return Selection(keys, left_out)


def _candidates(side: Workspace, destinations: Sequence[str] | None, source: str | None) -> list[Destination]:
    if destinations is not None:
        return [side.destination(key) for key in destinations if _has(side.destinations, key)]
    if source is not None and not _has(side.sources, source):
        return []
    candidates = side.destinations_of(side.source(source)) if source is not None else side.destinations.values()
    return [destination for destination in candidates if destination.enabled]


def _has(items: Mapping[str, Any], key: str) -> bool:
    return key in items or any(item.id == key for item in items.values())


def _check(side: Workspace, destination: Destination) -> None:
    """Everything but the code: what is wrong with that is told event by event."""
    if destination.transformation is not None:
        side.transformation(destination.transformation)
    check_runs(destination.type)
    route(side, replace(destination, transformation=None), UserCode(side, Recorder(limit=0)))


def offline_transport(workspace: Workspace, transport: Transport | None, stages: Stages) -> Transport:
    """What answers requests in place of the network: `transport`, the workspace's cassette, or a recorder.

    Raises `ConfigError` where only the network could answer what `stages` send.
    """
    if transport is not None:
        return transport
    setting = workspace.delivery_setting()
    offline = workspace.delivery_mode.offline(setting)
    if offline is not None:
        return offline
    if stages.send_to_destination:
        mode, description = workspace.delivery.mode, workspace.delivery_mode.describe(setting)
        raise ConfigError(
            f"a replay never sends, and workspace {workspace.name!r} has the delivery mode {mode}: {description}. "
            "Leave send_to_destination off, set the delivery mode to record, or give a transport that answers"
        )
    return Recorder(limit=0)


class Side:
    """One workspace, ready to run events. `transport` answers every request: of deliveries, mappings and user code."""

    def __init__(self, workspace: Workspace, transport: Transport) -> None:
        self.workspace, self._transport = workspace, transport
        self._code = UserCode(workspace, Recorder(limit=0), transport=transport)
        self.lookup = lookup_through(lambda: self._sender(transport))
        self._routes: dict[str, Route | None] = {}

    def _sender(self, transport: Transport) -> Sender:
        return Sender(transport, timeout=self.workspace.delivery.timeout)

    def route(self, key: str) -> Route | None:
        """The route to a destination; None where it is not there or disabled."""
        if key not in self._routes:
            destination = self.workspace.destinations.get(key)
            self._routes[key] = (
                route(self.workspace, destination, self._code) if destination and destination.enabled else None
            )
        return self._routes[key]

    def share(self, key: str, other: Side) -> bool:
        """Whether both sides have the same user code for this destination; it runs once for both from then on."""
        own, theirs = self.route(key), other.route(key)
        if own is None or theirs is None:
            return own is theirs
        if _code(self.workspace, own.transformation) != _code(other.workspace, theirs.transformation):
            return False
        if own.code is not None:
            memo = _Memo(own.code)
            self._routes[key], other._routes[key] = replace(own, code=memo), replace(theirs, code=memo)
        return True

    def identity(self, key: str, source: str) -> Json:
        """What decides, beside the user's code, what becomes of an event of a source at a destination."""
        to, origin = self.route(key), self.source(source)
        if to is None or not self._reaches(to, source):
            return None
        return self.workspace.name, _settings(to.destination), origin and (origin.id, origin.name, origin.type)

    def _reaches(self, to: Route, source: str) -> bool:
        """Events of a source go where it is connected; in a workspace without sources they go everywhere."""
        if not source or not self.workspace.sources:
            return True
        origin = self.source(source)
        return origin is not None and to.destination in self.workspace.destinations_of(origin)

    def source(self, key: str) -> Source | None:
        return self.workspace.source(key) if key and _has(self.workspace.sources, key) else None

    def run(
        self, key: str, events: Sequence[Mapping[str, Json]], stages: Stages, contexts: Sequence[Context], source: str
    ) -> list[list[EventResult]] | None:
        """The results of each event; None where events do not go to this destination."""
        to = self.route(key)
        if to is None or not self._reaches(to, source):
            return None
        sender = self._sender(transport_of(to, self._transport))
        return run_many(events, to, stages, sender, contexts, self.source(source))


class _Memo:
    """Runs the user's code once for the two sides of a comparison."""

    def __init__(self, code: Runnable) -> None:
        self._code, self.wants_metadata = code, code.wants_metadata
        self._events: Sequence[Mapping[str, Any]] = ()
        self._metadata: Sequence[Metadata] = ()
        self._outputs: list[Output] = []

    def run(self, events: Sequence[Mapping[str, Any]], metadata: Sequence[Metadata]) -> list[Output]:
        if events is not self._events or metadata != self._metadata:
            self._outputs = self._code.run(events, metadata)
            self._events, self._metadata = events, metadata
        return self._outputs


def _settings(destination: Destination) -> Any:
    return destination.id, destination.name, destination.type, reveal(destination.config)


def _code(workspace: Workspace, transformation: Transformation | None) -> Any:
    """Everything that makes user code what it is; two that are equal behave alike."""
    if transformation is None:
        return None
    libraries = {key: (library.language, library.code) for key, library in workspace.libraries.items()}
    ids = (transformation.id, transformation.version_id)
    return (
        ids,
        transformation.function,
        transformation.language,
        transformation.code,
        libraries,
        reveal(workspace.credentials),
        workspace.limits,
    )


def fingerprint(workspace: Workspace) -> str:
    """What tells one workspace from another, for a replay. Secrets cannot be read from it."""
    facts = {
        "name": workspace.name,
        "sources": [
            [s.id, s.name, s.enabled, [[c.destination, c.enabled] for c in s.connections]]
            for s in _all(workspace.sources)
        ],
        "destinations": [[d.key, d.enabled, d.transformation, *_settings(d)] for d in _all(workspace.destinations)],
        "transformations": [[t.key, t.id, t.language, t.code, _function(t)] for t in _all(workspace.transformations)],
        "libraries": [[library.key, library.language, library.code] for library in _all(workspace.libraries)],
        "credentials": reveal(workspace.credentials),
        "limits": repr(workspace.limits),
        "delivery": repr(workspace.delivery),
    }
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _all(items: Mapping[str, Any]) -> Iterable[Any]:
    return items.values()


def _function(transformation: Transformation) -> list[str]:
    if transformation.function is None:
        return []
    code = getattr(transformation.function, "__code__", None)
    return (
        [getattr(transformation.function, "__qualname__", ""), *_constants(code)]
        if code
        else [repr(transformation.function)]
    )


def _constants(code: Any) -> Iterator[str]:
    yield code.co_code.hex()
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from _constants(constant)
        else:
            yield repr(constant)


def serialize(value: Json) -> bytes:
    """`value` for another process. Raises `ConfigError` for what cannot go there."""
    try:
        with with_values():
            return bytes(_dumps()(value))
    except Exception as error:  # noqa: BLE001 - whatever an object raises that cannot be copied
        raise ConfigError(
            f"this workspace cannot go to another process: {error}. Use workers=1, write the transformation as code, "
            "or install svctoolkit[dask], which sends functions of a notebook as well"
        ) from None


def _dumps() -> Callable[[Any], bytes]:
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps
    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    return dumps
