"""Where each field of a payload comes from, and where each field of an event went.

`svctoolkit.Pipeline.lineage` measures it: it runs the route again with one leaf of the event, or one setting, changed
or removed at a time, and compares the output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from svctoolkit.displayed import Displayed, render
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.results.texts import open_texts
from svctoolkit.simulations import Level, Loss

if TYPE_CHECKING:
    import pandas as pd

_TEXT_FORMS = ("FORM", "JSON_ARRAY")
Path: TypeAlias = tuple[str | int, ...]
#: The stage at which a value is lost: `source` is that of a webhook, before it is an event, and `held` that of a
#: simulated destination, after the delivery.
LostAt = Literal["", "source", "user_transform", "dest_transform", "held"]


def dotted_path(path: Path) -> str:
    """`properties.products.0.price`; a dot in a key is written `\\.`."""
    return ".".join(str(step).replace(".", "\\.") for step in path)


def open_batches(payload: Mapping[str, Json]) -> dict[str, Json]:
    """Return a payload whose body has objects and lists instead of their JSON texts, so that their fields have paths.

    These are batches, and fields of forms (Facebook).
    """
    opened: dict[str, Any] = dict(payload)
    body = payload.get("body") or {}
    texts = {form: open_texts(body[form]) for form in _TEXT_FORMS if body.get(form)}
    if texts:
        opened["body"] = {**body, **texts}
    return opened


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a simulated destination holds a value: a table, the number of a row in it (from 1), and a dotted path.

    The number is 0 for any row.
    """

    table: str
    row: int
    column: str

    @property
    def text(self) -> str:
        """The cell as text: `profiles 1: attributes.tier`."""
        return f"{self.table} {self.row}: {self.column}" if self.row else f"{self.table}: {self.column}"


@dataclass(frozen=True, slots=True)
class Origin:
    """One field of a payload, and what its value depends on.

    `payload` is the number of the payload, from 1, `field` the dotted path in it. `events` are the paths of the event
    whose values go into it. `conditions` decide whether the field exists or which value it has (paths of the event,
    and settings as `config.NAME`). `settings` are the configuration variables that change it. `code` is whether the
    user transformation created or changed the value, and `lines` the places of its code that wrote it (`clean.js:12`),
    which only the failures of suites look for. `defaults` are the variables that are not set, and whose default gives
    the value. A field with none of these is a constant of the mapping. `held` are the cells of a simulated destination
    that contain the value. `unsteady`: the user's code makes another value in each run (a random number, the time), so
    what else it depends on is unknown.
    """

    payload: int
    field: str
    value: Any
    events: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    code: bool = False
    held: tuple[Cell, ...] = ()
    defaults: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    unsteady: bool = False

    @property
    def kind(self) -> Literal["event", "code", "setting", "default", "condition", "constant"]:
        """The main origin of the value."""
        if self.events:
            return "event"
        if self.code:
            return "code"
        if self.settings or self.defaults:
            return "setting" if self.settings else "default"
        return "condition" if self.conditions else "constant"


@dataclass(frozen=True, slots=True)
class Destiny:
    """One field of the event, and where its value went.

    `fields` are dotted paths of payloads (`2: body.JSON.id` in the second one) that contain its value, `decides` those
    that only depend on it. `lost_at` is the stage at which it disappears, if it reaches no payload. `required`:
    without it there is no payload at all. `lost_by` are the configuration variables that cause the loss: with another
    value of one of them, it would reach a payload. `stops`: the event stops because of this field, and would continue
    with another value or without it. `held` are the cells of a simulated destination that contain the value,
    `losses` what it lost of the field, with the vendor's rule and source, and `breaks` the rules that the field itself
    breaks: with another value, or without it, they would not apply.
    """

    path: str
    value: Any
    fields: tuple[str, ...] = ()
    decides: tuple[str, ...] = ()
    lost_at: LostAt = ""
    required: bool = False
    lost_by: tuple[str, ...] = ()
    stops: bool = False
    held: tuple[Cell, ...] = ()
    losses: tuple[Loss, ...] = ()
    breaks: tuple[str, ...] = ()


class Lineage(Displayed, ArrowOut):
    """The lineage of one event at one destination: `fields` of its payloads, and `event`, the fields of the event.

    `stopped_at` is the stage at which an event without a payload stopped. Then `fields` are those of the events that
    the user code returned, if it got that far, and `event` says where the fields went in these. `refused_by` are the
    configuration variables that cause this: with another value of one of them, there would be a payload. `reason` is
    the error, or says that the event was dropped. Secret values are masked.

    `level` is that of the destination's simulation. If it is not `answers`, the last stage is what an account that held
    nothing before now holds: `held` of fields, and `losses`.
    """

    def __init__(
        self,
        destination: str,
        fields: Sequence[Origin],
        event: Sequence[Destiny],
        *,
        refused_by: Sequence[str] = (),
        stopped_at: LostAt = "",
        reason: str = "",
        level: Level = "answers",
        losses: Sequence[Loss] = (),
    ) -> None:
        self.destination, self.fields, self.event = destination, list(fields), list(event)
        self.refused_by, self.stopped_at = tuple(refused_by), stopped_at
        self.level, self.losses, self.reason = level, tuple(losses), reason

    def sources(self, field: str, payload: int = 1) -> tuple[str, ...]:
        """Return the paths of the event whose values go into a field. Raises `KeyError` for an unknown field."""
        for origin in self.fields:
            if (origin.payload, origin.field) == (payload, field):
                return origin.events
        raise KeyError(field)

    def targets(self, path: str) -> tuple[str, ...]:
        """Return the fields that contain the value at a path of the event. Raises `KeyError` for an unknown path."""
        for destiny in self.event:
            if destiny.path == path:
                return destiny.fields
        raise KeyError(path)

    def held(self, path: str) -> tuple[Cell, ...]:
        """Return the cells of a simulated destination that contain the value at a path of the event.

        Raises `KeyError` for an unknown path.
        """
        for destiny in self.event:
            if destiny.path == path:
                return destiny.held
        raise KeyError(path)

    @property
    def lost(self) -> list[Destiny]:
        """The fields of the event that reach no payload and decide nothing, or that a simulated destination loses."""
        return [destiny for destiny in self.event if destiny.lost_at]

    def frame(self) -> pd.DataFrame:
        """Return one row for each field of a payload and each origin of it.

        Columns: `destination`, `payload`, `field`, `kind` (event, code, setting, default, condition, constant),
        `source` (a path of the event, or the name of a variable; empty for a constant and for code), `held` (cells of
        a simulated destination).
        """
        import pandas as pd

        rows = [
            (self.destination, o.payload, o.field, *pair, _cells(o.held)) for o in self.fields for pair in _pairs(o)
        ]
        return pd.DataFrame(storable_all(rows), columns=["destination", "payload", "field", "kind", "source", "held"])

    def event_frame(self) -> pd.DataFrame:
        """Return one row for each field of the event.

        Columns: `path`, `fields` (number of fields that contain it), `decides` (number of fields that depend on it),
        `lost_at`, `required`, `lost_by` (variables, separated by commas), `stops`, `held` (cells of a simulated
        destination), `rule` and `source` (of its losses).
        """
        import pandas as pd

        rows = [
            (
                *(d.path, len(d.fields), len(d.decides), d.lost_at, d.required, ", ".join(d.lost_by), d.stops),
                *(_cells(d.held), ", ".join(x.rule for x in d.losses), ", ".join(x.source for x in d.losses)),
            )
            for d in self.event
        ]
        names = ["path", "fields", "decides", "lost_at", "required", "lost_by", "stops", "held", "rule", "source"]
        return pd.DataFrame(storable_all(rows), columns=names)

    def __repr__(self) -> str:
        return render(self, "text")


def merge(destination: str, lineages: Sequence[Lineage]) -> Lineage:
    """Return the combined lineage of many events.

    Items of lists are merged (`products.*.price`), without values. A field of the event is lost only if it is lost in
    all events. If some events have payloads, `fields` are those of payloads only.
    """
    origins: dict[tuple[int, str], Origin] = {}
    destinies: dict[str, Destiny] = {}
    arrive = any(not lineage.stopped_at for lineage in lineages)
    for lineage in lineages:
        is_last = not (lineage.stopped_at and arrive)
        for origin in lineage.fields if is_last else ():
            key = origin.payload, _any_item(origin.field)
            before = origins.get(key, Origin(*key, None))
            origins[key] = replace(
                before,
                events=_union(before.events, origin.events),
                conditions=_union(before.conditions, origin.conditions),
                settings=_union(before.settings, origin.settings),
                code=before.code or origin.code,
                defaults=tuple(dict.fromkeys([*before.defaults, *origin.defaults])),
                held=_any_cells(before.held, origin.held),
                unsteady=before.unsteady or origin.unsteady,
            )
        for destiny in lineage.event:
            path = _any_item(destiny.path)
            known = destinies.get(path)
            before_it = known or Destiny(path, None, lost_at=destiny.lost_at, required=destiny.required)
            destinies[path] = replace(
                before_it,
                fields=_union(before_it.fields, destiny.fields if is_last else ()),
                decides=_union(before_it.decides, destiny.decides if is_last else ()),
                lost_at=destiny.lost_at if before_it.lost_at else "",
                required=before_it.required and destiny.required,
                lost_by=tuple(dict.fromkeys([*before_it.lost_by, *destiny.lost_by])) if before_it.lost_at else (),
                stops=before_it.stops or destiny.stops,
                held=_any_cells(before_it.held, destiny.held),
                losses=_one_of_each(before_it.losses, destiny.losses),
                breaks=tuple(dict.fromkeys([*before_it.breaks, *destiny.breaks])),
            )
    refused_by = dict.fromkeys(name for lineage in lineages for name in lineage.refused_by)
    stages = [] if arrive else [lineage.stopped_at for lineage in lineages]
    last: LostAt = min(stages, default="")  # alphabetical order puts dest_transform, the later stage, first
    levels = [lineage.level for lineage in lineages]
    return Lineage(
        destination,
        list(origins.values()),
        list(destinies.values()),
        refused_by=tuple(refused_by),
        stopped_at=last,
        reason=next((lineage.reason for lineage in lineages if lineage.stopped_at == last), ""),
        level=levels[0] if levels else "answers",
        losses=_one_of_each((), [loss for lineage in lineages for loss in lineage.losses]),
    )


def _any_cells(cells: Sequence[Cell], more: Sequence[Cell]) -> tuple[Cell, ...]:
    return tuple(dict.fromkeys([*cells, *(Cell(cell.table, 0, _any_item(cell.column)) for cell in more)]))


def _one_of_each(losses: Sequence[Loss], more: Sequence[Loss]) -> tuple[Loss, ...]:
    """Return the first loss of each rule."""
    return tuple({(loss.rule, loss.what): loss for loss in reversed([*losses, *more])}.values())[::-1]


def _cells(cells: Sequence[Cell]) -> str:
    return ", ".join(cell.text for cell in cells)


def _any_item(path: str) -> str:
    return ".".join("*" if step.isdigit() else step for step in path.split("."))


def _union(paths: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*paths, *map(_any_item, more)]))


def _pairs(origin: Origin) -> list[tuple[str, str]]:
    pairs = [("event", path) for path in origin.events]
    pairs += [("code", "")] if origin.code else []
    pairs += [("setting", name) for name in origin.settings]
    pairs += [("default", name) for name in origin.defaults]
    pairs += [("condition", path) for path in origin.conditions]
    return pairs or [("constant", "")]
