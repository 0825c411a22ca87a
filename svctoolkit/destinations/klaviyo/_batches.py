"""Klaviyo accepts up to 100 profiles of a list per subscription job
(https://developers.klaviyo.com/en/reference/bulk_subscribe_profiles); profiles are created one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from svctoolkit.destinations import Batch, MappedJob, Payload
from svctoolkit.destinations._batches import alone, chunks, request_key
from svctoolkit.destinations.klaviyo._settings import KlaviyoSettings
from svctoolkit.json_codec import encode_sorted
from svctoolkit.mapping import javascript_text

_LIMIT = 100
_JOBS = "/profile-subscription-bulk-"


def batch(jobs: Sequence[MappedJob], settings: KlaviyoSettings) -> Iterator[Batch]:
    """Batch profiles that join the same list; events, and profiles of the older API, are sent one by one."""
    lists: dict[bytes, list[MappedJob]] = {}
    for job in jobs:
        subscription = _subscription(job)
        if subscription is not None:
            lists.setdefault(_key(subscription), []).append(job)
        elif not settings.is_older and job.event.type == "identify":
            yield Batch((job.id,), tuple(payload.to_dict() for payload in job.payloads), batched=True)
        else:
            yield alone(job)
    for members in lists.values():
        for chunk in chunks(members, _LIMIT, 0, _profiles):
            yield _together(chunk, subscriptions_last=not settings.is_older)


def _subscription(job: MappedJob) -> Payload | None:
    return next((payload for payload in job.payloads if _JOBS in payload.endpoint), None)


def _data(payload: Payload) -> dict[str, Any]:
    data: dict[str, Any] = (payload.json or {})["data"]
    return data


def _profiles(job: MappedJob) -> list[Any]:
    """Return the profiles of a job's subscription, in either version of the API."""
    subscription = _subscription(job)
    return _list_of(_data(subscription)["attributes"]) if subscription else []


def _list_of(attributes: Mapping[str, Any]) -> list[Any]:
    profiles: list[Any] = attributes["profiles"]["data"] if "profiles" in attributes else attributes["subscriptions"]
    return profiles


def _key(subscription: Payload) -> bytes:
    """Return the key for batching: everything except the profiles."""
    return request_key(subscription) + encode_sorted(_with_profiles(_data(subscription), []))


def _with_profiles(data: Mapping[str, Any], profiles: Sequence[Any]) -> dict[str, Any]:
    attributes = data["attributes"]
    member = {"profiles": {"data": profiles}} if "profiles" in attributes else {"subscriptions": profiles}
    return {**data, "attributes": {**attributes, **member}}


def _together(jobs: Sequence[MappedJob], *, subscriptions_last: bool) -> Batch:
    """Return the profile requests and one subscription job, in the order of this API version."""
    own = [payload for job in jobs for payload in job.payloads if _JOBS not in payload.endpoint]
    first = next(payload for payload in jobs[0].payloads if _JOBS in payload.endpoint)
    profiles = [profile for job in jobs for profile in _profiles(job)]
    data = _with_profiles(_data(first), profiles)
    if subscriptions_last:  # the ID of the list is written as text there
        id_ = javascript_text(data["relationships"]["list"]["data"]["id"])
        data["relationships"] = {"list": {"data": {"type": "list", "id": id_}}}
    shared = msgspec.structs.replace(first, json={"data": data})
    payloads = [*own, shared] if subscriptions_last else [shared, *own]
    return Batch(tuple(job.id for job in jobs), tuple(payload.to_dict() for payload in payloads), batched=True)
