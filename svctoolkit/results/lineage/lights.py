"""Highlight lineage in trees and diffs: pointing at a field highlights its sources, or the fields that it went to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svctoolkit.display import Html, Leaf, Lights
from svctoolkit.results.lineage import Destiny, Lineage, Origin, Path, dotted_path


class LineageLights:
    """Highlighting for views of the event and the payloads of one lineage; `scope` separates several views of it.

    Pass `event` and `payload(n)` to `display.tree` and `display.diff`, and wrap their output in `group`.
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
        """Return the name of a payload field in the page."""
        return f"{self._what} {origin.payload} {origin.field}" if self._several else f"{self._what} {origin.field}"

    def event(self, path: Path, block: Html) -> Html:
        """Return a leaf of the event, marked if it is lost."""
        destiny = self._event.get(dotted_path(path))
        return block if destiny is None else self.event_leaf(destiny, block)

    def event_leaf(self, destiny: Destiny, block: object) -> Html:
        lost = destiny.lost_at and destiny.lost_at != self._stopped_at  # there, the whole event stops
        return self._lights.leaf(event_name(destiny), block, "stops it" if destiny.stops else "lost" if lost else "")

    def payload_leaf(self, origin: Origin, block: object) -> Html:
        return self._lights.leaf(self.name(origin), block)

    def payload(self, number: int) -> Leaf:
        """Return the function for leaves of the payload of this number, in the form of `open_batches`.

        Without a payload, it is for the event of this number that the user code returned.
        """

        def leaf(path: Path, block: Html) -> Html:
            origin = self._fields.get((number, dotted_path(path)))
            return block if origin is None else self.payload_leaf(origin, block)

        return leaf


class ComparedLights:
    """Highlighting for payloads of one event from two workspaces, side by side.

    `sides` has the lineage of each side by its title. `event` and `payload(title, n)` are for trees and diffs, as
    above.
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
        """Return a leaf of the event, marked with the sides on which it is lost."""
        went = self._went.get(dotted_path(path), {})
        lost = [title for title, destiny in went.items() if destiny.lost_at]
        sign = "" if not lost else "lost" if len(lost) == len(went) else f"lost {', '.join(lost)}"
        return self._lights.leaf(f"event {dotted_path(path)}", block, sign)

    def payload(self, title: str, number: int) -> Leaf:
        """Return the function for leaves of a side's payload of this number, in the form of `open_batches`."""

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
    """Return the name of an event field in the page."""
    return f"event {destiny.path}"


def destination_text(destiny: Destiny) -> str:
    """Return where a field of the event went, as text."""
    words = [f"goes to {', '.join(destiny.fields)}"] if destiny.fields else []
    if destiny.decides:
        words.append(f"decides about {', '.join(destiny.decides[:3])}{', ...' if len(destiny.decides) > 3 else ''}")
    words += ["without it there is no payload"] if destiny.required else []
    words += ["stops the event: with another value, or without it, it would go on"] if destiny.stops else []
    by = f" by {settings_text(destiny.lost_by)}" if destiny.lost_by else ""
    words += [f"held as {', '.join(cell.text for cell in destiny.held)}"] if destiny.held else []
    words += [f"lost at {destiny.lost_at}{by}"] if destiny.lost_at else []
    words += [f"{loss.what} by {loss.rule}" for loss in destiny.losses]
    return "; ".join(words) or "reaches nothing"


def loss_text(lineage: Lineage) -> list[str]:
    """Return what a simulated destination lost of the event, with the fields that it depends on."""
    texts = []
    for loss in lineage.losses:
        fields = [destiny.path for destiny in lineage.event if loss.rule in destiny.breaks]
        texts.append(loss.text + (f", by {', '.join(fields)}" if fields else ""))
    return texts


def stop_text(lineage: Lineage) -> str:
    """Return where an event without a payload stopped, and which fields and settings decide that."""
    fields = stopping_fields(lineage)
    by = [", ".join(fields)] if fields else []
    by += [settings_text(lineage.refused_by)] if lineage.refused_by else []
    what = f"no payload: the event stops at {lineage.stopped_at}" + (f", by {' and '.join(by)}" if by else "")
    return f"{what}: {lineage.reason}" if lineage.reason else what


def stopping_fields(lineage: Lineage) -> list[str]:
    """Return the fields that stop the event: with another value, or without the field, the event would continue."""
    return [destiny.path for destiny in lineage.event if destiny.stops]


def settings_text(names: Sequence[str]) -> str:
    """Return the names of configuration variables as text."""
    return f"setting{'s' if len(names) > 1 else ''} {', '.join(names)}"


def source_text(origin: Origin) -> str:
    """Return what a field depends on, as text."""
    words = [*origin.events, *(["the user's code"] if origin.code else [])]
    words += [f"setting {name}" for name in origin.settings]
    words += [f"default of setting {name}" for name in origin.defaults]
    if origin.conditions:
        words.append(f"if {', '.join(origin.conditions[:3])}{', ...' if len(origin.conditions) > 3 else ''}")
    return ", ".join(words) or "constant"
