"""Propose policies for a workspace: what is true of sample events today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from svctoolkit.errors import ToolkitError
from svctoolkit.events.clock import time_of
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Passage, Pipeline, Stages, pass_many
from svctoolkit.policies.arrivals import Arrival, host_of
from svctoolkit.policies.paths import leaves
from svctoolkit.policies.policies import Policies
from svctoolkit.url_secrets import public_host
from svctoolkit.workspace import Destination, Workspace

_AMOUNTS = ("revenue", "total", "value", "price")
_MARK = 4711.37  # an amount that nothing else has
_STEPS = 2  # of a proposed place
_KINDS = ["email", "phone", "card"]

_STAGES = Stages(user_transform=True, dest_transform=True, send_to_destination=False)
_Sent = dict[str, list[Arrival]]


# Any: policies as written in a file
class Proposals(NamedTuple):
    """Policies as in a file, and why destinations (by key) have no part in them."""

    policies: list[dict[str, Any]]
    left_out: dict[str, str]


# Any: policies as written in a file
def propose(workspace: Workspace, events: Sequence[Mapping[str, Json]]) -> list[dict[str, Any]]:
    """Return policies that hold for these events at the enabled destinations, as in a file.

    They are about the hosts that requests go to, the places where personal data arrives today, and an amount that
    several destinations get. Destinations that get none of the events are left out: see `proposals`. The user's code
    runs. Mappings see the events at the events' own time, as in a replay.
    """
    return proposals(workspace, events).policies


def proposals(workspace: Workspace, events: Sequence[Mapping[str, Json]]) -> Proposals:
    """Return what `propose` does, and each destination that no policy is about, with the reason."""
    survey = _Survey(workspace)
    sent, left_out = dict[str, list[Arrival]](), dict[str, str]()
    for key in workspace.destinations:
        sent[key], reason = survey.arrivals(key, events)
        if not sent[key]:
            del sent[key]
            left_out[key] = reason
    return Proposals([*_hosts(sent), *_personal(sent), *_agreement(survey, [*sent], events)], left_out)


class _Survey:
    """Runs events through a workspace up to the mappings, as a replay does."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._pipeline, self._now = workspace, Pipeline(workspace), datetime.now(UTC)

    def arrivals(self, key: str, events: Sequence[Mapping[str, Json]]) -> tuple[list[Arrival], str]:
        """Return what arrives at a destination; if nothing does, the reason for the first event that failed."""
        try:
            passages = self._passages(self._workspace.destinations[key], events)
        except ToolkitError as error:
            return [], str(error)
        each = [[payload for result in passage.results for payload in result.payloads] for passage in passages]
        arrived = [Arrival(key, payloads) for payloads in each if payloads]
        fates = sorted((passage.fate for passage in passages), key=lambda fate: fate.status != "failed")
        return arrived, next((fate.reason for fate in fates if fate.reason), "no sample event arrives")

    def _passages(self, destination: Destination, events: Sequence[Mapping[str, Json]]) -> list[Passage]:
        route = self._pipeline.route(destination)
        context = self._pipeline.context_of(route)
        contexts = [replace(context, clock=partial(time_of, event, self._now)) for event in events]
        sender = self._pipeline.sender(route)
        return pass_many(events, route, _STAGES, sender, contexts, None, [None] * len(events))


def _hosts(sent: _Sent) -> Iterator[dict[str, Any]]:
    addresses = {payload.get("endpoint") for of in sent.values() for one in of for payload in one.payloads if payload}
    hosts = {public_host(host_of(address)) for address in addresses if isinstance(address, str) and address}
    if named := sorted(host for host in hosts if host.strip("*?.") and "/" not in host):
        yield {"hosts": named}


def _personal(sent: _Sent) -> Iterator[dict[str, Any]]:
    """Yield a policy for the destinations that get no personal data, and one for each of the others."""
    policies = Policies.of([{"no_personal": {"kinds": _KINDS}}])
    places = {
        key: sorted({breach.path.replace(".*", "") for one in of for breach in policies.check({}, [one])})
        for key, of in sent.items()
    }
    if clean := [key for key, paths in places.items() if not paths]:
        yield {"no_personal": {"destinations": clean, "kinds": _KINDS}}
    for key, paths in places.items():
        if paths:
            name = f"no_personal at {key}"
            yield {"name": name, "no_personal": {"destinations": [key], "kinds": _KINDS, "except": paths}}


def _agreement(survey: _Survey, keys: Sequence[str], events: Sequence[Mapping[str, Json]]) -> Iterator[Any]:
    """Yield a policy for the first amount that arrives unchanged at several destinations."""
    having = [(event, own) for event in events if isinstance(own := event.get("properties"), Mapping)]
    for name in _AMOUNTS:
        for event, properties in having:
            if type(properties.get(name)) not in (int, float):
                continue
            marked = {**event, "properties": {**properties, name: _MARK}}
            found = {key: path for key in keys if (path := _place(survey, key, marked))}
            if len(found) > 1:
                on = {"on": "order_id"} if properties.get("order_id") else {}
                values = [f"{key}.{path}" for key, path in found.items()]
                yield {"agree": {**on, "values": values, "tolerance": "1%"}}
                return


def _place(survey: _Survey, key: str, event: Mapping[str, Json]) -> str:
    """Return where the marked amount is in the payload for a destination; empty if it is nowhere."""
    for arrival in survey.arrivals(key, [event])[0]:
        places = [path for path, value in leaves(arrival.opened) if value in (_MARK, str(_MARK))]
        if places:
            steps = min(places, key=len).replace(".*", "").split(".")
            return ".".join(steps[-_STEPS:])
    return ""
