"""Limits per request: 75 attributes, 75 events and 75 purchases (`/users/track`), 50 merges, 25 subscriptions.

https://www.braze.com/docs/api/endpoints/user_data/post_user_track. All jobs of a call form one batch. Items of
`/users/track` are in order of their external IDs, as RudderStack sorts them. Requests are split where a list would
exceed its limit, or with `brazeLimit: total` where all lists together would. Subscriptions of one group and state
become one entry with all of its users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Payload
from svctoolkit.destinations.braze._settings import BrazeSettings
from svctoolkit.destinations.braze._users import UNBILLED
from svctoolkit.json_codec import encode_sorted
from svctoolkit.mapping import Missing, js_join

_TRACK, _SUBSCRIPTIONS, _MERGES = "/users/track", "/v2/subscription/status/set", "/users/merge"
_LIMITS = {_TRACK: 75, _SUBSCRIPTIONS: 25, _MERGES: 50}
#: the members of an entry that identify the user
_IDENTITY = ("external_id", "user_alias", "_update_existing_only")
#: the members of a body that are lists of items, in the order in which RudderStack writes them
_TRACKED = ("attributes", "events", "purchases")
_LISTS = (*_TRACKED, "subscription_groups", "merge_updates")


def batch(jobs: Sequence[MappedJob], settings: BrazeSettings) -> Iterator[Batch]:
    """Yield one batch: tracking requests, then subscriptions, then merges.

    With `supportDedup` attributes that an earlier job has already set are left out, and an identify event without any
    other attributes is refused.
    """
    if settings.support_dedup:
        known: dict[bytes, dict[str, Any]] = {}
        jobs = [_without_known(job, known) for job in jobs]
        repeated = [job for job in jobs if job.event.type == "identify" and not job.payloads]
        known_already = Missing("traits", wants="an attribute that Braze does not have yet", setting="supportDedup")
        yield from (Batch((job.id,), refusal=known_already.refusal) for job in repeated)
        jobs = [job for job in jobs if job not in repeated]
    jobs = sorted(jobs, key=_places(jobs))
    payloads = [payload for job in jobs for payload in job.payloads]
    in_all = any(job.metadata.get("brazeLimit") == "total" for job in jobs)
    requests = [request for place in _LIMITS for request in _requests(place, payloads, in_all=in_all)]
    yield Batch(tuple(job.id for job in jobs), tuple(request.to_dict() for request in requests), batched=True)


def _places(jobs: Sequence[MappedJob]) -> Callable[[MappedJob], int]:
    """Return a sort key that groups jobs by user, in the order of each user's first job."""
    places: dict[Any, int] = {}
    for job in jobs:
        places.setdefault(_person(job), len(places))
    return lambda job: places[_person(job)]


def _person(job: MappedJob) -> str:
    return js_join(job.event.raw.get("userId") or job.event.raw.get("anonymousId"))


def _without_known(job: MappedJob, known: dict[bytes, dict[str, Any]]) -> MappedJob:
    """Return the job without attributes that are already known, and without requests that become empty."""
    payloads = []
    for payload in job.payloads:
        body = dict(payload.json or {})
        if "attributes" in body:
            body["attributes"] = [fresh for item in body["attributes"] if (fresh := _fresh(item, known))]
        if any(body.get(name) for name in _LISTS):
            payloads.append(msgspec.structs.replace(payload, json=body))
    return msgspec.structs.replace(job, payloads=tuple(payloads))


def _fresh(item: Mapping[str, Any], known: dict[bytes, dict[str, Any]]) -> dict[str, Any]:
    """Return the new attributes of an entry; empty if there are none."""
    own = {name: item[name] for name in _IDENTITY if name in item}
    earlier = known.setdefault(encode_sorted(own), {})
    others = {name: value for name, value in item.items() if name not in _IDENTITY}
    new = {name: value for name, value in others.items() if name in UNBILLED or earlier.get(name) != value}
    earlier.update(new)
    return {**new, **own} if new else {}


def _requests(place: str, payloads: Sequence[Payload], *, in_all: bool) -> Iterator[Payload]:
    """Yield the requests to one address, with all of its items. `in_all`: the limit is that of all lists together."""
    here = [payload for payload in payloads if payload.endpoint.endswith(place)]
    if not here:
        return
    lists = {name: [item for payload in here for item in (payload.json or {}).get(name, ())] for name in _LISTS}
    for name in _TRACKED if len(here) > 1 else ():  # in order of their external IDs; items without one are last
        lists[name].sort(key=lambda item: ("external_id" not in item, js_join(item.get("external_id"))))
    lists["subscription_groups"] = _combine(lists["subscription_groups"])
    rest = {key: value for key, value in (here[0].json or {}).items() if key not in _LISTS}
    if place == _TRACK:  # only batches have it, single requests do not
        rest["partner"] = "RudderStack"
    for items in _parts(lists, _LIMITS[place], in_all=in_all):
        yield msgspec.structs.replace(here[0], json={**rest, **items})


def _parts(lists: Mapping[str, list[Any]], limit: int, *, in_all: bool) -> Iterator[dict[str, list[Any]]]:
    """Yield the items of the lists in parts: at most `limit` of each list, or of all of them."""
    lengths = [*map(len, lists.values())]
    starts = dict(zip(lists, accumulate(lengths, initial=0) if in_all else [0] * len(lists), strict=False))
    for at in range(0, sum(lengths) if in_all else max(lengths), limit):
        cuts = {name: slice(max(0, at - start), max(0, at + limit - start)) for name, start in starts.items()}
        yield {name: cut for name, values in lists.items() if (cut := values[cuts[name]])}


def _combine(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry for each group and state, with all users of the entries, without duplicates."""
    combined: dict[bytes, dict[str, Any]] = {}
    for group in groups:
        whose = {name: group.get(name) for name in ("subscription_group_id", "subscription_state")}
        entry = combined.setdefault(encode_sorted(whose), whose)  # an event may have anything as the ID of its group
        for name, users in group.items():
            if isinstance(users, list) and name not in whose:
                entry[name] = [*entry.get(name, ()), *(user for user in users if user not in entry.get(name, ()))]
    return list(combined.values())
