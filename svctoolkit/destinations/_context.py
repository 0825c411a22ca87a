"""What a mapping may use beside the event and the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.mapping import LookupFailed, Misconfigured, text

#: What a mapping may ask over the network: `{method, url, headers, params, body}` -> `(status, parsed body)`.
Lookup: TypeAlias = Callable[[Mapping[str, Any]], tuple[int, Any]]


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    from uuid import uuid4  # 4 ms, and few mappings make ids

    return str(uuid4())


def _no_lookup(request: Mapping[str, Any]) -> tuple[int, Any]:
    why = f"needs an answer from {request.get('url')}, and no lookup was given"
    raise LookupFailed("", why, case="none")


class Context(msgspec.Struct, frozen=True):
    """What a mapping may use beside the event and the settings. A handler that wants it takes a third parameter."""

    clock: Callable[[], datetime] = _now
    lookup: Lookup = _no_lookup
    new_id: Callable[[], str] = _new_id
    metadata: Mapping[str, Any] = {}
    #: whether the event is mapped with others that may share its requests, as the service's router does
    in_batch: bool = False

    def secret(self, name: str) -> str:
        """What the service holds of the account that the destination delivers with, such as its `accessToken`.

        Raises `MappingError` without it: who calls the mapping gives `metadata={"secret": {name: ...}}`.
        """
        secrets = self.metadata.get("secret")
        secret = secrets.get(name) if isinstance(secrets, Mapping) else None
        if not isinstance(secret, str) or not secret:
            raise Misconfigured("rudderAccountId", f"needs the {name} of the destination's account, as `metadata`")
        return secret

    def ask(self, request: Mapping[str, Json], *, field: str = "", setting: str = "", may_miss: bool = False) -> Json:
        """The body of the destination's answer to a lookup; `field` of the event or `setting` is what is looked up.

        Raises `LookupFailed` with the answer for any status but 2xx. With `may_miss` a 404 gives None: the destination
        has no such thing.
        """
        try:
            status, answer = self.lookup(request)
        except LookupFailed as error:  # who asks knows what for
            raise LookupFailed(field, error.refusal.why, setting=setting, case=error.refusal.case) from error
        if status == 404 and may_miss:
            return None
        if not 200 <= status < 300:
            url, _, _ = str(request.get("url")).partition("?")  # keys and addresses may stand in the query
            why = f"the destination answers {status} to {request.get('method', 'GET')} {url}: {text(answer)[:300]}"
            raise LookupFailed(field, why, status=status, setting=setting)
        return answer


_DEFAULT = Context()


def make_context(clock: str | datetime | None, lookup: Lookup | None, metadata: Mapping[str, Json] | None) -> Context:
    """A context with the time that the mapping sees (ISO 8601 text or datetime; now by default)."""
    if clock is None and lookup is None and metadata is None:
        return _DEFAULT
    now = datetime.fromisoformat(clock) if isinstance(clock, str) else clock
    return Context(
        clock=_DEFAULT.clock if now is None else lambda: now,
        lookup=lookup or _DEFAULT.lookup,
        metadata=metadata or {},
    )
