"""What deleting users would send, without sending it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from svctoolkit.delivery import HttpRequest, mask_request, request
from svctoolkit.destinations import CATALOGUE
from svctoolkit.errors import CannotDelete, ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import payload_of_lookup
from svctoolkit.secrets import reveal
from svctoolkit.server.regulations.parse import can_delete
from svctoolkit.workspace import Destination, Workspace


@dataclass(frozen=True, slots=True)
class DeletionPreview:
    """The requests for one destination, with secrets masked. `error` says why users are not deleted there.

    Some types send the requests of other users nevertheless if one user lacks its id.
    """

    destination: str
    type: str
    requests: tuple[HttpRequest, ...] = ()
    error: str = ""


def preview_deletion(
    workspace: Workspace, users: Sequence[Mapping[str, Json]], destinations: Sequence[Destination]
) -> list[DeletionPreview]:
    """Return what deleting `users` would send to each of the destinations, if all requests are answered with 200.

    An OAuth type whose account has no token gets a placeholder.
    """
    return [_preview(workspace, users, destination) for destination in destinations]


def _preview(workspace: Workspace, users: Sequence[Mapping[str, Json]], destination: Destination) -> DeletionPreview:
    masker = workspace.masker
    try:
        if not can_delete(destination.type):
            raise CannotDelete(f"destinations of type {destination.type} cannot delete users")
        account = workspace.account_of(destination)
        secret = {"access_token": "TOKEN"} if account is None else reveal(account.tokens())
        outcome = CATALOGUE[destination.type].deletion.run(users, destination.config, secret=secret)
    except ToolkitError as error:
        return DeletionPreview(destination.key, destination.type, error=masker.text(str(error)))
    requests = [request(payload_of_lookup(sent)) for sent in outcome.requests]
    masked = tuple(mask_request(one, masker) for one in requests)
    return DeletionPreview(destination.key, destination.type, masked, masker.text(outcome.error or ""))
