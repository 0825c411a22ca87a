"""What a source remembers between webhooks: entries that expire, as RudderStack keeps them in Redis.

>>> memory = Memory(now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
>>> remember(memory, "cart-1", {"anonymousId": "a1"}, timedelta(hours=1))
>>> memory["cart-1"], memory.expires("cart-1").isoformat()
({'anonymousId': 'a1'}, '2026-01-01T01:00:00+00:00')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

#: Fields by key. Mappings accept any such mapping, also a plain dict, whose entries never expire.
Remembered: TypeAlias = MutableMapping[str, dict[str, str]]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Memory(MutableMapping[str, dict[str, str]]):
    """Fields by key; an entry that was remembered for some time is missing afterwards.

    `now` is the clock. An entry that is set like in a dict does not expire.
    """

    def __init__(self, now: Callable[[], datetime] = _utc_now) -> None:
        self._now = now
        self._entries: dict[str, tuple[dict[str, str], datetime | None]] = {}

    def __getitem__(self, key: str) -> dict[str, str]:
        fields, until = self._entries[key]
        if until is not None and until <= self._now():
            del self._entries[key]
            raise KeyError(key)
        return fields

    def __setitem__(self, key: str, fields: dict[str, str]) -> None:
        self._entries[key] = (fields, None)

    def __delitem__(self, key: str) -> None:
        del self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter([key for key in list(self._entries) if key in self])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<memory of {len(self)} entries: {dict(self)}>"

    def expires(self, key: str) -> datetime | None:
        """Return when an entry expires; None for one that does not. Raises `KeyError` for one that is missing."""
        return self._entries[key][1]

    def keep(self, key: str, fields: dict[str, str], until: datetime | None) -> None:
        """Set an entry that expires at a time."""
        self._entries[key] = (fields, until)

    def remember(self, key: str, fields: Mapping[str, str], lifetime: timedelta) -> None:
        """Add the fields to an entry, which then lives that long from now."""
        self.keep(key, {**self.get(key, {}), **fields}, self._now() + lifetime)


def remember(memory: Remembered, key: str, fields: Mapping[str, str], lifetime: timedelta) -> None:
    """Add the fields to an entry of the memory. Only a `Memory` lets it expire."""
    if isinstance(memory, Memory):
        memory.remember(key, fields, lifetime)
    else:
        memory[key] = {**memory.get(key, {}), **fields}
