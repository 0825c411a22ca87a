"""One change between two times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from svctoolkit.json_types import Json

#: What happened to the events of a name, a field, or a destination; most severe first.
What: TypeAlias = Literal["vanished", "changed type", "halved", "appeared", "doubled", "moved"]
SEVERITY: tuple[What, ...] = ("vanished", "changed type", "halved", "appeared", "doubled", "moved")


#: The words of conditions: the number of changes of a kind, and of all kinds.
CHANGED = "changed"
WORDS = (*(what.replace(" ", "_") for what in SEVERITY), CHANGED)


def numbers_of(changes: Sequence[Change]) -> dict[str, int]:
    """Return the number of changes by word of a condition."""
    counts = Counter(change.what.replace(" ", "_") for change in changes)
    return {word: counts[word] for word in WORDS} | {CHANGED: len(changes)}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the events of a name: of their number, of a field, or of their outcome at a destination.

    `before` and `after` describe both times, `events` is about how many events it affects, and `where` is the part
    of the events that is concerned, such as `since app 2.4.0, web only`; empty for all.
    """

    what: What
    event: str
    field: str
    before: str
    after: str
    events: int
    destination: str = ""
    where: str = ""

    @property
    def subject(self) -> str:
        """The name of the events, and the field or destination."""
        return " ".join(filter(None, (f"{self.event}:" if self.field else self.event, self.field, self.at)))

    @property
    def at(self) -> str:
        return f"at {self.destination}" if self.destination else ""

    @property
    def order(self) -> tuple[int, int]:
        """Sorts the most severe first, then those of most events."""
        return SEVERITY.index(self.what), -self.events

    def to_dict(self) -> dict[str, Json]:
        return asdict(self)

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        return f"{self.what}  {self.subject}  {self.before} -> {self.after}{where}"
