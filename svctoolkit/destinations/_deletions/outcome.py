"""The outcome of a deletion, and the judges that read it from the answers of vendors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from svctoolkit.json_types import Json

#: `{method, url, headers, params, body}`, as for look-ups; `params` and `body` are missing if empty.
DeletionRequest: TypeAlias = Mapping[str, Json]


class Exchange(NamedTuple):
    """A request and its answer. `body` is parsed if it is JSON. Status 0: no answer, and `body` is the error's code."""

    request: DeletionRequest
    status: int
    body: Json

    @property
    def successful(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300


class Failure(NamedTuple):
    """Why a request did not delete its users: `status` is what RudderStack reports, not always the vendor's.

    `auth` is the state of an OAuth account: `REFRESH_TOKEN` or `AUTH_STATUS_INACTIVE`. With `continues`, later requests
    are sent all the same, and the failures are reported together.
    """

    status: int
    error: str
    auth: str | None = None
    continues: bool = False


#: Returns why a request failed; None if its users are deleted.
DeletionJudge: TypeAlias = Callable[[Exchange], Failure | None]


class DeletionOutcome(msgspec.Struct, frozen=True):
    """What a destination was asked, and the result.

    `status` is 200 if all users are deleted, otherwise what RudderStack reports. `auth_error_category` is
    `REFRESH_TOKEN` or `AUTH_STATUS_INACTIVE` for a problem of an OAuth account.
    """

    exchanges: tuple[Exchange, ...] = ()
    status: int = 200
    error: str | None = None
    auth_error_category: str | None = None

    @property
    def requests(self) -> list[DeletionRequest]:
        """The requests, in the order in which they were sent."""
        return [exchange.request for exchange in self.exchanges]

    @property
    def deleted(self) -> bool:
        """Whether all users are deleted, as far as the answers say."""
        return self.status == 200


def by_status(*also: int, error: str = "User deletion request failed") -> DeletionJudge:
    """Return the usual judge: 2xx and the statuses `also` mean deleted, no answer is a 500, others stay as they are."""

    def judge(exchange: Exchange) -> Failure | None:
        if exchange.successful or exchange.status in also:
            return None
        return Failure(exchange.status or 500, error)

    return judge


def outcome_of(exchanges: tuple[Exchange, ...], failures: list[Failure]) -> DeletionOutcome:
    """Return the outcome, given the failures in the order of their requests; the first that ended it is reported."""
    if not failures:
        return DeletionOutcome(exchanges)
    final = next((failure for failure in failures if not failure.continues), None)
    if final is None:
        final = failures[0]._replace(error="; ".join(failure.error for failure in failures))
    return DeletionOutcome(exchanges, final.status, final.error, final.auth)
