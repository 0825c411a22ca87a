"""Deletion of contacts at SendGrid: as many ids as fit into the query of a request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from svctoolkit.destinations import Context, Deletion, DeletionRequest, Endpoint, Settings, bearer, in_url
from svctoolkit.json_types import Json
from svctoolkit.mapping import text
from svctoolkit.secrets import Secret

_LONGEST = 8150  # characters of a list


class SendgridDeletionSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


API = Endpoint("https://api.sendgrid.com/v3", bearer("api_key"))


def _requests(ids: Sequence[Json], settings: SendgridDeletionSettings, _: Context) -> Iterator[DeletionRequest]:
    lists = list(_lists(ids))
    for at, some in enumerate(lists):
        listed = f"[{some}]" if at == len(lists) - 1 else some
        yield API.lookup(settings, f"marketing/contacts?ids={in_url(listed)}", "DELETE")


def _lists(ids: Sequence[Json]) -> Iterator[str]:
    some: list[str] = []
    length = 0
    for id in map(text, ids):
        if some and length + len(id) > _LONGEST:
            yield ",".join(some)
            some, length = [], 0
        some.append(id)
        length += len(id) + 1  # with its comma
    if some:
        yield ",".join(some)


deletion = Deletion(
    "SendGrid",
    SendgridDeletionSettings,
    _requests,
    quirks=(
        "The user ID is sent as SendGrid's own ID of a contact.",
        "Of several requests, only the last has its list in brackets.",
    ),
)
