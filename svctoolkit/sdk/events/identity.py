"""The user's identity: IDs, traits, session. Every event contains it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Protocol

from svctoolkit.json_types import Json

SESSION_SECONDS = 300.0


class Visit(Protocol):
    """A request of a web application, asked whenever an event in it is recorded."""

    def user_id(self) -> str:
        """Return the ID of the user who is logged in now, or an empty string."""
        ...

    def may_record(self) -> bool:
        """Return whether its visitor allows events."""
        ...


class Identity:
    """The user of the application, or of one request of a web application.

    `identify` with the user's own ID, or the first one, merges traits; with another user's ID it replaces them and
    forgets the external IDs.
    """

    __slots__ = (
        "_logged_in", "advertising_id", "anonymous_id", "denied", "device_token", "external_ids", "opted_out", "traits",
        "user_id", "visit", "visitor",
    )  # fmt: skip

    def __init__(
        self,
        anonymous_id: str,
        user_id: str = "",
        traits: dict[str, Json] | None = None,
        external_ids: dict[str, str | int] | None = None,
        advertising_id: str = "",
        device_token: str = "",
        *,
        opted_out: bool = False,
        visitor: Mapping[str, object] | None = None,
        visit: Visit | None = None,
        denied: bool = False,
    ) -> None:
        self.anonymous_id, self.user_id = anonymous_id, user_id
        self.traits: dict[str, Json] = traits or {}
        self.external_ids: dict[str, str | int] = external_ids or {}
        self.advertising_id, self.device_token = advertising_id, device_token
        self.opted_out = opted_out  # for one request only; the installation's opt-out is stored separately
        #: for a visitor of a server: the context of the request. None: the user of this machine
        self.visitor = visitor
        #: the request, if the user and the consent may still change
        self.visit = visit
        #: the visitor does not allow events
        self.denied = denied
        self._logged_in = ""

    def update(self) -> None:
        """Ask the request who is logged in, unless `identify` has set another user, and whether events are allowed."""
        if self.visit is None:
            return
        self.denied = not self.visit.may_record()
        if self.user_id == self._logged_in and (user := self.visit.user_id()):
            self.user_id = self._logged_in = user

    def named(self, anonymous_id: str, user_id: str) -> Identity:
        """Return the identity of a user whom a call in this request names."""
        return Identity(anonymous_id, user_id, visitor=self.visitor, opted_out=self.opted_out, denied=self.denied)

    def take(self, other: Identity) -> None:
        """Copy the user of `other`: ID, traits, external IDs."""
        self.user_id, self.traits, self.external_ids = other.user_id, other.traits, other.external_ids

    def identify(self, user_id: str, traits: Mapping[str, Json], external_ids: Mapping[str, str | int]) -> None:
        if self.user_id and self.user_id != user_id:
            self.traits, self.external_ids = {}, {}
        self.user_id = user_id
        self.traits = {**self.traits, **traits}
        self.external_ids = {**self.external_ids, **external_ids}

    def alias(self, new_id: str) -> str:
        """Set the new ID and return the previous one."""
        previous = self.user_id or self.anonymous_id
        self.user_id = new_id
        return previous

    def reset(self) -> None:
        """Forget the user: ID, traits, external IDs. The device keeps its ID."""
        self.user_id, self.traits, self.external_ids = "", {}, {}

    def wire_traits(self) -> dict[str, Json]:
        """Return `context.traits` as the mobile SDKs send them: the IDs override traits of the same name."""
        ids = {"anonymousId": self.anonymous_id} if self.anonymous_id else {}
        if self.user_id:
            ids |= {"userId": self.user_id, "id": self.user_id}
        return {**ids, **self.traits, **ids}

    def to_json(self) -> str:
        user = {"userId": self.user_id, "traits": self.traits, "externalIds": self.external_ids}
        return json.dumps({**user, **self._device()})

    def device_json(self) -> str:
        """Return the IDs that belong to the device, whoever its user is."""
        return json.dumps(self._device())

    def _device(self) -> dict[str, str]:
        return {
            "anonymousId": self.anonymous_id,
            "advertisingId": self.advertising_id,
            "deviceToken": self.device_token,
        }


def stored_identity(text: str | None, device: str | None, device_id: str) -> Identity:
    """Return the stored identity with the IDs of its `device`, or a new one with the device's ID."""
    try:
        stored = {**json.loads(text or "{}"), **json.loads(device or "{}")}
        return Identity(
            str(stored.get("anonymousId") or device_id),
            str(stored.get("userId") or ""),
            dict(stored.get("traits") or {}),
            dict(stored.get("externalIds") or {}),
            str(stored.get("advertisingId") or ""),
            str(stored.get("deviceToken") or ""),
        )
    except (ValueError, TypeError, AttributeError):
        return Identity(device_id)


class Session:
    """A session of use. Its ID is the second when it began; it ends after five minutes without an event.

    Checked when the client starts and when the application comes to the foreground, as the mobile SDKs do.
    """

    def __init__(self, stored: str | None, clock: Callable[[], float]) -> None:
        self._clock = clock
        #: no event of this session was stored yet
        self.is_fresh = False
        self.id, self.last = 0, 0.0
        try:
            values = json.loads(stored or "{}")
            self.id, self.last = int(values["id"]), float(values["last"])
        except (ValueError, TypeError, KeyError):
            self.id = 0

    def resume(self) -> None:
        """Continue the session, or begin a new one if it has ended."""
        if not self.id or self._clock() - self.last > SESSION_SECONDS:
            self.renew()

    def renew(self) -> None:
        self.id, self.is_fresh = int(self._clock()), True
        self.last = float(self.id)

    def context(self) -> str:
        """Return JSON members for the context of one event; empty without a session."""
        if not self.id:
            return ""
        return f',"sessionId":{self.id}' + (',"sessionStart":true' if self.is_fresh else "")

    def touch(self, now: float) -> None:
        """Note that an event of this session was stored."""
        self.last, self.is_fresh = now, False

    def to_json(self) -> str:
        return json.dumps({"id": self.id, "last": self.last})
