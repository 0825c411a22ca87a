"""The context of a mapping: its clock, lookups and metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from os import urandom
from typing import Any, TypeAlias

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.mapping import LookupFailed, Misconfigured, text

#: A network request of a mapping: `{method, url, headers, params, body}` -> `(status, parsed body)`.
Lookup: TypeAlias = Callable[[Mapping[str, Any]], tuple[int, Any]]


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    """A random UUID of version 4, without the class `UUID`: its import takes 4 ms, and its text half of this time."""
    digits = urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def _no_lookup(request: Mapping[str, Any]) -> tuple[int, Any]:
    why = f"needs an answer from {request.get('url')}, and no lookup was given"
    raise LookupFailed("", why, case="none")


class Context(msgspec.Struct, frozen=True):
    """What a mapping may use in addition to event and settings. Handlers get it as an optional third argument."""

    clock: Callable[[], datetime] = _now
    lookup: Lookup = _no_lookup
    new_id: Callable[[], str] = _new_id
    metadata: Mapping[str, Any] = {}
    #: whether the event is mapped together with others that may share its requests, as in RudderStack's router
    in_batch: bool = False

    def secret(self, name: str) -> str:
        """Return a secret of the destination's connected account, such as its `accessToken`.

        The caller of the mapping passes it as `metadata={"secret": {name: ...}}`. Raises `MappingError` if it is
        missing.
        """
        secrets = self.metadata.get("secret")
        # `isinstance` with an abstract class is slow, and types that sign requests read several secrets
        secret = secrets.get(name) if type(secrets) is dict or isinstance(secrets, Mapping) else None
        if not isinstance(secret, str) or not secret:
            why = f"needs the {name} of the destination's account, as `metadata`"
            raise Misconfigured("rudderAccountId", why, needs="account")
        return secret

    def ask(self, request: Mapping[str, Json], *, field: str = "", setting: str = "", may_miss: bool = False) -> Json:
        """Return the body of the destination's answer to a lookup of the event's `field` or of a `setting`.

        Raises `LookupFailed` with the answer for any status except 2xx. With `may_miss` a 404 returns None: the
        destination does not have the item.
        """
        try:
            status, answer = self.lookup(request)
        except LookupFailed as error:  # only the caller can name the field or setting that was looked up
            raise LookupFailed(field, error.refusal.why, setting=setting, case=error.refusal.case) from error
        if status == 404 and may_miss:
            return None
        if not 200 <= status < 300:
            url, _, _ = str(request.get("url")).partition("?")  # the query may contain keys and addresses
            why = f"the destination answers {status} to {request.get('method', 'GET')} {url}: {text(answer)[:300]}"
            raise LookupFailed(field, why, status=status, setting=setting)
        return answer


_DEFAULT = Context()


def make_context(clock: str | datetime | None, lookup: Lookup | None, metadata: Mapping[str, Json] | None) -> Context:
    """Return a context; `clock` is the current time for the mapping (ISO 8601 string or datetime, default: now)."""
    if clock is None and lookup is None and metadata is None:
        return _DEFAULT
    if clock is None:
        read = _now
    elif isinstance(clock, str):  # parsed when it is needed: most mappings do not
        read = partial(datetime.fromisoformat, clock)
    else:
        read = partial(_same, clock)
    return Context(read, lookup or _no_lookup, _new_id, metadata or {})


def _same(now: datetime) -> datetime:
    return now
