"""Propose policies for a workspace: what is true of sample events today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.policies.arrivals import Arrival
from svctoolkit.policies.paths import leaves
from svctoolkit.policies.policies import Policies
from svctoolkit.workspace import Workspace

_AMOUNTS = ("revenue", "total", "value", "price")
_MARK = 4711.37  # an amount that nothing else has
_STEPS = 2  # of a proposed place
_KINDS = ["email", "phone", "card"]

_Sent = dict[str, list[Arrival]]


# Any: policies as written in a file
def propose(workspace: Workspace, events: Sequence[Mapping[str, Json]]) -> list[dict[str, Any]]:
    """Return policies that hold for these events at the enabled destinations, as in a file.

    They are about the hosts that requests go to, the places where personal data arrives today, and an amount that
    several destinations get. Destinations that cannot run here are left out. The user's code runs.
    """
    pipeline = Pipeline(workspace)
    sent = {
        key: [arrival for event in events for arrival in _arrivals(pipeline, key, event)]
        for key, destination in workspace.destinations.items()
        if destination.enabled
    }
    sent = {key: arrivals for key, arrivals in sent.items() if arrivals}
    return [*_hosts(sent), *_personal(sent), *_agreement(pipeline, [*sent], events)]


def _arrivals(pipeline: Pipeline, key: str, event: Mapping[str, Json]) -> Iterator[Arrival]:
    try:
        entries = pipeline.test_destination(key, event).data
    except ToolkitError:
        return
    for entry in entries:
        if isinstance(entry.dest_transformed_payload, list):
            yield Arrival(key, entry.dest_transformed_payload)


def _hosts(sent: _Sent) -> Iterator[dict[str, Any]]:
    addresses = {payload.get("endpoint") for of in sent.values() for one in of for payload in one.payloads if payload}
    hosts = {urlsplit(address).hostname for address in addresses if isinstance(address, str) and address}
    if named := sorted(host for host in hosts if host):
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


def _agreement(pipeline: Pipeline, keys: Sequence[str], events: Sequence[Mapping[str, Json]]) -> Iterator[Any]:
    """Yield a policy for the first amount that arrives unchanged at several destinations."""
    having = [(event, own) for event in events if isinstance(own := event.get("properties"), Mapping)]
    for name in _AMOUNTS:
        for event, properties in having:
            if type(properties.get(name)) not in (int, float):
                continue
            marked = {**event, "properties": {**properties, name: _MARK}}
            found = {key: path for key in keys if (path := _place(pipeline, key, marked))}
            if len(found) > 1:
                on = {"on": "order_id"} if properties.get("order_id") else {}
                values = [f"{key}.{path}" for key, path in found.items()]
                yield {"agree": {**on, "values": values, "tolerance": "1%"}}
                return


def _place(pipeline: Pipeline, key: str, event: Mapping[str, Json]) -> str:
    """Return where the marked amount is in the payload for a destination; empty if it is nowhere."""
    for arrival in _arrivals(pipeline, key, event):
        places = [path for path, value in leaves(arrival.opened) if value in (_MARK, str(_MARK))]
        if places:
            steps = min(places, key=len).replace(".*", "").split(".")
            return ".".join(steps[-_STEPS:])
    return ""
