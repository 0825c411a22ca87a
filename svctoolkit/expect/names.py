"""Names that differ by a typo."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_SHORT = 4  # letters; shorter names are too similar to each other
#: The members of an event that the event spec names.
_EVENT = (
    *("type", "event", "userId", "anonymousId", "properties", "traits", "context", "integrations"),
    *("messageId", "timestamp", "originalTimestamp", "sentAt", "groupId", "previousId", "name", "category"),
)


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
    if name in _EVENT:
        return ""
    return next((other for other in _EVENT if is_typo(name, other)), "")


def is_typo(name: str, other: str) -> bool:
    """Return whether `name` is another spelling of `other`: other capitals, or one letter."""
    return name != other and len(other) > 3 and one_edit(name.lower(), other.lower())
