"""`Deletion`: how a destination type deletes users, declared once next to its mapping."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

from svctoolkit.destinations._context import Context, Lookup, make_context
from svctoolkit.destinations._deletions.outcome import (
    DeletionJudge,
    DeletionOutcome,
    DeletionRequest,
    Exchange,
    Failure,
    by_status,
    outcome_of,
)
from svctoolkit.destinations._settings import Settings, settings_from
from svctoolkit.errors import InvalidConfig, InvalidDeletion
from svctoolkit.json_types import Json
from svctoolkit.mapping import text
from svctoolkit.secrets import reveal

S = TypeVar("S", bound=Settings)
T = TypeVar("T")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BY_STATUS = by_status()
User: TypeAlias = Mapping[str, Json]


def user_id(user: User, _: Settings) -> Json:
    """Return the user's `userId`; None if it is missing."""
    return user.get("userId")


def required_user_id(user: User, _: Settings) -> Json:
    """Return the user's `userId`. Raises `InvalidDeletion` if it is missing."""
    id = user.get("userId")
    if not id:
        raise InvalidDeletion("userId is missing; this destination needs one for each user")
    return id


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of up to `size` items."""
    left = iter(items)
    while some := list(islice(left, size)):
        yield some


def in_url(id: Json) -> str:
    """Return an id as RudderStack puts it into an address: only what is never valid there is escaped.

    An id with `/`, `?` or `#` therefore leads to another address, as in production.
    """
    return quote(text(id), safe="/:?#[]@!$&'()*+,;=%~")


class Deletion(msgspec.Struct, Generic[S], frozen=True):
    """How a destination type deletes users.

    `settings` are the variables that it reads. `requests` returns the requests for a list of ids. `identify` returns
    the id of a user, or None to leave the user out; it raises `InvalidDeletion` to refuse one. With `all_or_none`, one
    refused user prevents all requests; otherwise those of the other users are sent all the same.

    `at_once` requests are sent together, so that a failure does not prevent the others; 0 means all. `judge` says
    whether a request has deleted its users. `quirks` are sentences about places where RudderStack deviates from what
    the vendor documents.
    """

    title: str
    settings: type[S]
    requests: Callable[[Sequence[Any], S, Context], Iterable[DeletionRequest]]
    identify: Callable[[User, S], Json] = user_id
    all_or_none: bool = False
    at_once: int = 0
    judge: DeletionJudge = _BY_STATUS
    quirks: tuple[str, ...] = ()

    def run(
        self,
        users: Sequence[User],
        config: Mapping[str, Json],
        lookup: Lookup | None = None,
        secret: Mapping[str, Json] | None = None,
        clock: str | None = None,
    ) -> DeletionOutcome:
        """Delete `users` at a configured destination: send the requests with `lookup`, and return the outcome.

        Each user is an object with `userId` and any other ids and traits, as strings. `lookup` sends one request and
        returns `(status, body)`: body parsed if it is JSON, status 0 and the error's code if no answer came. By
        default every request is answered with 200. `secret` has the tokens of the destination's OAuth account; `clock`
        is the current time (ISO 8601).

        Raises `InvalidConfig` for missing or bad settings, `InvalidDeletion` for bad users, and `MappingError` if the
        account has no token. Nothing is sent in these cases.
        """
        check_users(users)
        settings = self._settings(config)
        context = make_context(clock, lookup or _accept, None if secret is None else {"secret": secret})
        ids, refusals = self._ids(users, settings)
        exchanges: list[Exchange] = []
        failures: list[Failure] = []
        requests = iter(self.requests(ids, settings, context))
        while group := list(islice(requests, self.at_once or None)):
            answered = [Exchange(request, *context.lookup(request)) for request in group]
            exchanges += answered
            failures += filter(None, map(self.judge, answered))
            if any(not failure.continues for failure in failures):
                break
        return outcome_of(tuple(exchanges), [*refusals, *failures])

    def _settings(self, config: Mapping[str, Json]) -> S:
        if not isinstance(config, Mapping):
            raise InvalidConfig("the configuration is missing; it must be an object", where=f"{self.title} config")
        return settings_from(self.title, self.settings, reveal(config))

    def _ids(self, users: Sequence[User], settings: S) -> tuple[list[Json], list[Failure]]:
        """Return the ids of users that have one, and why others are refused."""
        ids: list[Json] = []
        refusals: list[Failure] = []
        for place, user in enumerate(users):
            try:
                id = self.identify(user, settings)
            except InvalidDeletion as error:
                refusal = InvalidDeletion(str(error), where=f"users[{place}]")
                if self.all_or_none:
                    raise refusal from error
                refusals.append(Failure(400, str(refusal)))
            else:
                if id:  # as in JavaScript: an empty string and 0 are left out
                    ids.append(id)
        return ids, refusals


def check_users(users: Json) -> None:
    """Raise `InvalidDeletion` unless `users` is a list of objects whose values are strings or numbers."""
    if not isinstance(users, (list, tuple)):
        raise InvalidDeletion(f"users must be a list of objects, not {_kind(users)}")
    for place, user in enumerate(users):
        if not isinstance(user, Mapping):
            raise InvalidDeletion(f"must be an object with userId, not {_kind(user)}", where=f"users[{place}]")
        for name, value in user.items():
            where = f"users[{place}].{name}"
            if isinstance(value, (bool, list, Mapping)):
                raise InvalidDeletion(f"must be a string, not {_kind(value)}", where=where)
            if isinstance(value, str) and _SURROGATE.search(value):
                raise InvalidDeletion("must be valid Unicode, without lone surrogates", where=where)


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    kinds = {bool: "a boolean", str: "a string", int: "a number", float: "a number", dict: "an object"}
    return kinds.get(type(value), "a list")


def _accept(_: Mapping[str, Any]) -> tuple[int, Json]:
    return 200, {}
