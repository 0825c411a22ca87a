"""Determine an event's outcome at a destination by the data plane's rules, for everything that runs events.

    gateway -> routing -> tracking_plan -> user_transform -> dest_transform -> send_to_destination

The data plane calls `fate_at_routing`, `check` and `fate_of_results` along its queues; `pass_many` calls all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from svctoolkit.causes import Cause
from svctoolkit.delivery import Sender
from svctoolkit.destinations import Context
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.pipeline.judging import RETRIED, decisive
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.rules import blocked, exclusion, needs_all, takes_type
from svctoolkit.pipeline.run import run_many
from svctoolkit.pipeline.stages.stages import Stages
from svctoolkit.plans import Link, Verdict, mark_event
from svctoolkit.results import ABSENT, NO_TRANSFORMATION, EventResult, error_of
from svctoolkit.simulations import Loss
from svctoolkit.workspace import Destination, Source

Status: TypeAlias = Literal["pending", "delivered", "filtered", "dropped", "failed", "unmapped"]
#: used if the source of an event is not known
NO_SOURCE = Source("", "", "", "")
_LOG = logging.getLogger("svctoolkit.plans")


class Fate(NamedTuple):
    """An event's outcome at a destination, the stage that decided it, and why. `pending`: it continues.

    `cause` is the reason of a failure as data, without secrets, if the code, mapping or destination gave one.
    """

    status: Status
    by: str = ""
    reason: str = ""
    cause: Cause | None = None


PENDING = Fate("pending")
DELIVERED = Fate("delivered")
REPEATED = Fate("filtered", "deduplication", "an earlier event has the same messageId")
_EVERY = {"All": True}
NOTHING_SENT = "the mapping sends nothing for this event"


class Passage(NamedTuple):
    """An event's path to one destination: its fate, and the results of the stages if it reached them.

    `lost` is what a simulated destination lost of it; None if none received it.
    """

    fate: Fate
    results: Sequence[EventResult] = ()
    lost: Sequence[Loss] | None = None


def fate_at_routing(
    event: Mapping[str, Json],
    source: Source,
    destination: Destination | None,
    blocking: Mapping[str, Collection[str]],
) -> Fate:
    """Return whether an accepted event goes to a destination, by its type and the rules of `blocked` and `exclusion`.

    `blocking` is the workspace's `eventBlocking`. Unless `needs_all(destination)`, the event needs only its type, name
    and integrations.
    """
    if reason := blocked(event, source, blocking):
        return Fate("filtered", "gateway", reason)
    if not takes_type(Event(event).type, destination):
        what = "is unsupported" if isinstance(event.get("type"), str) else "missing or invalid"
        return Fate("failed", "routing", f"message type {what}")
    if destination is None:
        return Fate("failed", "routing", "the destination is no longer in the workspace")
    reason = exclusion(event, source, destination)
    return Fate("filtered", "routing", reason) if reason else PENDING


def check(event: Mapping[str, Json], link: Link | None, name: str) -> Verdict | None:
    """Check an event against its source's tracking plan; None without a plan. `name` identifies the event in the log.

    A plan that cannot be used lets events pass, so that no accepted event is ever lost because of it.
    """
    if link is None or link.plan is None:
        return None
    try:
        return link.plan.check(event, link.settings)
    except Exception:  # noqa: BLE001 - an unusable plan must not stop an event
        _LOG.exception("event %s cannot be checked; it goes on unchecked", name)
        return None


def fate_after_plan(fate: Fate, reason: str) -> Fate:
    """Return the fate unchanged, or if `reason` is not empty, that of an event dropped by its tracking plan."""
    return Fate("dropped", "tracking_plan", reason) if reason and fate.status == "pending" else fate


def refusal_fate(result: EventResult) -> Fate | None:
    """Return the fate of an event that failed in the user's code or the mapping; None for one that passed both."""
    if type(result.dest_transformed_payload) is list:  # a mapping never gets what the user's code has refused
        return None
    error = error_of(result.user_transformed_payload)
    if error is not None and error != NO_TRANSFORMATION:
        return Fate("dropped" if result.dropped else "failed", "user_transform", error, result.cause)
    error = error_of(result.dest_transformed_payload)
    return None if error is None else Fate("failed", "dest_transform", error, result.cause)


def fate_of_results(results: Sequence[EventResult], route: Route, *, sends: bool) -> Fate:
    """Return an event's outcome after the stages before sending. `sends`: part of it continues to the destination.

    The event failed if any of its outputs failed. For a warehouse, each row counts separately.
    """
    if sends and route.tables is not None:
        return DELIVERED
    first: Fate | None = None
    for result in results:
        fate = refusal_fate(result)
        if fate is not None:
            if fate.status == "failed":
                return fate
            first = first or fate
    if sends:
        return DELIVERED
    if first is not None:
        return first
    if route.tables is not None:
        return Fate("filtered", "dest_transform", "the warehouse has no table for this event")
    if route.mapping is None:
        return Fate("unmapped", "dest_transform", route.unmapped)
    return Fate("filtered", "dest_transform", NOTHING_SENT)


def pass_many(
    events: Sequence[Mapping[str, Json]],
    route: Route,
    stages: Stages,
    sender: Sender,
    contexts: Sequence[Context],
    source: Source | None,
    verdicts: Sequence[Verdict | None],
    repeats: Collection[int] = (),
    begin: Callable[[Context], None] = lambda _: None,
) -> list[Passage]:
    """Run events of one source all the way to a destination, and return each event's passage, in order.

    `verdicts` are those of `check`, `repeats` the positions of duplicates. Events that are filtered, or dropped by
    their plan, never reach the user's code. A request that a data plane would retry is a failure: nothing is retried,
    and nothing more of the event is sent. Without a known source, no rules about sources apply.

    `begin` is that of `run_many`.
    """
    fates = fates_before(events, route, source, repeats)
    reasons = [verdict.reason if verdict is not None and verdict.dropped else "" for verdict in verdicts]
    if any(reasons):
        fates = [fate_after_plan(fate, reason) for fate, reason in zip(fates, reasons, strict=True)]
    places = [place for place, fate in enumerate(fates) if fate.status == "pending"]
    going = [_marked(events[place], verdicts[place]) for place in places]
    own = contexts if len(places) == len(events) else [contexts[place] for place in places]
    passed = iter(run_many(going, route, stages, sender, own, source, begin=begin, stops=True) if places else ())
    return [
        Passage(fate_of(results := next(passed), route, stages), results) if fate.status == "pending" else Passage(fate)
        for fate in fates
    ]


def fates_before(
    events: Sequence[Mapping[str, Json]], route: Route, source: Source | None, repeats: Collection[int]
) -> list[Fate]:
    """Return the outcome of each event before its tracking plan: pending, or why it goes no further.

    Unless `needs_all(route.destination)`, only the type, the name and the integrations of the events are read.
    """
    fates = _at_routing(events, source or NO_SOURCE, route)
    if source is not None and not source.enabled:
        fates = [Fate("filtered", "gateway", "the source is disabled: its events are refused")] * len(events)
    for place in repeats:
        fates[place] = REPEATED
    return fates


def _at_routing(events: Sequence[Mapping[str, Json]], source: Source, route: Route) -> list[Fate]:
    """Return `fate_at_routing` of each event, computed once for events with the same `routing_key`."""
    destination, blocking = route.destination, route.workspace.data_plane.event_blocking
    whole, by_key = needs_all(destination), dict[tuple[Any, ...], Fate]()
    fates = []
    for event in events:
        key = None if whole else routing_key(event.get("type"), event.get("event"), event.get("integrations"))
        if key is None:
            fates.append(fate_at_routing(event, source, destination, blocking))
            continue
        if key not in by_key:
            by_key[key] = fate_at_routing(event, source, destination, blocking)
        fates.append(by_key[key])
    return fates


# Any: a key of texts and pairs, only to look it up
def routing_key(kind: Json, name: Json, integrations: Json) -> tuple[Any, ...] | None:
    """Return what routing reads of an event, to look up its fate; None if it is more than texts and `true` or `false`.

    It decides unless `needs_all(destination)`. `kind` is the event's type, `name` its member `event`.
    """
    if type(kind) is not str or not (name is None or type(name) is str):
        return None
    if integrations is None:
        return kind, name
    # `1 == True`, but only the second decides
    if type(integrations) is not dict or any(type(value) is not bool for value in integrations.values()):
        return None
    return (kind, name) if integrations == _EVERY else (kind, name, *integrations.items())


def _marked(event: Mapping[str, Json], verdict: Verdict | None) -> Mapping[str, Json]:
    return event if verdict is None else mark_event(event, verdict.mark)


def fate_of(results: Sequence[EventResult], route: Route, stages: Stages) -> Fate:
    """Return the outcome of an event that has run through the stages."""
    maps = stages.dest_transform and (route.mapping is not None or route.tables is not None)
    if maps:
        sends = any(result.payloads for result in results)
    else:
        sends = not stages.dest_transform and any(event_of(result) is not None for result in results)
    fate = fate_of_results(results, route, sends=sends)
    if fate.status != "delivered" or not stages.send_to_destination:
        return fate
    judgements = [decisive(result.judgements, route) for result in results]
    failed = [judgement for judgement in judgements if judgement.outcome != "delivered"]
    if failed:
        # As in a data plane, which would send it again: what it refused for good decides only after that.
        first = next((judgement for judgement in failed if judgement.outcome in RETRIED), failed[0])
        return Fate("failed", "send_to_destination", first.reason, first.cause)
    reason = next((judgement.reason for judgement in judgements if judgement.reason), "")
    return Fate("delivered", "", reason) if reason else fate


def event_of(result: EventResult) -> Mapping[str, Json] | None:
    """Return the mapping's input: the output of the user's code, or the original event; None if it was rejected."""
    event = result.user_transformed_payload
    error = error_of(event)
    if event is ABSENT or error == NO_TRANSFORMATION:
        return result.event
    return event if error is None else None
