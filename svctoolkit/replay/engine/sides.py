"""The destinations of events in a replay: the routes of one workspace, or of two that are compared."""

from __future__ import annotations

import hashlib
import json
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import msgspec

from svctoolkit.delivery import Recorder, Sender, Transport
from svctoolkit.destinations import Context
from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.json_types import Json
from svctoolkit.personal import PersonalMasker
from svctoolkit.pipeline import Passage, Route, Stages, pass_many, route
from svctoolkit.pipeline.fates import check
from svctoolkit.pipeline.outside import account_metadata, lookup_at, lookup_through, transport_of
from svctoolkit.pipeline.texts import Keep, Timer, can_stay_text, pass_texts
from svctoolkit.plans import Link, Verdict
from svctoolkit.replay.engine.judge import Judge
from svctoolkit.replay.engine.memo import Memo
from svctoolkit.secrets import Masker, reveal, with_values
from svctoolkit.transformations import JsonEvents
from svctoolkit.workspace import Destination, Source, Transformation, UserCode, Workspace, config_secrets, require_trust


def select(sides: Sequence[Workspace], destinations: Sequence[str] | None, source: str | None) -> tuple[str, ...]:
    """Return the destinations of a replay by key, in order, after checking them.

    Disabled ones are included: their events are filtered. Those that no side can run, as the type is unknown or the
    settings are invalid, are left out with a warning, unless `destinations` names them; those that one side of two can
    run are included, and fail on the other. Raises `UnknownName`, `InvalidConfig`, or `ConfigError` if no destination
    is enabled.
    """
    if source is not None and not any(_has(side.sources, source) for side in sides):
        raise UnknownName("source", source, [key for side in sides for key in side.sources])
    for key in destinations or ():
        if not any(_has(side.destinations, key) for side in sides):
            raise UnknownName("destination", key, [name for side in sides for name in side.destinations])
    chosen: dict[str, bool] = {}
    broken: dict[str, list[ConfigError]] = {}
    # The later side first: it decides the order of the results.
    for side in reversed(sides):
        for destination in _candidates(side, destinations, source):
            if destination.enabled:
                try:
                    _check(side, destination)
                except ConfigError as error:
                    broken.setdefault(destination.key, []).append(error)
            chosen[destination.key] = destination.enabled or chosen.get(destination.key, False)
    for key, errors in broken.items():
        if len(errors) < len(sides):
            continue  # `Side` reports it for each event
        if destinations is not None or len(broken) == len(chosen):
            raise errors[0]
        del chosen[key]
        warnings.warn(f"destination {key!r} is left out: {errors[0]}", stacklevel=4)
    if not any(chosen.values()):
        disabled = f": {', '.join(chosen)} {'is' if len(chosen) == 1 else 'are'} disabled" if chosen else ""
        raise ConfigError(f"there is no enabled destination to replay to{disabled}")
    return tuple(chosen)


def only_source(sides: Sequence[Workspace], destinations: Sequence[str]) -> str:
    """Return the key of the only source, if it is connected to all destinations that are replayed; otherwise empty.

    A connection on one side is enough: removing it is a change that a comparison has to find.
    """
    keys = {key for side in sides for key in side.sources}
    if len(keys) != 1:
        return ""
    (key,) = keys
    connected = {
        destination.key
        for side in sides
        if key in side.sources
        for destination in side.destinations_of(side.source(key))
    }
    return key if connected.issuperset(destinations) else ""


def sources_with_rules(sides: Iterable[Workspace]) -> tuple[str, ...]:
    """Return the keys of the sources that have a tracking plan or are disabled: the outcome depends on the source."""
    found = {
        key: None
        for side in sides
        for key, source in side.sources.items()
        if not source.enabled or side.plan_link(source) is not None
    }
    return tuple(found)


def _candidates(side: Workspace, destinations: Sequence[str] | None, source: str | None) -> list[Destination]:
    if destinations is not None:
        return [side.destination(key) for key in destinations if _has(side.destinations, key)]
    if source is not None and not _has(side.sources, source):
        return []
    return side.destinations_of(side.source(source)) if source is not None else list(side.destinations.values())


def _has(items: Mapping[str, Any], key: str) -> bool:
    return key in items or any(item.id == key for item in items.values())


def _check(side: Workspace, destination: Destination) -> None:
    """Check everything but the user code, whose errors are reported for each event."""
    if destination.transformation is not None:
        side.transformation(destination.transformation)
    # Reports wrong settings before the first event. User code is not loaded here, to keep a dry start fast.
    route(side, replace(destination, transformation=None), UserCode(side, Recorder(limit=0)))


def offline_transport(workspace: Workspace, transport: Transport | None, stages: Stages) -> Transport:
    """Return the transport that answers requests instead of the network: `transport`, the cassette, or a recorder.

    Raises `ConfigError` if only the network could answer the requests of `stages`.
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
            f"a replay never sends, but workspace {workspace.name!r} has the delivery mode {mode}: {description}. "
            "Leave send_to_destination off, set the delivery mode to record, or give a transport that answers"
        )
    return Recorder(limit=0)


def simulates(workspace: Workspace, destinations: Iterable[str]) -> bool:
    """Whether a workspace says that one of these destinations (by key) is simulated, and its recorder answers."""
    of = (workspace.destinations[key] for key in destinations if key in workspace.destinations)
    answers = isinstance(workspace.delivery_mode.offline(workspace.delivery_setting()), Recorder)
    return answers and any(each.enabled and workspace.simulation_level(each) != "answers" for each in of)


class Side:
    """One workspace, ready to run events. `transport` answers every request of deliveries, mappings and user code.

    With `personal`, personal data of the events is masked in the results. With `whole`, requests to simulated
    destinations have headers and a body in the results, which takes time. With `compared`, a destination that cannot
    run here is not an error: see `broken`.
    """

    def __init__(
        self,
        workspace: Workspace,
        transport: Transport,
        *,
        personal: bool = False,
        whole: bool = False,
        compared: bool = False,
    ) -> None:
        require_trust(workspace)
        self.workspace, self._transport, self._personal = workspace, transport, personal
        self._code = UserCode(workspace, Recorder(limit=0), transport=transport)
        self.lookup = lookup_through(lambda: self._sender(transport))
        self._whole, self._judge = whole, Judge(workspace, transport, "existing", whole=whole)
        self._routes: dict[str, Route | None] = {}
        self._compared = compared
        self._broken: dict[str, ConfigError] = {}
        self._memos: dict[str, Memo] = {}
        self._shared: dict[str, Memo] = {}
        self._links: dict[str, Link | None] = {}
        self._checked: tuple[Sequence[Json], list[Verdict | None]] = (), []

    def _sender(self, transport: Transport) -> Sender:
        return Sender(transport, timeout=self.workspace.delivery.timeout)

    def route(self, key: str) -> Route | None:
        """Return the route to a destination; None if the workspace does not have it, or cannot run it."""
        if key not in self._routes:
            destination = self.workspace.destinations.get(key)
            try:
                self._routes[key] = self._new_route(destination) if destination else None
            except ConfigError as error:
                if not self._compared:
                    raise
                self._routes[key], self._broken[key] = None, error
        return self._routes[key]

    def broken(self, key: str, source: str) -> str:
        """Return why an enabled destination cannot run here, if events of a source go to it; empty if it can."""
        if self.route(key) is not None or key not in self._broken:
            return ""
        destination, origin = self.workspace.destinations[key], self.source(source)
        connected = not source or origin is None or destination in self.workspace.destinations_of(origin)
        return f"cannot run: {self._broken[key]}" if destination.enabled and connected else ""

    def _new_route(self, destination: Destination) -> Route:
        to = self._with_memo(_route(self.workspace, destination, self._code))
        return replace(to, masker=PersonalMasker(to.masker)) if self._personal else to

    def _with_memo(self, to: Route) -> Route:
        """Return the route with cached user code: one run serves all destinations behind the same transformation."""
        if to.transformation is None or to.code is None:
            return to
        return replace(to, code=self._memos.setdefault(to.transformation.key, Memo(to.code)))

    def share(self, key: str, other: Side) -> bool:
        """Return whether both sides have the same user code for a destination; if so, share its output from now on."""
        own, theirs = self.route(key), other.route(key)
        if own is None or theirs is None:
            return own is theirs
        if _code(self.workspace, own.transformation) != _code(other.workspace, theirs.transformation):
            return False
        if own.transformation is not None and isinstance(own.code, Memo):
            memo = self._shared.setdefault(own.transformation.key, Memo(own.code.code, serves_two=True))
            self._routes[key], other._routes[key] = replace(own, code=memo), replace(theirs, code=memo)
        return True

    def simulates(self, key: str) -> bool:
        """Whether the server of a destination is simulated."""
        to = self.route(key)
        return to is not None and self._judge.judges(to)

    def identity(self, key: str, source: str) -> Json:
        """Return everything, apart from the user code, that determines the output for a source at a destination."""
        to, origin = self.route(key), self.source(source)
        if to is None or not self._reaches(to, source):
            return None
        account = self.workspace.account_of(to.destination)
        return (
            self.workspace.name,
            self.workspace.delivery_setting(),
            _settings(to.destination),
            account and reveal(account.tokens()),
            origin and (origin.id, origin.name, origin.type, origin.enabled),
            origin and _plan(self.workspace, origin),
        )

    def _reaches(self, to: Route, source: str) -> bool:
        """Return whether events of a source go to a destination; in a workspace without sources they go to all."""
        if not source or not self.workspace.sources:
            return True
        origin = self.source(source)
        return origin is not None and to.destination in self.workspace.destinations_of(origin)

    def source(self, key: str) -> Source | None:
        return self.workspace.source(key) if key and _has(self.workspace.sources, key) else None

    def run(
        self,
        key: str,
        events: Sequence[Mapping[str, Json]],
        stages: Stages,
        contexts: Sequence[Context],
        source: str,
        repeats: Sequence[int],
        *,
        again: bool = False,
    ) -> list[Passage] | None:
        """Return the passage of each event; None if events of this source do not go to this destination.

        `repeats` are the positions of repeated events. `again`: run the user code again instead of reusing its output.
        """
        to = self.route(key)
        if to is None or not self._reaches(to, source):
            return None
        # For the second run of `before`, which finds out what varies by itself.
        if again and isinstance(to.code, Memo):
            to.code.forget()
        account = account_metadata(self.workspace, to.destination)
        if account:
            contexts = [msgspec.structs.replace(context, metadata=account) for context in contexts]
        origin = self.source(source)
        verdicts = self._verdicts(events, origin)
        if to.looks_up and isinstance(self._transport, Recorder):
            own = lookup_at(to, self._transport, None, "", ())
            contexts = [msgspec.structs.replace(context, lookup=own) for context in contexts]
        if not stages.send_to_destination or not self._judge.judges(to):
            sender = self._sender(transport_of(to, self._transport))
            return pass_many(events, to, stages, sender, contexts, origin, verdicts, repeats)
        # The second run of the same events must not fold into the first one.
        judge = Judge(self.workspace, self._transport, "existing", whole=self._whole) if again else self._judge
        lookup = judge.lookup(to)
        contexts = [msgspec.structs.replace(context, lookup=lookup) for context in contexts]
        passages = pass_many(
            events, to, stages, judge.sender(to), contexts, origin, verdicts, repeats, begin=judge.begin
        )
        return judge.passages(passages, contexts)

    def can_stay_text(self, destinations: Sequence[str]) -> bool:
        """Whether events can stay text on their way to all of these destinations."""
        routes = [self.route(key) for key in destinations]
        return not self.workspace.tracking_plans and all(to is not None and can_stay_text(to) for to in routes)

    def run_texts(
        self,
        key: str,
        events: JsonEvents,
        heads: Sequence[Mapping[str, Json]],
        context_of: Callable[[int], Context],
        source: str,
        repeats: Sequence[int],
        timer: Timer,
        keep: Keep | None,
    ) -> list[Passage] | None:
        """The same for events that stay text: see `pass_texts`. Only if `can_stay_text`."""
        to = self.route(key)
        if to is None or not self._reaches(to, source):
            return None
        account = account_metadata(self.workspace, to.destination)

        asks = to.looks_up and isinstance(self._transport, Recorder)
        lookup = lookup_at(to, cast(Recorder, self._transport), None, "", ()) if asks else None

        def own(at: int) -> Context:
            context = context_of(at)
            context = msgspec.structs.replace(context, lookup=lookup) if lookup is not None else context
            return msgspec.structs.replace(context, metadata=account) if account else context

        sender = self._sender(transport_of(to, self._transport))
        origin = self.source(source)
        return pass_texts(events, heads, to, sender, own, origin, repeats, timer, keep)

    def forget_held(self) -> None:
        """Forget what simulated destinations hold."""
        self._judge = Judge(self.workspace, self._transport, "existing", whole=self._whole)

    def release(self) -> None:
        """Release the last events and their cached results."""
        self._checked = (), []
        for memo in (*self._memos.values(), *self._shared.values()):
            memo.release()

    def _verdicts(self, events: Sequence[Mapping[str, Json]], source: Source | None) -> Sequence[Verdict | None]:
        """Return the tracking plan's verdict on each event, computed once for all destinations."""
        if source is None or not self.workspace.tracking_plans:
            return [None] * len(events)
        if source.key not in self._links:
            self._links[source.key] = self.workspace.plan_link(source)
        link = self._links[source.key]
        # Compared by identity: the same batch of events goes to every destination, one after the other.
        if self._checked[0] is not events:
            names = (str(event.get("messageId")) for event in events)
            self._checked = events, [check(event, link, name) for event, name in zip(events, names, strict=True)]
        return self._checked[1]


def _route(workspace: Workspace, destination: Destination, code: UserCode) -> Route:
    """Return the route. A disabled destination, whose settings may be incomplete, gets one without a mapping."""
    if destination.enabled:
        return route(workspace, destination, code)
    masker = Masker.of([*workspace.secrets(), *config_secrets(destination.type, destination.config)])
    return Route(
        workspace, destination, None, None, "the destination is disabled", None, None, masker, False, False, {}
    )


def _plan(workspace: Workspace, source: Source) -> Any:
    """Return what identifies the tracking plan of a source, and what happens to events that violate it."""
    link = workspace.plan_link(source)
    if link is None or link.plan is None:
        return None
    rules = [(rule.type, rule.name, rule.section, rule.schema) for rule in link.plan.rules]
    return link.plan.id, link.plan.version, rules, link.settings.by_type


def _settings(destination: Destination) -> Any:
    return destination.id, destination.name, destination.type, reveal(destination.config)


def _code(workspace: Workspace, transformation: Transformation | None) -> Any:
    """Return everything that defines the behavior of user code; equal values mean equal behavior."""
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
    """Return a hash that identifies a workspace for a replay. Secrets cannot be read from it."""
    facts = {
        "name": workspace.name,
        "sources": [
            [s.id, s.name, s.type, s.enabled, [[c.destination, c.enabled] for c in s.connections], _plan(workspace, s)]
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
    # The bytecode and constants, because a notebook cell that runs again creates a new function of the same name.
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
    """Return `value` pickled for another process. Raises `ConfigError` if it cannot be pickled."""
    try:
        with with_values():
            return bytes(_dumps()(value))
    except Exception as error:  # noqa: BLE001 - pickling an object may raise anything
        raise ConfigError(
            f"this workspace cannot go to another process: {error}. Use workers=1, write the transformation as code, "
            "or install svctoolkit[dask], which can also send functions of a notebook"
        ) from None


def _dumps() -> Callable[[Any], bytes]:
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps
    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    return dumps
