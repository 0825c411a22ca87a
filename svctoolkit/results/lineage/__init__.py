"""Where each field of a payload comes from, and where each field of an event went.

`svctoolkit.Pipeline.lineage` measures it: the route runs again with one leaf of the event, or one setting, changed or
taken away at a time, and what became different is read off.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from svctoolkit.displayed import Displayed, render
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    import pandas as pd

Path: TypeAlias = tuple[str | int, ...]
Loss = Literal["", "user_transform", "dest_transform"]


def dotted_path(path: Path) -> str:
    """`properties.products.0.price`; a dot in a key is written `\\.`."""
    return ".".join(str(step).replace(".", "\\.") for step in path)


def open_batches(payload: Mapping[str, Json]) -> dict[str, Json]:
    """A payload whose batch stands as a list in its body, not as JSON text: so its fields have paths."""
    opened: dict[str, Any] = dict(payload)
    array = payload.get("body", {}).get("JSON_ARRAY") or {}
    if isinstance(array.get("batch"), str):
        opened["body"] = {**payload["body"], "JSON_ARRAY": {**array, "batch": json.loads(array["batch"])}}
    return opened


@dataclass(frozen=True, slots=True)
class Origin:
    """One field of a payload, and what its value depends on.

    `payload` numbers the payloads of the event from 1, `field` is the dotted path in it. `events` are the paths of the
    event whose values go into it, `conditions` those that decide whether it is there or which value it takes (settings
    as `config.NAME`), `settings` the configuration variables that change it. `code` is whether the user transformation
    made or changed what goes in. A field with none of these is a constant of the mapping.
    """

    payload: int
    field: str
    value: Any
    events: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    code: bool = False

    @property
    def kind(self) -> Literal["event", "code", "setting", "condition", "constant"]:
        """What the value is made of, in the first place."""
        if self.events:
            return "event"
        if self.code:
            return "code"
        return "setting" if self.settings else "condition" if self.conditions else "constant"


@dataclass(frozen=True, slots=True)
class Destiny:
    """One field of the event, and where its value went.

    `fields` are dotted paths of payloads (`2: body.JSON.id` in the second one) that its value goes into, `decides`
    those that it only decides about. `lost_at` is the stage at which it disappears, if it reaches no payload.
    `required`: without it there is no payload at all. `lost_by` are the configuration variables that lose it: with
    another value of one of them it would go into a payload. Of an event that stops on the way, `stops` is whether it
    does so by this field: with another value, or without it, it would go on.
    """

    path: str
    value: Any
    fields: tuple[str, ...] = ()
    decides: tuple[str, ...] = ()
    lost_at: Loss = ""
    required: bool = False
    lost_by: tuple[str, ...] = ()
    stops: bool = False


class Lineage(Displayed):
    """The lineage of one event at one destination: `fields` of its payloads, and `event`, the fields of the event.

    `stopped_at` is the stage at which an event ends that makes no payload. `fields` are then those of the events that
    the user's code gave, if it came so far, and where the event's fields went is about these. `refused_by` are the
    configuration variables that decide that there is no payload: with another value of one of them there would be.
    Values are masked where they are secret.
    """

    def __init__(
        self,
        destination: str,
        fields: Sequence[Origin],
        event: Sequence[Destiny],
        *,
        refused_by: Sequence[str] = (),
        stopped_at: Loss = "",
    ) -> None:
        self.destination, self.fields, self.event = destination, list(fields), list(event)
        self.refused_by, self.stopped_at = tuple(refused_by), stopped_at

    def sources(self, field: str, payload: int = 1) -> tuple[str, ...]:
        """The paths of the event whose values go into a field. Raises `KeyError` for a field that is not there."""
        for origin in self.fields:
            if (origin.payload, origin.field) == (payload, field):
                return origin.events
        raise KeyError(field)

    def targets(self, path: str) -> tuple[str, ...]:
        """The fields that a path of the event goes into. Raises `KeyError` for a path that is not there."""
        for destiny in self.event:
            if destiny.path == path:
                return destiny.fields
        raise KeyError(path)

    @property
    def lost(self) -> list[Destiny]:
        """The fields of the event that reach no payload and decide nothing."""
        return [destiny for destiny in self.event if destiny.lost_at]

    def frame(self) -> pd.DataFrame:
        """One row for each field of a payload and each thing it depends on.

        Columns: `destination`, `payload`, `field`, `kind` (event, code, setting, condition, constant), `source` (a path
        of the event, or the name of a variable; empty for a constant and for code).
        """
        import pandas as pd

        rows = [(self.destination, o.payload, o.field, *pair) for o in self.fields for pair in _pairs(o)]
        return pd.DataFrame(rows, columns=["destination", "payload", "field", "kind", "source"])

    def event_frame(self) -> pd.DataFrame:
        """One row for each field of the event: `path`, `fields` (how many it goes into), `decides` (how many it decides
        about), `lost_at`, `required`, `lost_by` (variables, with commas), `stops`."""
        import pandas as pd

        rows = [
            (d.path, len(d.fields), len(d.decides), d.lost_at, d.required, ", ".join(d.lost_by), d.stops)
            for d in self.event
        ]
        return pd.DataFrame(rows, columns=["path", "fields", "decides", "lost_at", "required", "lost_by", "stops"])

    def __repr__(self) -> str:
        return render(self, "text")


def merge(destination: str, lineages: Sequence[Lineage]) -> Lineage:
    """The lineage of many events: what holds for any of them. Items of lists are one (`products.*.price`), without
    values; a field of the event is lost only where no event has it anywhere. Where some events make payloads, `fields`
    are those of payloads only."""
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
            )
    refused_by = dict.fromkeys(name for lineage in lineages for name in lineage.refused_by)
    stages = [] if arrive else [lineage.stopped_at for lineage in lineages]
    last: Loss = min(stages, default="")  # by name, which is here the one that is farther on the way
    return Lineage(
        destination, list(origins.values()), list(destinies.values()), refused_by=tuple(refused_by), stopped_at=last
    )


def _any_item(path: str) -> str:
    return ".".join("*" if step.isdigit() else step for step in path.split("."))


def _union(paths: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*paths, *map(_any_item, more)]))


def _pairs(origin: Origin) -> list[tuple[str, str]]:
    pairs = [("event", path) for path in origin.events]
    pairs += [("code", "")] if origin.code else []
    pairs += [("setting", name) for name in origin.settings]
    pairs += [("condition", path) for path in origin.conditions]
    return pairs or [("constant", "")]
