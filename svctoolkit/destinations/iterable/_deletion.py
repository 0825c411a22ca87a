"""Deletion of users at Iterable: one request for each user, ten at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from svctoolkit.destinations import (
    JSON,
    Context,
    Deletion,
    DeletionRequest,
    Endpoint,
    Exchange,
    Failure,
    Header,
    Settings,
    by_setting,
    in_url,
)
from svctoolkit.json_types import Json
from svctoolkit.mapping import as_object
from svctoolkit.secrets import Secret

_HOSTS = {"USDC": "https://api.iterable.com/api", "EUDC": "https://api.eu.iterable.com/api"}


class IterableDeletionSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    data_center: Literal["USDC", "EUDC"] = "USDC"


API = Endpoint(by_setting("data_center", _HOSTS), JSON, Header("api_key", "{api_key}"))


def _requests(ids: Sequence[Json], settings: IterableDeletionSettings, _: Context) -> Iterator[DeletionRequest]:
    for id in ids:
        yield API.lookup(settings, f"users/byUserId/{in_url(id)}", "DELETE")


def _judge(exchange: Exchange) -> Failure | None:
    """Collect the users that Iterable refuses (400); any other failure ends the deletion."""
    if exchange.successful or exchange.status == 404:
        return None
    reason = as_object(exchange.body).get("msg", exchange.body)
    if exchange.status == 400:
        user = str(exchange.request["url"]).rpartition("/byUserId/")[2]
        return Failure(400, f"User deletion request failed for user {user}: {reason}", continues=True)
    return Failure(exchange.status or 500, f"User deletion request failed: {reason}")


deletion = Deletion("Iterable", IterableDeletionSettings, _requests, at_once=10, judge=_judge)
