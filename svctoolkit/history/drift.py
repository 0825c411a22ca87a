"""Find what changed between two times: events, fields, types, numbers, and outcomes at destinations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import partial

from svctoolkit.display import quantity
from svctoolkit.history.bands import Band, band, main_span, missing_days
from svctoolkit.history.cells import Cell, FieldCount, events_by_day
from svctoolkit.history.change import Change, What
from svctoolkit.history.segments import Segment, segment_of, where
from svctoolkit.history.shifts import Shift, shifts
from svctoolkit.history.sketches import distinct_count

_FEWEST = 20  # events of a segment that say anything about a field
_FEWEST_MOVED = 5  # events, for a number of them to move
_FEWEST_OF_DAY = 8  # expected events of a single day that is compared
_DAY_MARGIN = 1.3  # of a single day, compared with that of all days together
_LEAST_DAYS = 7  # of a baseline, for bands: fewer days do not show how much numbers vary
_FAR_BACK = 180  # days before a baseline, which only clocks and parsers that are wrong explain


class _Side:
    """The events of one name at one time: all of them, and by segment and platform."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.events = sum(cell.events for cell in cells)
        self.by_segment: dict[Segment, list[Cell]] = {}
        for cell in cells:
            self.by_segment.setdefault(segment_of(cell), []).append(cell)

    def days(self, platform: str | None = None) -> Counter[date]:
        of = (cells for segment, cells in self.by_segment.items() if platform in (None, segment.platform))
        return events_by_day(cell for cells in of for cell in cells)

    def of_platform(self, platform: str) -> Iterator[int]:
        """Yield the numbers of events of the cells of a platform."""
        return (cell.events for segment, of in self.by_segment.items() if segment.platform == platform for cell in of)

    def pooled(self) -> dict[Segment, list[Cell]]:
        """The cells by segment; segments with too few events are one of their platform."""
        pools: dict[Segment, list[Cell]] = {}
        for segment, cells in self.by_segment.items():
            is_small = sum(cell.examined for cell in cells) < _FEWEST
            key = Segment(segment.platform, "", "") if is_small else segment
            pools.setdefault(key, []).extend(cells)
        return pools

    def platform(self, name: str) -> list[Cell]:
        """The cells of a platform; those of all if it has too few events."""
        cells = [cell for segment, of in self.by_segment.items() if segment.platform == name for cell in of]
        return (
            cells if sum(c.examined for c in cells) >= _FEWEST else [c for of in self.by_segment.values() for c in of]
        )


def drift(after: Sequence[Cell], before: Sequence[Cell]) -> list[Change]:
    """Return the changes from `before` to `after`, most severe first. Without a baseline, nothing changed."""
    if not before or not after:
        return []
    if not _has_bands(after, before):
        return _ordered(_plain_changes(after, before))
    new, old = _by_name(after), _by_name(before)
    span = _span(before)
    now_span = _span(after)
    days = sorted({day for cell in after if cell.day and _is_in(day := date.fromisoformat(cell.day), now_span)})
    changes = [*_shifted(after, before), *_missing_days(days, before, span)]
    usual, names = list[tuple[_Side, _Side]](), {**new, **old}
    for name in names:
        now, then = new.get(name, _Side([])), old.get(name, _Side([]))
        volume = [*_volume(name, now, then, days, span)]
        changes += volume or _odd_days(name, now, then, days, span)
        if not volume:
            usual.append((now, then))
        if now.events and then.events:
            changes += _inside(name, now, then)
    label = "all events" if len(usual) == len(names) else "all other events"
    changes += _together(label, usual, days, span)
    return _ordered(changes)


def basis(after: Sequence[Cell], before: Sequence[Cell]) -> str:
    """Return how `drift` compares numbers of events: with bands, or without."""
    days = len(events_by_day(before))
    of = quantity(days, "day") if days else "no days"
    if _has_bands(after, before):
        return f"bands from {of}"
    return f"plain difference: the baseline has {of}, and bands need {_LEAST_DAYS}"


def _has_bands(after: Sequence[Cell], before: Sequence[Cell]) -> bool:
    span = _span(before)
    return span is not None and _span(after) is not None and (span[1] - span[0]).days + 1 >= _LEAST_DAYS


def _ordered(changes: Iterable[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: (change.order, change.event, change.field))


def _plain_changes(after: Sequence[Cell], before: Sequence[Cell]) -> Iterator[Change]:
    """Yield how two recordings differ: what vanished or appeared in any case, and numbers for the same time."""
    new, old = _by_name(after), _by_name(before)
    lengths = len(events_by_day(after)), len(events_by_day(before))
    scale = lengths[0] / lengths[1] if all(lengths) else 1.0
    yield from _shifted(after, before)
    for name in {**new, **old}:
        now, then = new.get(name, _Side([])), old.get(name, _Side([]))
        yield from _plain_volume(name, now, then, scale)
        if now.events and then.events:
            yield from _inside(name, now, then, plain=True)


def _plain_volume(name: str, now: _Side, then: _Side, scale: float) -> Iterator[Change]:
    if not then.events:
        yield Change("appeared", name, "", "no events", quantity(now.events, "event"), now.events)
        return
    platforms = sorted({segment.platform for side in (now, then) for segment in side.by_segment})
    counts = {of: (sum(now.of_platform(of)), sum(then.of_platform(of))) for of in platforms}
    missing = [of for of, (found, earlier) in counts.items() if earlier and not found and of]
    if now.events and missing and len(missing) < len(platforms):
        lost = sum(counts[of][1] for of in missing)
        part = f"{' and '.join(missing)} only"
        yield Change("vanished", name, "", quantity(lost, "event"), "0", lost, where=part)
        return
    expected = then.events * scale
    ratio = now.events / expected
    is_few = max(now.events, expected) < _FEWEST_MOVED
    what: What | None = "vanished" if not now.events else None if is_few else _what_moved(ratio)
    if what is not None:
        difference = round(abs(now.events - expected))
        yield Change(what, name, "", quantity(round(expected), "event"), f"{now.events:,}", max(1, difference))


def _shifted(after: Sequence[Cell], before: Sequence[Cell]) -> Iterator[Change]:
    """Yield that all events are from long before the baseline: a year was lost, or a day and a month are swapped."""
    now, then = _span(after), _span(before)
    if now is not None and then is not None and (then[0] - now[1]).days >= _FAR_BACK:
        events = sum(cell.events for cell in after)
        earlier, later = (str(first) if first == last else f"{first} to {last}" for first, last in (then, now))
        yield Change("moved", "all events", "", f"days {earlier}", f"days {later}", events)


def _by_name(cells: Iterable[Cell]) -> dict[str, _Side]:
    names: dict[str, list[Cell]] = {}
    for cell in cells:
        names.setdefault(cell.title, []).append(cell)
    return {name: _Side(of) for name, of in names.items()}


def _span(cells: Iterable[Cell]) -> tuple[date, date] | None:
    return main_span(events_by_day(cells))


def _is_in(day: date, span: tuple[date, date] | None) -> bool:
    return span is not None and span[0] <= day <= span[1]


def _volume(
    name: str, now: _Side, then: _Side, days: Sequence[date], span: tuple[date, date] | None
) -> Iterator[Change]:
    """Yield the change of the number of events, and of each platform if it is not the same for all."""
    if not then.events:
        yield Change("appeared", name, "", "no events", quantity(now.events, "event"), now.events)
        return
    if span is None or not days:
        return
    platforms = {segment.platform for side in (now, then) for segment in side.by_segment}

    def compare(platform: str | None) -> tuple[int, Band]:
        return sum(now.days(platform).values()), band(days, then.days(platform), *span)

    found, usual = compare(None)
    what = _moved(found, usual)
    sides = {platform: compare(platform) for platform in sorted(platforms)}
    moved = {platform: _moved(*side) for platform, side in sides.items()}
    # Of few events, chance may explain what happened to all.
    if what and all(_follows(*side, found < usual.expected) for side in sides.values()):
        yield _volume_change(what, name, found, usual.expected)
        return
    if what and not any(moved.values()):
        yield _volume_change(what, name, found, usual.expected)
    for each in dict.fromkeys(kind for kind in moved.values() if kind):
        of = [key for key, its in moved.items() if its == each]
        only = " and ".join(filter(None, of))
        part = f"{only} only" if len(of) < len(platforms) and only else ""
        yield _volume_change(
            each, name, sum(sides[key][0] for key in of), sum(sides[key][1].expected for key in of), part
        )


def _volume_change(what: What, name: str, found: int, expected: float, part: str = "") -> Change:
    difference = round(abs(found - expected))
    return Change(what, name, "", f"{expected:,.0f} events expected", f"{found:,}", difference, where=part)


def _follows(found: int, usual: Band, is_fewer: bool) -> bool:
    """Whether a number has moved in the same direction as another one, by more than a fifth."""
    return found < 0.8 * usual.expected if is_fewer else found > 1.2 * usual.expected


def _together(
    label: str, names: Sequence[tuple[_Side, _Side]], days: Sequence[date], span: tuple[date, date] | None
) -> Iterator[Change]:
    """Yield the change of the number of events of several names, of which each alone is as usual."""
    if span is None or not days or len(names) < 2:
        return
    found, before = 0, Counter[date]()
    for now, then in names:
        found += now.events
        before.update(then.days())
    usual = band(days, before, *span)
    if what := _moved(found, usual):
        yield _volume_change(what, label, found, usual.expected)


def _missing_days(days: Sequence[date], before: Sequence[Cell], span: tuple[date, date] | None) -> Iterator[Change]:
    """Yield the days without any event."""
    missing = missing_days(days)
    usual = band(missing, _Side(before).days(), *span) if span is not None else Band(0, 0)
    if missing and not usual.has(0):
        yield _on("vanished", "all events", missing, usual.expected, 0)


def _odd_days(
    name: str, now: _Side, then: _Side, days: Sequence[date], span: tuple[date, date] | None
) -> Iterator[Change]:
    """Yield the days with far fewer or far more events, if their sum is as usual.

    The first and the last day may not be complete.
    """
    if span is None or not then.events:
        return
    counts, usual = now.days(), then.days()
    is_daily = len(usual) == (span[1] - span[0]).days + 1
    odd: dict[What, list[tuple[date, float]]] = {}
    for day in days[1:-1]:
        of, found_on = band([day], usual, *span), counts.get(day, 0)
        # Some days are unusual by chance. That events of every day are missing is not.
        if of.expected < _FEWEST_OF_DAY:
            continue
        is_gone = is_daily and not found_on
        what = "vanished" if is_gone else _moved(found_on, Band(of.expected, _DAY_MARGIN * of.margin))
        if what is not None and what != "moved":
            odd.setdefault(what, []).append((day, of.expected))
    for what, found in odd.items():
        on = [day for day, _ in found]
        yield _on(what, name, on, sum(expected for _, expected in found), sum(counts.get(day, 0) for day in on))


def _on(what: What, name: str, days: Sequence[date], expected: float, found: int) -> Change:
    part = f"on {days[0]}" if len(days) == 1 else f"on {len(days)} days from {days[0]} to {days[-1]}"
    difference = round(abs(found - expected))
    return Change(what, name, "", f"{expected:,.0f} events expected", f"{found:,}", difference, where=part)


def _moved(found: int, usual: Band) -> What | None:
    if usual.has(found) or usual.expected < 5 > found:
        return None
    ratio = found / usual.expected if usual.expected else 2.0
    return _what_moved(ratio) if found else "vanished"


def _what_moved(ratio: float) -> What | None:
    return "halved" if ratio <= 0.5 else "doubled" if ratio >= 2 else "moved" if abs(ratio - 1) > 0.2 else None


def _inside(name: str, now: _Side, then: _Side, *, plain: bool = False) -> Iterator[Change]:
    """Yield the changes of fields and outcomes, each once for all segments that have it."""
    parts = {segment.platform: then.platform(segment.platform) for segment in now.by_segment}
    bases = {platform: _merged(cells) for platform, cells in parts.items()}
    fewest = 1 if plain else _FEWEST
    examined: list[Segment] = []
    found: dict[tuple[What, str, str], dict[Segment, Shift]] = {}
    for segment, cells in now.pooled().items():
        cell = _merged(cells)
        if min(cell.examined, bases[segment.platform].examined) < fewest:
            continue
        examined.append(segment)
        for shift in shifts(cell, bases[segment.platform], partial(_varies, parts[segment.platform], plain)):
            found.setdefault((shift.what, shift.field, shift.destination), {})[segment] = shift
    for (what, path, destination), of in found.items():
        worst = max(of.values(), key=lambda shift: shift.events)
        others = [segment for segment in examined if segment not in of]
        part = where(list(of), others, list(then.by_segment))
        events = sum(shift.events for shift in of.values())
        yield Change(what, name, path, worst.before, worst.after, events, destination, part)


def _varies(cells: Sequence[Cell], plain: bool, path: str) -> bool:
    """Return whether a field has several values on each day of a baseline, so that one value is a change."""
    days: dict[str, FieldCount] = {}
    for cell in cells:
        if path in cell.fields:
            days.setdefault(cell.day, FieldCount()).add(cell.fields[path])
    enough = [count for count in days.values() if count.present >= _FEWEST]
    return len(enough) >= (1 if plain else _LEAST_DAYS) and all(distinct_count(of.distinct) > 1 for of in enough)


def _merged(cells: Iterable[Cell]) -> Cell:
    """Return all cells as one, of no day or version."""
    total = Cell("", "", "")
    for cell in cells:
        total.add(cell)
    return total
