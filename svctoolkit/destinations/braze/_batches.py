"""Braze takes 75 attributes, 75 events and 75 purchases in a request to `/users/track`, 50 merges, 25 subscriptions.

https://www.braze.com/docs/api/endpoints/user_data/post_user_track. All jobs of a call are one result: its requests are
cut where a list would grow too long. Subscriptions of one group and state are one entry with all of its users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from svctoolkit.destinations import Batch, BatchContext, MappedJob, Payload

_TRACK, _SUBSCRIPTIONS, _MERGES = "/users/track", "/v2/subscription/status/set", "/users/merge"
_LIMITS = {_TRACK: 75, _SUBSCRIPTIONS: 25, _MERGES: 50}
#: the members of a body that are lists of items, in the order in which the service writes them
_LISTS = ("attributes", "events", "purchases", "subscription_groups", "merge_updates")


def batch(jobs: Sequence[MappedJob], _context: BatchContext) -> Iterator[Batch]:
    """One result: what is tracked, then subscriptions, then merges."""
    payloads = [payload for job in jobs for payload in job.payloads]
    requests = [request for place in _LIMITS for request in _requests(place, payloads)]
    yield Batch(tuple(job.id for job in jobs), tuple(request.to_dict() for request in requests), batched=True)


def _requests(place: str, payloads: Sequence[Payload]) -> Iterator[Payload]:
    """The requests to one address that carry all of its items."""
    here = [payload for payload in payloads if payload.endpoint.endswith(place)]
    if not here:
        return
    lists = {name: [item for payload in here for item in (payload.json or {}).get(name, ())] for name in _LISTS}
    lists["subscription_groups"] = _combine(lists["subscription_groups"])
    rest = {key: value for key, value in (here[0].json or {}).items() if key not in _LISTS}
    if place == _TRACK:  # people's own requests lack it, their batches have it
        rest["partner"] = "RudderStack"
    limit = _LIMITS[place]
    for start in range(0, max(map(len, lists.values())), limit):
        items = {name: values[start : start + limit] for name, values in lists.items()}
        yield msgspec.structs.replace(here[0], json={**rest, **{name: part for name, part in items.items() if part}})


def _combine(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each group and state, with everybody whom the entries name, each once."""
    combined: dict[tuple[Any, Any], dict[str, Any]] = {}
    for group in groups:
        key = group.get("subscription_group_id"), group.get("subscription_state")
        entry = combined.setdefault(key, {"subscription_group_id": key[0], "subscription_state": key[1]})
        for name, users in group.items():
            if isinstance(users, list):
                entry[name] = [*entry.get(name, ()), *(user for user in users if user not in entry.get(name, ()))]
    return list(combined.values())
