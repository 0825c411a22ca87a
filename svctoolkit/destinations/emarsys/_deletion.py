"""Deletion of contacts at Emarsys: up to 1,000 in a request, one request after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from svctoolkit.destinations import (
    ACCEPT_JSON,
    JSON,
    Context,
    Deletion,
    DeletionRequest,
    Endpoint,
    Settings,
    User,
    by_status,
    chunks,
)
from svctoolkit.destinations.emarsys._fields import EMAIL_FIELD, Field
from svctoolkit.destinations.emarsys._signature import signature
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret


class EmarsysDeletionSettings(Settings, frozen=True, kw_only=True):
    username: Secret = msgspec.field(name="emersysUsername")
    secret: Secret = msgspec.field(name="emersysUserSecret")
    default_contact_list: str
    key_field: str = msgspec.field(name="emersysCustomIdentifier", default="")
    field_mapping: tuple[Field, ...] = ()

    @property
    def attribute(self) -> str:
        """The attribute of a user that is mapped to the identifying field; the e-mail address by default."""
        return next((row.trait for row in self.field_mapping if row.number == self.key_field and row.trait), "email")


API = Endpoint("https://api.emarsys.net/api/v2", ACCEPT_JSON, JSON)


def _identify(user: User, settings: EmarsysDeletionSettings) -> Json:
    return user.get(settings.attribute)


def _requests(ids: Sequence[Json], settings: EmarsysDeletionSettings, context: Context) -> Iterator[DeletionRequest]:
    key: Json = settings.key_field or EMAIL_FIELD
    for some in chunks(ids, 1000):
        sign = signature(settings.username, settings.secret, context.clock(), context.new_id())
        body = {"key_id": key, "contact_list_id": settings.default_contact_list, str(key): some}
        yield API.lookup(settings, "contact/delete", "POST", body, headers={"X-WSSE": sign})


deletion = Deletion(
    "Emarsys",
    EmarsysDeletionSettings,
    _requests,
    identify=_identify,
    at_once=1,
    judge=by_status(400),
    quirks=("An answer 400 counts as deleted: Emarsys gives it for unknown contacts, but also for bad requests.",),
)
