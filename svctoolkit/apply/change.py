"""A change of one resource, and all changes of a project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli import Finding

#: Takes the place of secrets.
MASK: Final = "(secret)"
Action: TypeAlias = Literal["create", "update", "delete"]
#: Details of one change that are listed; the others are counted.
_SHOWN: Final = 6
_FEW: Final = 3  # in a summary
_LONGEST: Final = 60
_WORDS: Final[dict[Action, str]] = {"create": "to create", "update": "to update", "delete": "to delete"}


class Detail(NamedTuple):
    """A member of a resource that differs: its dotted path, and the values (None: absent). Secrets are masked."""

    path: str
    before: Json
    after: Json

    def __str__(self) -> str:
        if isinstance(self.before, list) and isinstance(self.after, list):
            return f"{self.path}: {_items(self.before, self.after)}"
        if isinstance(self.before, str) and isinstance(self.after, str) and "\n" in self.before + self.after:
            return f"{self.path}: {_lines(self.before, self.after)}"
        return f"{self.path}: {short(self.before)} -> {short(self.after)}"


def short(value: Json) -> str:
    """Return a value on one line: rows as `from -> to`, without quotes."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict) and all(isinstance(inner, str) for inner in value.values()):
        return _cut(
            " -> ".join(value.values()) if len(value) == 2 else ", ".join(f"{k}: {v}" for k, v in value.items())
        )
    if isinstance(value, dict):
        return _cut(", ".join(f"{key}: {short(inner)}" for key, inner in value.items()))
    if isinstance(value, list):
        return f"[{_cut(', '.join(map(short, value)))}]"
    return _cut(str(value))


def _cut(text: str) -> str:
    first = text.strip().split("\n")[0]
    return first if len(first) <= _LONGEST and first == text.strip() else f"{first[: _LONGEST - 1]}…"


def _items(before: list[Json], after: list[Json]) -> str:
    """Return the items that were added and removed."""
    added = [f"+ {short(item)}" for item in after if item not in before]
    removed = [f"- {short(item)}" for item in before if item not in after]
    return "; ".join([*removed, *added]) or "another order"


def _lines(before: str, after: str) -> str:
    """Return the first line that differs, on both sides."""
    was, now = before.splitlines(), after.splitlines()
    place = next((i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now)))
    pair = (lines[place].strip() if place < len(lines) else "nothing" for lines in (was, now))
    return f"line {place + 1}: {' -> '.join(map(_cut, pair))}"


@dataclass(frozen=True)
class Change:
    """A resource that `rudder-cli apply` creates, updates or deletes.

    `no_effect` says why nothing that is delivered changes; empty if something may. `remarks` are what a reviewer wants
    to know, and what an event would not show. `destinations` are the keys of those that it concerns.
    """

    action: Action
    urn: str
    where: str = ""
    details: tuple[Detail, ...] = ()
    no_effect: str = ""
    remarks: tuple[str, ...] = ()
    destinations: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """The resource as users call it: `destination braze`."""
        kind, _, id_ = self.urn.partition(":")
        return f"{kind.replace('event-stream-', '')} {id_}"

    def summary(self) -> Iterator[str]:
        """Yield the change in a few lines: what differs, and each remark."""
        shown = [str(detail) for detail in self.details if not detail.path.startswith("rules")][:_FEW]
        more = f" (and {len(self.details) - _FEW} more)" if len(self.details) > _FEW else ""
        told = f": {'; '.join(shown)}{more}" if shown and self.action == "update" else ""
        if told or not self.remarks:
            yield f"{self.action} {self.title}{told}"
            yield from (f"  {remark}" for remark in self.remarks)
            return
        first, *others = self.remarks
        yield f"{self.action} {self.title}: {first}"
        yield from (f"  {remark}" for remark in others)

    def lines(self) -> Iterator[str]:
        """Yield the change, what differs, and the remarks."""
        yield f"{self.action} {self.urn}" + (f"  ({self.where})" if self.where else "")
        shown = self.details if self.action == "update" else ()
        yield from (f"  - {detail}" for detail in shown[:_SHOWN])
        if len(shown) > _SHOWN:
            yield f"  - and {len(shown) - _SHOWN} more"
        if self.no_effect:
            yield f"  no effect: {self.no_effect}"
        yield from (f"  {remark}" for remark in self.remarks)


@dataclass(frozen=True)
class Changes:
    """All changes, in the order of `rudder-cli apply`: creates, updates, deletes.

    `findings` are the errors for which rudder-cli rejects the project. `again` are resources that are written at every
    apply, because their secrets cannot be read back.
    """

    items: Sequence[Change] = ()
    findings: Sequence[Finding] = ()
    again: Sequence[str] = ()

    def __iter__(self) -> Iterator[Change]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def counted(self) -> str:
        """How many resources are created, updated and deleted, in words."""
        counts = Counter(change.action for change in self.items)
        words = [f"{counts[action]} {word}" for action, word in _WORDS.items() if counts[action]]
        return ", ".join(words) or "nothing changes"

    def review(self) -> Iterator[str]:
        """Yield what a reviewer reads first: errors, what has no effect, then the remarks on the rest."""
        if self.findings:
            yield "rudder-cli rejects this project:"
            yield from (f"  {finding}" for finding in self.findings[:5])
            if len(self.findings) > 5:
                yield f"  and {len(self.findings) - 5} more: svctoolkit check"
        for change in self.items:
            if change.no_effect:
                yield f"NO EFFECT  {change.title}: {change.no_effect}"
        for change in self.items:
            if not change.no_effect:
                yield from change.summary()

    def __str__(self) -> str:
        parts = [line for change in self.items for line in change.lines()]
        if self.again:
            parts.append(f"written again at every apply, as secrets cannot be read back: {', '.join(self.again)}")
        return "\n".join([f"rudder-cli apply: {self.counted}", *parts])
