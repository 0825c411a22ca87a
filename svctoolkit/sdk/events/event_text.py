"""The JSON of one event, byte for byte as the mobile SDKs write it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from svctoolkit.sdk.base.timing import iso
from svctoolkit.sdk.events.context import Context
from svctoolkit.sdk.events.identity import Identity
from svctoolkit.sdk.events.options import Options


class Call(NamedTuple):
    """One event call. `body` is the JSON of its properties or traits; `identity` is that of a web request, or None.

    `context` is JSON, or empty. `is_past`: the caller gave the event's timestamp.
    """

    kind: str
    at: float
    name: str
    body: str
    options: Options
    identity: Identity | None
    message_id: str
    context: str = ""
    is_past: bool = False
    category: str = ""


class EventText:
    """Renders calls. `options` hold for every event unless its call says otherwise."""

    def __init__(self, context: Context, options: Options) -> None:
        self._context, self._options = context, options
        self._integrations = _integrations(options.integrations)

    def render(self, call: Call, identity: Identity, previous: str, session: str) -> bytes:
        """Return the event. `previous` is the ID before an alias, `session` the session's members of the context."""
        ids = identity.external_ids
        if self._options.external_ids or call.options.external_ids:
            ids = {**self._options.external_ids, **ids, **call.options.external_ids}
        context = self._context.text(identity, session, ids)
        if call.context:
            context = _merge(context, call.context)
        integrations = self._integrations
        if call.options.integrations:
            integrations = _integrations(call.options.integrations)
        anonymous = f'"anonymousId":{quoted(identity.anonymous_id)},' if identity.anonymous_id else ""
        channel = "mobile" if identity.visitor is None else "server"
        category = f'"category":{quoted(call.category)},' if call.category else ""
        user = f'"userId":{quoted(identity.user_id)},' if identity.user_id else ""
        return (
            f'{{"messageId":{quoted(call.message_id)},"channel":"{channel}","context":{context},'
            f'"type":"{call.kind}","originalTimestamp":"{iso(call.at)}",'
            f"{anonymous}{user}{category}{_head(call)}{integrations}{_tail(call, identity, previous)}}}"
        ).encode()


def _head(call: Call) -> str:
    if call.kind == "identify":
        return '"event":"identify",'
    if call.kind in ("track", "screen"):
        properties = f'"properties":{call.body},' if call.body else ""
        return f'"event":{quoted(call.name)},{properties}'
    if call.kind == "page":
        name = f'"name":{quoted(call.name)},' if call.name else ""
        return f'{name}"properties":{call.body},'
    return ""


def _tail(call: Call, identity: Identity, previous: str) -> str:
    if call.kind == "alias":
        return f',"previousId":{quoted(previous)}'
    if call.kind == "group":
        ids = {"anonymousId": identity.anonymous_id} if identity.anonymous_id else {}
        traits = {**ids, **json.loads(call.body or "{}")}
        text = json.dumps(traits, ensure_ascii=False, separators=(",", ":"))
        return f',"traits":{text},"groupId":{quoted(call.name)}'
    return ""


def _merge(context: str, own: str) -> str:
    """Merge the call's context into the common one; its members win, objects are merged member by member."""
    merged = json.loads(context)
    for name, value in json.loads(own).items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = {**merged[name], **value} if both else value
    return json.dumps(merged, ensure_ascii=False, separators=(",", ":"))


def _integrations(choice: Mapping[str, object]) -> str:
    with_default = dict(choice) | ({} if "All" in choice else {"All": True})
    return f'"integrations":{json.dumps(with_default, separators=(",", ":"))}'
