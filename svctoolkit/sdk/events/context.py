"""`context`: what every event says about the application, the machine and the user."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from json.encoder import encode_basestring as quoted

from svctoolkit import __version__
from svctoolkit.sdk.base.settings import Settings
from svctoolkit.sdk.events.identity import Identity

#: `json.dumps` with these arguments makes a new one each time.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Context:
    """Renders the context as JSON text. Parts that do not change between events are rendered once.

    There are no `network` and `screen` members: a Python process has no access to them.
    """

    def __init__(self, settings: Settings, device_id: str) -> None:
        import platform

        app = {
            "build": str(settings.application_build),
            "name": settings.application_name,
            "namespace": settings.application_namespace,
            "version": settings.application_version,
        }
        system = platform.system()
        self._device = {"id": device_id, "model": platform.machine(), "type": system}
        self._app = _json({k: v for k, v in app.items() if v})
        rest = {
            "os": {"name": system, "version": platform.release()},
            "userAgent": f"svctoolkit/{__version__} Python/{platform.python_version()}",
            "locale": _locale(),
            "timezone": _timezone(),
        }
        self._library = _json({"library": {"name": "svctoolkit", "version": __version__}})[1:-1]
        self._rest = _json({k: v for k, v in rest.items() if v})[1:-1]
        self._rendered: dict[int, tuple[Identity, str, str]] = {}

    def forget(self, identity: Identity) -> None:
        """Discard the cached context of an identity that has changed."""
        self._rendered.pop(id(identity), None)

    def text(self, identity: Identity, session: str, external_ids: Mapping[str, str | int]) -> str:
        """Return the context of one event. `session` is JSON members; `external_ids` includes the identity's."""
        listed = ""
        if external_ids:
            listed = ',"externalId":' + _json([{"type": k, "id": v} for k, v in external_ids.items()])
        # A user whom one call names: not worth keeping.
        if identity.visitor is not None and not identity.visitor and not identity.traits:
            return f"{self._head_of_ids(identity)}{session}{listed}}}"
        rendered = self._rendered.get(id(identity))
        # The user of a request may log in between two events.
        if rendered is None or rendered[0] is not identity or rendered[1] != identity.user_id:
            if len(self._rendered) > 100:  # one per concurrent request in a web application
                self._rendered.clear()
            rendered = self._rendered[id(identity)] = (identity, identity.user_id, self._head(identity))
        return f"{rendered[2]}{session}{listed}}}"

    def _head_of_ids(self, identity: Identity) -> str:
        """Return the same as `_head` for an identity that has only IDs."""
        anonymous = f'"anonymousId":{quoted(identity.anonymous_id)}' if identity.anonymous_id else ""
        user = quoted(identity.user_id)
        named = f'"userId":{user},"id":{user}' if identity.user_id else ""
        comma = "," if anonymous and named else ""
        return f'{{"app":{self._app},"traits":{{{anonymous}{comma}{named}}},{self._library}'

    def _head(self, identity: Identity) -> str:
        traits = _json(identity.wire_traits())
        if identity.visitor is not None:  # nothing about this machine: it is a server, not the visitor's device
            described = _json(identity.visitor)[1:-1]
            return f'{{"app":{self._app},"traits":{traits},{self._library}' + (f",{described}" if described else "")
        device: dict[str, object] = dict(self._device)
        if identity.device_token:
            device["token"] = identity.device_token
        if identity.advertising_id:
            device |= {"adTrackingEnabled": True, "advertisingId": identity.advertising_id}
        return f'{{"app":{self._app},"traits":{traits},{self._library},{self._rest},"device":{_json(device)}'


def _json(value: object) -> str:
    return _ENCODER.encode(value).encode("utf-8", "replace").decode()


def _locale() -> str:
    import locale

    try:
        name = locale.getlocale()[0] or ""
    except ValueError:
        return ""
    return name.replace("_", "-") if "_" in name else ""


def _timezone() -> str:
    """Return the IANA name of the time zone, or "" if the system does not provide it."""
    name = os.environ.get("TZ", "").lstrip(":")
    if not name:
        try:
            name = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
        except OSError:
            return ""
    return name if "/" in name or name == "UTC" else ""
