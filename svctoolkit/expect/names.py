"""Names that differ by a typo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from svctoolkit.json_types import Json

_SHORT = 4  # letters; shorter names are too similar to each other
#: The members of an event that the event spec names.
_EVENT = (
    *("type", "event", "userId", "anonymousId", "properties", "traits", "context", "integrations"),
    *("messageId", "timestamp", "originalTimestamp", "sentAt", "groupId", "previousId", "name", "category"),
)
#: Members that clients, gateways and some destinations add to events.
_ADDED = (
    *("channel", "receivedAt", "request_ip", "rudderId", "recordId", "writeKey", "anonymousID", "version", "_metadata"),
    *("sourceId", "sourceType", "destinationId", "action", "fields", "identifiers", "mappedToDestination", "statId"),
    *(
        "sessionId",
        "active",
        "projectId",
        "library",
        "userProperties",
        "originalMessageId",
        "failedMessageIds",
        "to",
        "appendPath",
    ),
)
#: Members that belong to some types of events only.
_OF_TYPES = {
    "properties": ("track", "page", "screen"),
    "traits": ("identify", "group"),
    "event": ("track",),
    "groupId": ("group",),
    "previousId": ("alias",),
}
_CONTEXT = (
    *("traits", "app", "campaign", "device", "library", "locale", "network", "page", "referrer", "screen"),
    *("timezone", "userAgent", "userAgentData", "groupId", "externalId", "consentManagement", "sessionId"),
    *("sessionStart", "location", "integrations"),
)
_CONSENT = ("allowedConsentIds", "deniedConsentIds", "provider", "resolutionStrategy")


def one_edit(name: str, other: str) -> bool:
    """Return whether at most one letter is extra, missing, wrong or swapped with its neighbor.

    >>> one_edit("propertes", "properties"), one_edit("trati", "trait"), one_edit("email", "emails!")
    (True, True, False)
    """
    same = next((n for n, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    rest, other_rest = name[same:], other[same:]
    swapped = rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:]
    return swapped or rest[1:] == other_rest[1:] or rest[1:] == other_rest or rest == other_rest[1:]


def near_name(name: str, others: Iterable[str]) -> str:
    """Return the name that `name` may be a typo of: other capitals, or one letter; not a plural or another number.

    >>> near_name("emial", ["email"]), near_name("Email", ["email"]), near_name("order", ["orders"])
    ('email', 'email', '')
    >>> near_name("ip", ["id"])
    ''
    """
    for other in others:
        if not isinstance(other, str) or other == name:
            continue
        if other.lower() == name.lower():
            return other
        related = name.rstrip("s0123456789") == other.rstrip("s0123456789")
        if min(len(name), len(other)) >= _SHORT and not related and one_edit(name.lower(), other.lower()):
            return other
    return ""


@lru_cache(1024)
def near_member(name: str) -> str:
    """Return the member of an event that `name` is a typo of, or an empty string."""
    if name in _EVENT or name in _ADDED:
        return ""
    return next((other for other in _EVENT if is_typo(name, other)), "")


def near_object(name: str) -> str:
    """Return the member that an object called `name` is probably meant to be, or an empty string."""
    return {"property": "properties", "props": "properties", "trait": "traits"}.get(name.lower(), "")


@lru_cache(1024)
def near_context(name: str) -> str:
    """Return the member of `context` that `name` is a typo of, or an empty string; a plural may be a custom one.

    >>> near_context("trait"), near_context("traits"), near_context("devices"), near_context("shop")
    ('traits', '', '', '')
    """
    if name in _CONTEXT:
        return ""
    return next((other for other in _CONTEXT if name != f"{other}s" and is_typo(name, other)), "")


def near_path(value: Json, path: Sequence[str], new: Json) -> str:
    """Return the path in an event that `path`, where `new` is set, is a typo of; an empty string if it is not one.

    >>> order = {"context": {"traits": {"email": "a@b.example"}}, "properties": {"total": 5}}
    >>> near_path(order, ["context", "TRAITS", "email"], "x"), near_path(order, ["properties", "totl"], 7)
    ('context.traits.email', 'properties.total')
    >>> near_path(order, ["properties", "totals"], 7), near_path(order, ["properties", "coupon", "code"], "x")
    ('', '')
    """
    for index, step in enumerate(path):
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
            continue
        if not isinstance(value, Mapping):
            return ""
        if step not in value:
            is_object = index + 1 < len(path) or isinstance(new, Mapping)
            near = _near_step(path[:index], step, value, is_object)
            return ".".join([*path[:index], near, *path[index + 1 :]]) if near in value else ""
        value = value[step]
    return ""


def _near_step(parents: Sequence[str], step: str, siblings: Iterable[str], is_object: bool) -> str:
    if not parents:
        return near_member(step) or (near_object(step) if is_object else "")
    return near_context(step) if [*parents] == ["context"] else near_name(step, siblings)


def near_consent(name: str) -> str:
    """Return the member of `context.consentManagement` that `name` is a typo of, or an empty string."""
    return "" if name in _CONSENT else next((other for other in _CONSENT if is_typo(name, other)), "")


def unknown_member(name: str, type: str) -> str:
    """Return why a member belongs to no event of this type, or an empty string.

    >>> unknown_member("extra", "track"), unknown_member("properties", "identify"), unknown_member("userId", "track")
    ('belongs to no type of event', 'belongs to track, page, screen events', '')
    """
    if name in _OF_TYPES and type in _TYPES and type not in _OF_TYPES[name]:
        return f"belongs to {', '.join(_OF_TYPES[name])} events"
    return "" if name in (*_EVENT, *_ADDED) else "belongs to no type of event"


_TYPES = ("track", "identify", "page", "screen", "group", "alias")


def is_typo(name: str, other: str) -> bool:
    """Return whether `name` is another spelling of `other`: other capitals, or one letter."""
    if name == other:
        return False
    return name.lower() == other.lower() or (len(other) > 3 and one_edit(name.lower(), other.lower()))
