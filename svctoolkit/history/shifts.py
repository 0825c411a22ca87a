"""Compare the same events at two times, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import sqrt
from typing import NamedTuple

from svctoolkit.history.cells import Cell, FieldCount
from svctoolkit.history.change import What
from svctoolkit.history.sketches import distinct_count, quantile, share_above

_MANY = 20  # values, of which one that is always the same says something
_LEAST = 0.05  # a share that moves less is not worth a line
_ALIKE = {"integer": "number", "empty text": "", "null": "", "numeric text": "text", "time": "text"}


class Shift(NamedTuple):
    """One change of a field, or of the outcome at a destination; `events` are about those that it affects."""

    what: What
    field: str
    before: str
    after: str
    events: int
    destination: str = ""


def shifts(now: Cell, then: Cell, varies: Callable[[str], bool]) -> Iterator[Shift]:
    """Yield what differs in the events of two cells. `varies`: a field has had several values at any time so far."""
    for path in {**then.fields, **now.fields}:
        new, old = now.fields.get(path, FieldCount()), then.fields.get(path, FieldCount())
        presence = _share(path, (new.present, now.examined), (old.present, then.examined), "of events")
        if presence is not None:
            yield presence
        if new.present and old.present:
            yield from _values(path, new, old, varies)
    for destination in now.outcomes.keys() & then.outcomes.keys():
        sides = [of.outcomes[destination] for of in (now, then)]
        new_share, old_share = ((side.get("delivered", 0), sum(side.values())) for side in sides)
        outcome = _share("", new_share, old_share, "delivered")
        if outcome is not None:
            yield outcome._replace(destination=destination)


def _share(path: str, new: tuple[int, int], old: tuple[int, int], of: str) -> Shift | None:
    """Return the change of a share, if it is more than chance explains."""
    after, before = min(1.0, new[0] / max(new[1], 1)), min(1.0, old[0] / max(old[1], 1))
    pooled = min(1.0, (new[0] + old[0]) / max(new[1] + old[1], 1))
    by_chance = sqrt(pooled * (1 - pooled) * (1 / max(new[1], 1) + 1 / max(old[1], 1)))
    # A member of all events or of none, even of few, is in the other side's none or all: no chance is involved.
    if abs(after - before) <= 3.5 * by_chance and abs(after - before) < 1:
        return None
    what: What
    if not new[0]:
        what = "vanished"
    elif not old[0]:
        what = "appeared"
    elif abs(after - before) < _LEAST:
        return None
    else:
        what = "halved" if after <= before / 2 else "doubled" if after >= before * 2 else "moved"
    events = round(abs(after - before) * new[1])
    return Shift(what, path, f"{before:.1%}", f"{after:.1%} {of}", events)


def _values(path: str, new: FieldCount, old: FieldCount, varies: Callable[[str], bool]) -> Iterator[Shift]:
    """Yield what differs in the values of a field that both have."""
    kinds, usual = _kinds(new.types), _kinds(old.types)
    strange = {kind: count for kind, count in kinds.items() if kind not in usual}
    known = (
        _share(path, (kinds[kind], sum(kinds.values())), (usual[kind], sum(usual.values())), "")
        for kind in kinds.keys() & usual.keys()
    )
    if strange and usual and sum(strange.values()) > 0.001 * sum(kinds.values()):
        yield Shift("changed type", path, _shares(usual), _shares(kinds), sum(strange.values()))
    elif moved := [shift.events for shift in known if shift is not None]:
        yield Shift("changed type", path, _shares(usual), _shares(kinds), max(moved))
    elif _lose_decimals(new.types, old.types):
        yield Shift("changed type", path, "number", "integer", new.present)
    empty = _share(path, (new.nulls, sum(new.types.values())), (old.nulls, sum(old.types.values())), "null or empty")
    if empty is not None:
        yield empty._replace(what="moved")
    middle, before = quantile(new.numbers, 0.5), quantile(old.numbers, 0.5)
    if (
        middle is not None
        and before is not None
        and _far(middle, before)
        and _is_beyond(new.numbers, old.numbers, before)
    ):
        yield Shift("moved", path, f"median {before:g}", f"{middle:g}", new.present)
    elif (
        distinct_count(new.distinct) == 1 and new.present >= _MANY and distinct_count(old.distinct) > 1 and varies(path)
    ):
        yield Shift("moved", path, f"{distinct_count(old.distinct):,} distinct values", "one value", new.present)


def _lose_decimals(new: Mapping[str, int], old: Mapping[str, int]) -> bool:
    """Return whether numbers had decimals, and none of as many has now."""
    now, before = (of.get("number", 0) + of.get("integer", 0) for of in (new, old))
    return not new.get("number") and _share("", (0, now), (old.get("number", 0), before), "") is not None


def _kinds(types: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of types that matter: one numeric type, one of texts, no empty values."""
    kinds: dict[str, int] = {}
    for kind, count in types.items():
        kind = _ALIKE.get(kind, kind)
        if kind:
            kinds[kind] = kinds.get(kind, 0) + count
    return kinds


def _shares(kinds: Mapping[str, int]) -> str:
    total = sum(kinds.values())
    ordered = sorted(kinds.items(), key=lambda item: -item[1])
    return " or ".join(kind if len(kinds) == 1 else f"{kind} {count / total:.1%}" for kind, count in ordered)


def _is_beyond(new: Mapping[int, int], old: Mapping[int, int], before: float) -> bool:
    """Whether more numbers are on one side of the median before than chance explains."""
    total = sum(new.values())
    larger, earlier = share_above(new, before), share_above(old, before)  # not half, if many are equal
    by_chance = 0.5 * sqrt(1 / total + 1 / sum(old.values()))
    return abs(larger - earlier) > 3.5 * by_chance


def _far(middle: float, before: float) -> bool:
    if middle * before <= 0:
        return middle != before
    return not 0.5 < middle / before < 2
