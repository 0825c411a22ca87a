"""Lineage in trees and diffs: a field lights up its sources, and a field of the event where it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svctoolkit.display import Html, Leaf, Lights
from svctoolkit.results.lineage import Destiny, Lineage, Origin, Path, dotted_path


class LineageLights:
    """What lights up in whatever shows the event and the payloads of one lineage; `scope` tells views of it apart.

    `event` and `payload(n)` are for `display.tree` and `display.diff`, `group` stands around what they made.
    """

    def __init__(self, lineage: Lineage, scope: str = "") -> None:
        self._fields = {(origin.payload, origin.field): origin for origin in lineage.fields}
        self._event = {destiny.path: destiny for destiny in lineage.event}
        self._stopped_at = lineage.stopped_at
        self._what = "user_transform" if lineage.stopped_at else "payload"
        self._several = len({origin.payload for origin in lineage.fields}) > 1
        notes = {event_name(destiny): destination_text(destiny) for destiny in lineage.event}
        notes |= {self.name(origin): f"comes from {source_text(origin)}" for origin in lineage.fields}
        pairs = [(f"event {path}", self.name(origin)) for origin in lineage.fields for path in origin.events]
        self._lights = Lights(pairs, notes, scope)
        self.group = self._lights.group

    def name(self, origin: Origin) -> str:
        """What a field of a payload is called in the page."""
        return f"{self._what} {origin.payload} {origin.field}" if self._several else f"{self._what} {origin.field}"

    def event(self, path: Path, block: Html) -> Html:
        """A leaf of the event; what is lost says so."""
        destiny = self._event.get(dotted_path(path))
        return block if destiny is None else self.event_leaf(destiny, block)

    def event_leaf(self, destiny: Destiny, block: object) -> Html:
        lost = destiny.lost_at and destiny.lost_at != self._stopped_at  # there all of the event ends
        return self._lights.leaf(event_name(destiny), block, "stops it" if destiny.stops else "lost" if lost else "")

    def payload_leaf(self, origin: Origin, block: object) -> Html:
        return self._lights.leaf(self.name(origin), block)

    def payload(self, number: int) -> Leaf:
        """For the leaves of the payload of this number, as `open_batches` shows it; where there is none, of the event
        of this number that the user's code gave."""

        def leaf(path: Path, block: Html) -> Html:
            origin = self._fields.get((number, dotted_path(path)))
            return block if origin is None else self.payload_leaf(origin, block)

        return leaf


class ComparedLights:
    """What lights up where the payloads that two workspaces make of one event stand beside each other.

    `sides` has the lineage of each by its title. `event` and `payload(title, n)` are for trees and diffs, as above.
    """

    def __init__(self, sides: Mapping[str, Lineage], scope: str = "") -> None:
        self._fields = {(title, o.payload, o.field) for title, lineage in sides.items() for o in lineage.fields}
        origins = [(title, origin) for title, lineage in sides.items() for origin in lineage.fields]
        self._went: dict[str, dict[str, Destiny]] = {}
        for title, lineage in sides.items():
            for destiny in lineage.event:
                self._went.setdefault(destiny.path, {})[title] = destiny
        notes = {f"event {path}": _compared_text(went) for path, went in self._went.items()}
        notes |= {_side_name(t, o.payload, o.field): f"comes from {source_text(o)}" for t, o in origins}
        pairs = [(f"event {path}", _side_name(t, o.payload, o.field)) for t, o in origins for path in o.events]
        self._lights = Lights(pairs, notes, scope)
        self.group = self._lights.group

    def event(self, path: Path, block: Html) -> Html:
        """A leaf of the event; where it is lost on a side, that is said."""
        went = self._went.get(dotted_path(path), {})
        lost = [title for title, destiny in went.items() if destiny.lost_at]
        sign = "" if not lost else "lost" if len(lost) == len(went) else f"lost {', '.join(lost)}"
        return self._lights.leaf(f"event {dotted_path(path)}", block, sign)

    def payload(self, title: str, number: int) -> Leaf:
        """For the leaves of a side's payload of this number, as `open_batches` shows it."""

        def leaf(path: Path, block: Html) -> Html:
            known = (title, number, dotted_path(path)) in self._fields
            return self._lights.leaf(_side_name(title, number, dotted_path(path)), block) if known else block

        return leaf


def _side_name(title: str, number: int, field: str) -> str:
    return f"{title} {number}: {field}" if number > 1 else f"{title} {field}"


def _compared_text(went: Mapping[str, Destiny]) -> str:
    texts = {title: destination_text(destiny) for title, destiny in went.items()}
    alike = len(set(texts.values())) == 1
    return next(iter(texts.values())) if alike else "; ".join(f"{title}: {text}" for title, text in texts.items())


def event_name(destiny: Destiny) -> str:
    """What a field of the event is called in the page."""
    return f"event {destiny.path}"


def destination_text(destiny: Destiny) -> str:
    """Where a field of the event went, in words."""
    words = [f"goes to {', '.join(destiny.fields)}"] if destiny.fields else []
    if destiny.decides:
        words.append(f"decides about {', '.join(destiny.decides[:3])}{', ...' if len(destiny.decides) > 3 else ''}")
    words += ["without it there is no payload"] if destiny.required else []
    words += ["stops the event: with another value, or without it, it would go on"] if destiny.stops else []
    by = f" by {settings_text(destiny.lost_by)}" if destiny.lost_by else ""
    words += [f"lost at {destiny.lost_at}{by}"] if destiny.lost_at else []
    return "; ".join(words) or "reaches nothing"


def stop_text(lineage: Lineage) -> str:
    """Where an event stops that makes no payload, and what of it and of the settings decides that."""
    fields = stopping_fields(lineage)
    by = [", ".join(fields)] if fields else []
    by += [settings_text(lineage.refused_by)] if lineage.refused_by else []
    return f"no payload: it stops at {lineage.stopped_at}" + (f", by {' and '.join(by)}" if by else "")


def stopping_fields(lineage: Lineage) -> list[str]:
    """The fields of the event with another value of which, or without which, it would not stop where it does."""
    return [destiny.path for destiny in lineage.event if destiny.stops]


def settings_text(names: Sequence[str]) -> str:
    """Configuration variables in words."""
    return f"setting{'s' if len(names) > 1 else ''} {', '.join(names)}"


def source_text(origin: Origin) -> str:
    """What a field depends on, in words."""
    words = [*origin.events, *(["the user's code"] if origin.code else [])]
    words += [f"setting {name}" for name in origin.settings]
    if origin.conditions:
        words.append(f"if {', '.join(origin.conditions[:3])}{', ...' if len(origin.conditions) > 3 else ''}")
    return ", ".join(words) or "constant"
